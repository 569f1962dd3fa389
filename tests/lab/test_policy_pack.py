"""The policy pack in the real engine: what it allows, what it stops, and what it reports about a saved state."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.support.environment import NAMESPACE, ROOT, Done, Environment, environment, words
from tests.lab.support.managed_mode import manage
from tests.lab.support.policy_pack import preview, violations_of, with_policies

HEAD = "deployment-ray-head"
OUTSIDE = "modelyard:policy: {rules: {POL112: {params: {allow: [other-*]}}}}"
"""A parameter that does not allow the platform's namespace."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with environment("dev", tmp_path_factory.mktemp("policies")) as env:
        with_policies(env)
        env.init()
        yield env


@pytest.fixture
def dev(shared: Environment) -> Iterator[Environment]:
    """The shared environment; tests do not change the cluster, and the project is restored."""
    kept = {path: path.read_bytes() for path in shared.folder.rglob("*") if _is_source(path, shared.folder)}
    yield shared
    for path in shared.folder.rglob("*"):
        if _is_source(path, shared.folder) and path not in kept:
            path.unlink()
    for path, content in kept.items():
        path.write_bytes(content)


def _is_source(path: Path, root: Path) -> bool:
    inside = path.relative_to(root).parts
    return path.is_file() and inside[0] in ("stacks", "patches", "policies") and "__pycache__" not in inside


def add(env: Environment, line: str) -> None:
    """Adds a line to the config of the stack file."""
    env.edit("config:\n", f"config:\n  {line}\n")


@pytest.mark.parametrize("name", ["dev", "staging", "prod"])
def test_the_example_stacks_pass(name: str, tmp_path: Path) -> None:
    with environment(name, tmp_path) as env:
        with_policies(env)
        env.init()
        done = preview(env)
        assert done.returncode == 0, words(done)
        assert violations_of(done) == []
        assert "modelyard@v0.1.0 (local: policies)" in done.stdout


def test_a_managed_stack_passes_with_pinned_images(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        with_policies(env)
        manage(env)
        env.init()
        done = preview(env)
        assert done.returncode == 0, words(done)
        assert violations_of(done) == []
        env.edit("ray-head:23.10.4", "ray-head:latest")
        done = preview(env)
        assert done.returncode != 0
        assert violations_of(done) == [("mandatory", "POL101")]
        assert "image of ray-head is not pinned: images.example.com/ml-platform/ray-head:latest" in words(done)


def test_a_rule_stops_a_preview(dev: Environment) -> None:
    add(dev, OUTSIDE)
    done = preview(dev)
    assert done.returncode != 0
    assert violations_of(done) == [("mandatory", "POL112")]
    assert re.search(rf"POL112 .*\b{HEAD} ", words(done))
    assert "Traceback" not in words(done)


@pytest.mark.quick
def test_a_rule_stops_an_update_before_anything_is_sent(dev: Environment) -> None:
    versions = {body["metadata"]["name"]: body["metadata"]["resourceVersion"] for body in deployments(dev)}
    add(dev, OUTSIDE)
    done = dev.pulumi("up", "--yes", "--skip-preview", "--stack", "dev", "--policy-pack", "policies", check=False)
    assert done.returncode != 0
    assert ("mandatory", "POL112") in violations_of(done)
    assert {body["metadata"]["name"]: body["metadata"]["resourceVersion"] for body in deployments(dev)} == versions


def deployments(env: Environment) -> list[dict[str, Any]]:
    return env.found("apis/apps/v1/…/deployments")


def test_a_hardware_rule_is_a_violation_of_the_stack(dev: Environment) -> None:
    dev.edit("model: A10", "model: T4")
    done = preview(dev)
    assert done.returncode != 0
    assert violations_of(done) == [("mandatory", "GPU001")]
    assert "(pulumi:pulumi:Stack: modelyard-dev)" in words(done)
    assert "T4 is not supported" in words(done)


def test_an_advisory_violation_only_warns(dev: Environment) -> None:
    add(dev, OUTSIDE.replace("{params", "{level: advisory, params"))
    done = preview(dev)
    assert done.returncode == 0, words(done)
    assert violations_of(done) == [("advisory", "warnings")]
    assert f"POL112 {HEAD} " in words(done)


def test_the_projects_level_applies_to_every_stack(dev: Environment) -> None:
    policy = dev.folder / "policies" / "policy.yaml"
    policy.write_text("rules: {POL112: {level: advisory, params: {allow: [other-*]}}}\n")
    done = preview(dev)
    assert done.returncode == 0, words(done)
    assert violations_of(done) == [("advisory", "POL112")]


def test_a_waiver_covers_a_violation_until_it_expires(dev: Environment) -> None:
    add(dev, OUTSIDE)
    add(dev, "modelyard:waivers: [{code: POL112, reason: moving, expires: 2036-12-01, by: Ada}]")
    done = preview(dev)
    assert done.returncode == 0, words(done)
    assert violations_of(done) == []
    dev.edit("2036-12-01", "2020-12-01")
    done = preview(dev)
    assert done.returncode != 0
    # The program rejects the plan as well, so the rules see no object.
    assert violations_of(done) == [("mandatory", "CFG019")]
    assert "the waiver of POL112 expired on 2020-12-01" in words(done)


@pytest.mark.parametrize(
    ("config", "code", "violations"),
    [
        ({"POL112": {"allow": ["other-*"]}}, 255, [("mandatory", "POL112")]),
        ({"POL112": {"enforcementLevel": "advisory", "allow": ["other-*"]}}, 0, [("advisory", "POL112")]),
        ({"POL112": {"enforcementLevel": "remediate", "allow": ["other-*"]}}, 255, [("mandatory", "POL112")]),
        ({"POL112": {"enforcementLevel": "disabled", "allow": ["other-*"]}}, 0, []),
        ({"all": "advisory", "POL112": {"allow": ["other-*"]}}, 0, [("advisory", "POL112")]),
    ],
)
def test_pulumis_configuration_sets_levels_and_parameters(
    dev: Environment, config: Mapping[str, Any], code: int, violations: list[tuple[str, str]], tmp_path: Path
) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    done = preview(dev, "--policy-pack-config", str(file))
    assert (done.returncode != 0) == (code != 0), words(done)
    assert violations_of(done) == violations


def test_pulumi_rejects_parameters_that_do_not_fit_a_rule(dev: Environment, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"POL112": {"allow": "ml-*"}}))
    done = preview(dev, "--policy-pack-config", str(file))
    assert done.returncode != 0
    assert "POL112: allow: Invalid type. Expected: array, given: string" in words(done)


def test_rules_of_the_project_run_in_the_pack(dev: Environment) -> None:
    (dev.folder / "policies" / "rules" / "mine.py").write_text(
        "from modelyard.policy import rule\n\n\n"
        '@rule("POL901", kinds=["Deployment"], roles=["rayHead"])\n'
        "def mine(subject, params):\n"
        '    """Mine.\n\n    **Why.** A.\n\n    **Example.** B.\n\n    **Fix.** C.\n    """\n'
        "    yield subject.finding(f'{subject.name} is mine', field='spec', remedy='share it')\n"
    )
    (dev.folder / "policies" / "assertions" / "mine.yaml").write_text(
        "code: POL902\ntitle: Two\nlevel: advisory\nmatch: {roles: [modelService]}\n"
        "assert: [{field: spec.replicas, operator: atMost, value: 1}]\n"
        'message: "{name} has {value} replicas"\nwhy: A.\nexample: B.\nfix: C.\n'
    )
    done = preview(dev)
    assert violations_of(done) == [("advisory", "POL902"), ("mandatory", "POL901")]
    assert f"{HEAD} is mine" in words(done)
    assert "deployment-model-service has 2 replicas" in words(done)


def test_objects_added_to_the_program_are_checked(dev: Environment) -> None:
    program = dev.folder / "stacks" / "__main__.py"
    program.write_text(
        program.read_text()
        + "import pulumi_kubernetes as kubernetes\n\n"
        + "kubernetes.autoscaling.v2.HorizontalPodAutoscaler(\n"
        + '    "mine",\n'
        + f'    metadata={{"name": "mine", "namespace": "{NAMESPACE}"}},\n'
        + "    spec={\n"
        + '        "scaleTargetRef": {\n'
        + '            "apiVersion": "apps/v1", "kind": "Deployment", "name": "deployment-ray-model-training-worker"\n'
        + "        },\n"
        + '        "maxReplicas": 4,\n'
        + "    },\n"
        + ")\n"
    )
    done = preview(dev)
    assert done.returncode != 0
    assert violations_of(done) == [("mandatory", "POL108"), ("mandatory", "POL109")]
    assert "both HorizontalPodAutoscaler mine and the stack set spec.replicas" in words(done)


def test_rules_for_autoscalers_deadlines_and_gpus_stop_a_preview(dev: Environment) -> None:
    dev.lab.install_crds()
    program = dev.folder / "stacks" / "__main__.py"
    program.write_text(program.read_text() + (ROOT / "tests/lab/support/extra_pulumi_objects.py").read_text())
    done = preview(dev)
    assert done.returncode != 0
    assert {code for level, code in violations_of(done) if level == "mandatory"} == {"POL103", "POL104", "POL111"}, (
        words(done)
    )
    # A waiver covers one of the violations.
    add(dev, "modelyard:waivers: [{code: POL104, target: short, reason: a smoke test, expires: 2036-12-01, by: Ada}]")
    program.write_text(program.read_text().replace('"maxReplicaCount": 2', '"maxReplicaCount": 0'))
    mandatory = {code for level, code in violations_of(preview(dev)) if level == "mandatory"}
    assert "POL106" in mandatory
    assert "POL104" not in mandatory


def test_several_gpus_without_nvlink_are_reported(dev: Environment) -> None:
    dev.edit("perWorker: 1", "perWorker: 2")
    dev.edit("allocation: single", "allocation: multi_gpu")
    assert ("advisory", "GPU008") in violations_of(preview(dev))
    dev.edit("config:\n", "config:\n  modelyard:policy: {rules: {GPU008: {level: mandatory}}}\n")
    assert [level for level, code in violations_of(preview(dev)) if code in ("GPU008", "errors")] == ["mandatory"]


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        (
            "memory: 32Gi\n    image: images.example.com/ml-platform/ray",
            "memory: 4Gi\n    image: images.example.com/ml-platform/ray",
            "RES001",
        ),
        ("volume: 50Gi", "volume: 5Gi", "RES005"),
    ],
)
def test_values_below_a_minimum_are_violations_of_the_stack(
    dev: Environment, before: str, after: str, code: str
) -> None:
    dev.edit(before, after)
    done = preview(dev)
    assert done.returncode != 0
    assert violations_of(done) == [("mandatory", code)]


def test_a_rule_that_cannot_be_loaded_is_reported(dev: Environment) -> None:
    (dev.folder / "policies" / "rules" / "mine.py").write_text("def mine(:\n")
    done = preview(dev)
    assert done.returncode != 0
    assert violations_of(done) == [("mandatory", "configuration")]
    assert "POL003 mine.py cannot be loaded" in words(done)


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A stack that was applied without policies, and whose Ray head was scaled by hand since."""
    with environment("dev", tmp_path_factory.mktemp("saved")) as env:
        with_policies(env)
        env.init()
        env.up()
        env.settle()
        yield env


def analyze(env: Environment, *more: str, pack: str = "policies") -> Done:
    return env.pulumi("policy", "analyze", "--policy-pack", pack, *more, check=False)


def test_a_saved_state_without_violations_passes(applied: Environment) -> None:
    done = analyze(applied, "--stack", "dev")
    assert done.returncode == 0, words(done)
    assert violations_of(done) == []


def test_violations_in_a_saved_state_are_reported(applied: Environment, tmp_path: Path) -> None:
    policy = applied.folder / "policies" / "policy.yaml"
    text = policy.read_text()
    policy.write_text("rules: {POL112: {params: {allow: [other-*]}}, POL113: {params: {labels: {team: .+}}}}\n")
    try:
        done = analyze(applied, "--stack", "dev")
        assert done.returncode != 0
        assert violations_of(done) == [("mandatory", "POL112"), ("mandatory", "live-errors")]
        assert f"POL113 {HEAD} has no label team" in words(done)
        assert "one or more mandatory policy violations were found" in words(done)

        state = tmp_path / "state.json"
        state.write_text(applied.pulumi("stack", "export", "--stack", "dev").stdout)
        from_file = analyze(applied, "--file", str(state))
        assert from_file.returncode != 0
        assert violations_of(from_file) == violations_of(done)

        elsewhere = applied.env | {"PULUMI_BACKEND_URL": "file:///nowhere"}
        pack = str(applied.folder / "policies")
        from_elsewhere = applied.pulumi(
            "-C",
            str(tmp_path),
            "policy",
            "analyze",
            "--file",
            str(state),
            "--policy-pack",
            pack,
            check=False,
            env=elsewhere,
        )
        assert violations_of(from_elsewhere) == violations_of(done)
    finally:
        policy.write_text(text)


def test_a_mandatory_policy_stops_an_apply_before_anything_is_sent(applied: Environment) -> None:
    text = applied.stack_file.read_text()
    versions = {body["metadata"]["name"]: body["metadata"]["resourceVersion"] for body in deployments(applied)}
    applied.edit("config:\n", f"config:\n  {OUTSIDE}\n")
    applied.edit("replicas: 2", "replicas: 3")
    try:
        done = applied.modelyard("apply", "dev", "--yes", check=False)
        assert done.returncode == 1, words(done)
        assert f"POL112 {HEAD} " in words(done)
        assert {
            body["metadata"]["name"]: body["metadata"]["resourceVersion"] for body in deployments(applied)
        } == versions
    finally:
        applied.stack_file.write_text(text)


def test_replicas_in_the_saved_state_are_checked(applied: Environment) -> None:
    """After a refresh, the state contains manual changes that the stack file does not have."""
    applied.lab.kubectl("scale", "--namespace", NAMESPACE, "deployment", HEAD, "--replicas", "2")
    applied.settle()
    applied.pulumi("refresh", "--yes", "--skip-preview", "--stack", "dev")
    done = analyze(applied, "--stack", "dev")
    assert done.returncode != 0
    assert violations_of(done) == [("mandatory", "RAY001")]
    assert "rayHead.replicas is 2" in words(done)
    assert f"the object {HEAD} has this value" in words(done)


def test_sizes_in_the_saved_state_are_checked(applied: Environment) -> None:
    """Someone set a GPU for the model service and too little memory for a worker."""
    gpu, memory = "nvidia.com/gpu=1", "memory=4Gi"
    for name, size in (("model-service", gpu), ("ray-model-training-worker", memory)):
        where = ("--namespace", NAMESPACE, "deployment", f"deployment-{name}")
        applied.lab.kubectl("set", "resources", *where, f"--limits={size}", f"--requests={size}")
    applied.pulumi("refresh", "--yes", "--skip-preview", "--stack", "dev")
    done = analyze(applied, "--stack", "dev")
    assert done.returncode != 0
    assert ("mandatory", "RES001") in violations_of(done)
    assert "RES006 modelService.gpu is 1" in words(done)
