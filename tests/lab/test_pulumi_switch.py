"""A switch between training backends: three patches, in the order that the free GPUs allow."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.support.environment import ROOT, Environment, Run, comparable, environment

ROUTE, HEAD, RAY, CELERY = (
    "deployment-api-server",
    "deployment-ray-head",
    "deployment-ray-model-training-worker",
    "deployment-model-training-tasks-gpu",
)


def by_hand(env: Environment, backend: str) -> None:
    """Edits ``training`` in the stack file."""
    other = {"ray": "celery", "celery": "ray"}[backend]
    env.edit(f"modelyard:training: {other}", f"modelyard:training: {backend}")


def by_config_set(env: Environment, backend: str) -> None:
    """Sets ``training`` with ``pulumi config set``."""
    env.pulumi("config", "set", "modelyard:training", backend, "--stack", env.name)


class Flip:
    """An applied environment; ``to`` switches its training backend and applies again."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        env.init()
        env.up()
        env.settle()

    def to(self, backend: str, turn: Any) -> tuple[list[str], Run]:
        """Switches, plans and applies; returns the changed targets of the plan in order, and the engine's run."""
        names = [target.name for target in self.env.plan().targets]
        before = {name: self.env.deployment(name)["metadata"]["generation"] for name in names}
        sets = self.env.replica_sets()
        turn(self.env, backend)
        plan = self.env.plan()
        assert not plan.blocked
        run = self.env.up()
        self.env.settle()
        changed = [target.name for target in plan.changed]
        after = {name: self.env.deployment(name)["metadata"]["generation"] for name in names}
        # Each changed target is written once. Only the route gets a new pod template.
        assert {name for name in names if after[name] == before[name] + 1} == set(changed)
        assert {name for name in names if after[name] == before[name]} == set(names) - set(changed)
        grown = {name: count - sets[name] for name, count in self.env.replica_sets().items()}
        assert set(grown.values()) <= {0, 1}
        assert {name for name, count in grown.items() if count} <= {ROUTE}
        for target in plan.targets:
            live = self.env.get(target.key)
            assert live is not None
            assert comparable(live) == comparable(target.after.reveal())
        assert self.env.up().changed == []
        return changed, run


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flip]:
    with environment("dev", tmp_path_factory.mktemp("flip-dev")) as env:
        yield Flip(env)


@pytest.fixture(scope="module")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flip]:
    with environment("prod", tmp_path_factory.mktemp("flip-prod")) as env:
        yield Flip(env)


def one_after_the_other(*names: str) -> list[tuple[str, str, str]]:
    return [(event, "update", name) for name in names for event in ("begin", "end")]


@pytest.mark.quick
@pytest.mark.parametrize(("backend", "turn"), [("celery", by_hand), ("ray", by_config_set)])
def test_with_spare_gpus_the_new_backend_starts_first(dev: Flip, backend: str, turn: Any) -> None:
    order = [ROUTE, CELERY, RAY] if backend == "celery" else [ROUTE, RAY, CELERY]
    changed, run = dev.to(backend, turn)
    assert changed == order
    assert [step for step in run.steps if step[1] != "same"] == one_after_the_other(*order)
    env = dev.env
    running = {name: env.deployment(name)["status"].get("readyReplicas", 0) for name in (RAY, CELERY)}
    assert running == ({CELERY: 1, RAY: 0} if backend == "celery" else {CELERY: 0, RAY: 1})
    (variable,) = [
        each
        for each in env.deployment(ROUTE)["spec"]["template"]["spec"]["containers"][0]["env"]
        if each["name"] == "ENABLE_RAY_MODEL_TRAINING"
    ]
    assert variable["value"] == ("False" if backend == "celery" else "True")


def test_config_set_keeps_the_rest_of_the_stack_file(dev: Flip) -> None:
    committed = yaml.safe_load((ROOT / "stacks" / "Pulumi.dev.yaml").read_text())
    now = yaml.safe_load(dev.env.stack_file.read_text())
    assert now["config"] == committed["config"]
    assert "# Only mode managed uses images" in dev.env.stack_file.read_text()


def test_a_switch_changes_the_ray_head_before_the_route(dev: Flip) -> None:
    dev.to("celery", by_hand)
    before = "memory: 16Gi\n    image: images.example.com/ml-platform/ray-head"
    dev.env.edit(before, before.replace("16Gi", "20Gi"))
    by_hand(dev.env, "ray")
    run = dev.env.up()
    assert [step for step in run.steps if step[1] != "same"] == one_after_the_other(HEAD, ROUTE, RAY, CELERY)
    dev.env.settle()
    (limit,) = [
        container["resources"]["limits"]["memory"]
        for container in dev.env.deployment(HEAD)["spec"]["template"]["spec"]["containers"]
    ]
    assert limit == "20Gi"


def test_without_spare_gpus_the_old_backend_stops_first(prod: Flip) -> None:
    changed, run = prod.to("ray", by_hand)
    order = [ROUTE, CELERY, RAY]
    assert changed == order
    assert [step for step in run.steps if step[1] != "same"] == one_after_the_other(*order)
    assert len(prod.env.nodes_of("ray-model-training-worker")) == 3
    assert prod.env.nodes_of("model-training-tasks-gpu") == []


def test_a_switch_of_autoscaled_backends_changes_only_their_limits(tmp_path: Path) -> None:
    with environment("staging", tmp_path) as env:
        changed, run = Flip(env).to("celery", by_hand)
        assert sorted(changed) == sorted([ROUTE, RAY, CELERY])
        assert changed[0] == ROUTE
        assert [step for step in run.steps if step[1] != "same"] == one_after_the_other(*changed)
        limits = {
            name: env.deployment(name)["metadata"]["annotations"]["autoscaling/max_replicas"] for name in (RAY, CELERY)
        }
        assert limits == {RAY: "0", CELERY: "2"}
