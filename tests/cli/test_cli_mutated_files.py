"""Each node of a valid file, replaced by something else: a finding or a plan, never a crash."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from modelyard.plan.store import seal

DEEP: Any = [["x"]]
for _ in range(40):
    DEEP = {"a": DEEP}
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**30, 1e308),
    *("", "x", "a\0b", "\ud800", "1e99999999", "9" * 5000, "é://x"),
    *([], [None], [{}], [1, "a", None], {}, {"": 1}, {"a": None}, DEEP),
)
MUTATIONS = 40
"""Of each file in one run of the tests; their choice is the same in every run."""
BODY: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "mine", "namespace": "ml-platform", "labels": {"a": "b"}, "annotations": {"c": "d"}},
    "spec": {
        "replicas": 1,
        "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "25%"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "nodeSelector": {"a": "b"},
                "tolerations": [{"key": "a", "operator": "Exists"}],
                "containers": [
                    {
                        "name": "ray-head",
                        "image": "a/b:1",
                        "args": ["--token", "x"],
                        "env": [{"name": "A_TOKEN", "value": "x"}],
                        "resources": {"limits": {"memory": "1Gi", "nvidia.com/gpu": 1}},
                    }
                ],
            },
        },
    },
}
OF_ALL = (("check", "dev"), ("plan", "dev", "--json"), ("diff", "dev"), ("render", "dev", "--print"))


class Valid(NamedTuple):
    """A file as it should be."""

    path: Path
    value: Any
    verbs: tuple[tuple[str, ...], ...]
    text: Callable[[Any], str] = json.dumps


def _file(name: str, *verbs: tuple[str, ...]) -> Callable[..., Valid]:
    def made(project: Any, _run: Any) -> Valid:
        path = project.root / name
        return Valid(path, json.loads(json.dumps(yaml.safe_load(path.read_text()), default=str)), (*OF_ALL, *verbs))

    return made


def _of_patch(name: str) -> Callable[..., Valid]:
    def made(project: Any, _run: Any) -> Valid:
        project.own_patches().joinpath("patches.lock").unlink()
        verbs = (("check", "dev"), ("patches", "ray-worker"), ("patches", "--json"), ("fmt", "--check"))
        path = project.root / "patches/ray-worker/v1" / name
        return Valid(path, yaml.safe_load(path.read_text()), verbs)

    return made


def _rendered(file: str, target: str, meta: str) -> Callable[..., Valid]:
    def made(project: Any, _run: Any) -> Valid:
        kind = f"# target: {target}\napiVersion: apps/v1\nkind: Deployment\n"
        folder = project.patch("mine", kind, f"description: mine\nwhen: {{training: ray}}\n{meta}")
        body = {**BODY, "metadata": {**BODY["metadata"], "name": target}}
        return Valid(folder / file, body, OF_ALL, lambda value: f"# target: {target}\n{json.dumps(value)}\n")

    return made


def _saved_plan(project: Any, run: Any) -> Valid:
    path = project.root / "saved.json"
    assert run("plan", "dev", "--out", str(path)).code == 0
    plan = json.loads(path.read_text())

    def sealed(value: Any) -> str:
        # Whoever forges a plan seals it as well.
        with_seal = {**value, "sha256": seal(value)} if isinstance(value, dict) and "\\ud" not in str(value) else value
        return json.dumps(with_seal)

    return Valid(path, plan, (("show", str(path)), ("show", str(path), "--json")), sealed)


DEPLOYMENT = "stacks/recorded/dev/deployment.ml-platform.deployment-ray-model-training-worker.json"
FILES: dict[str, Callable[..., Valid]] = {
    "stack": _file("stacks/Pulumi.dev.yaml", ("show", "dev"), ("fmt", "--check"), ("promote", "dev", "staging")),
    "project": _file("Pulumi.yaml", ("patches",), ("check", "--all")),
    "cluster": _file("stacks/recorded/dev/cluster.json", ("ledger", "dev")),
    "object": _file(DEPLOYMENT, ("ledger", "dev"), ("blame", "dev", "rayWorker", "spec.replicas")),
    "schema": _of_patch("schema.json"),
    "meta": _of_patch("meta.yaml"),
    "patch": _rendered("patch.yaml.j2", "deployment-ray-head", ""),
    "base": _rendered("base.yaml.j2", "mine", "mode: managed\n"),
    "plan": _saved_plan,
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    key, *rest = path
    if isinstance(value, dict):
        return {name: put(inner, tuple(rest), new) if name == key else inner for name, inner in value.items()}
    return [put(inner, tuple(rest), new) if index == key else inner for index, inner in enumerate(value)]


def renamed(value: Any, path: tuple[Any, ...], name: str) -> Any:
    """The value with another name for the key at a path."""
    *front, last = path
    around = value
    for key in front:
        around = around[key]
    if not isinstance(around, dict):
        return put(value, path, name)
    return put(value, tuple(front), {name if key == last else key: inner for key, inner in around.items()})


@pytest.mark.parametrize("file", FILES)
def test_no_node_of_a_file_can_make_a_crash(project: Any, run: Any, file: str) -> None:
    valid = FILES[file](project, run)
    random_ = random.Random(file)
    found = list(places(valid.value))
    for number in range(MUTATIONS):
        path, new = random_.choice(found), random_.choice(VALUES)
        as_key = isinstance(new, str) and path and random_.random() < 0.5
        changed = renamed(valid.value, path, new) if as_key else put(valid.value, path, new)
        valid.path.write_text(valid.text(changed))
        result = run(*valid.verbs[number % len(valid.verbs)])
        assert result.code in (0, 1, 2), (path, new, result.text)
