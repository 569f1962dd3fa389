"""Each value of a valid file, replaced by something else: a finding or a plan, never a crash.

A run of the tests replaces each value of a small file by null, by an empty value and by one of another kind, and some
values by an odd one; of a large file it takes fewer. ``EVERY_MUTATION=1`` tries every value with everything: an hour.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from modelyard.plan.store import seal

pytestmark = pytest.mark.slow

DEEP: Any = [["x"]]
for _ in range(40):
    DEEP = {"a": DEEP}
ODD: tuple[Any, ...] = (
    *(True, 0, -1, 1.5, 10**30, 1e308),
    *("x", "a\0b", "\ud800", "1e99999999", "9" * 5000, "é://x"),
    *([None], [{}], [[]], [1, "a", None], {"": 1}, {"a": None}, DEEP),
)
EVERY = bool(os.environ.get("EVERY_MUTATION"))
SMALL, MOST = 60, 45
"""Values of the largest file in which a run replaces each by everything, and the most that it replaces by null."""
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
MORE = """
modelyard:runtime: {image: "images.example.com/jobs:1.2.3"}
modelyard:providers: [{name: lam, kind: lambda, credentialsSecret: lambda}]
modelyard:buckets: [{name: lake, url: "s3://acme-lake", reachedBy: [platform, lam]}]
modelyard:notebooks: {image: "images.example.com/notebook:1"}
modelyard:environments: [{name: tabular, python: "3.11", pip: [frames>=2], image: "python:3.11"}]
modelyard:flavors: [{name: a10, gpu: A10}]
modelyard:partitions: [{name: small, mode: mig, gpu: a100-80gb, layout: {1g.10gb: 7}}]
modelyard:nodePools: [{name: l40s, gpu: L40S, gpus: 8, nodeClass: gpu, region: us-east-1, idle: 20m}]
modelyard:teams: [{name: vision, quotas: [{flavor: a10, cpu: 16, memory: 128Gi, gpus: 1}]}]
modelyard:priorities: [{name: high, value: 100}]
modelyard:resources:
  - {name: deep, type: training, workers: 2, cpu: 4, memory: 24Gi, gpus: 1}
  - {name: chat, type: llm-serving, partition: small, slice: 1g.10gb}
  - name: far
    type: training
    cpu: 8
    memory: 32Gi
    gpus: 1
    remote: {provider: lam, instanceType: gpu_1x_a10, timeLimit: 6h, image: "a/b:3", command: [train]}
modelyard:jobs:
  - {name: train, type: training, resource: deep, command: [python, x.py], environment: tabular, timeLimit: 1h}
  - {name: clicks, type: dataset, command: [python, prepare.py]}
  - {name: talk, type: llm-serving, resource: chat, model: {parameters: 7G}}
  - {name: churn, type: training, resource: far}
modelyard:pipelines:
  - name: nightly
    artifacts: {bucket: lake, prefix: pipelines}
    stages:
      - {name: prepare, job: clicks, writes: [dataset]}
      - {name: fit, job: train, needs: [prepare], reads: [dataset], writes: [model]}
modelyard:patches: [{name: ray-worker, version: v1, params: {}}]
modelyard:policy: {rules: {POL101: {level: advisory}}}
modelyard:waivers: [{code: REM014, reason: it ends, expires: 2036-01-01, by: Ada}]
modelyard:prices: stacks/prices.yaml
"""
PRICES = {"machines": [{"type": "g5", "region": "eu", "usdPerHour": 1, "date": "2026-11-01", "source": "contract"}]}
"""A stack file's other keys, and the price file that they name."""


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


def _project(project: Any, run: Any) -> Valid:
    _only(project, "ray-worker")
    return _file("Pulumi.yaml", ("patches",), ("check", "--all"))(project, run)


def _more(project: Any, _run: Any) -> Valid:
    path = project.stack_file()
    value = yaml.safe_load(path.read_text())
    value["config"] |= yaml.safe_load(MORE)
    (project.root / "stacks/prices.yaml").write_text(json.dumps(PRICES))
    verbs = (("plan", "dev", "--json"), ("size", "dev"), ("pipeline", "show", "dev", "nightly"), ("remote", "dev"))
    return Valid(path, json.loads(json.dumps(value, default=str)), (("check", "dev"), ("show", "dev"), *verbs))


def _prices(project: Any, _run: Any) -> Valid:
    _only(project, "ray-worker")
    project.add("modelyard:prices: stacks/prices.yaml")
    verbs = (("check", "dev"), ("plan", "dev", "--cost"))
    return Valid(project.root / "stacks/prices.yaml", json.loads(json.dumps(PRICES)), verbs)


def _policies(name: str) -> Callable[..., Valid]:
    def made(project: Any, _run: Any) -> Valid:
        _only(project, "ray-worker")
        shutil.copytree(ROOT / "policies", project.root / "policies", ignore=shutil.ignore_patterns("__pycache__"))
        path = project.root / "policies" / name
        value = yaml.safe_load(path.read_text())
        if name == "policy.yaml":
            value["rules"] = {"POL102": {"level": "advisory", "params": {"registries": ["images.example.com/"]}}}
        return Valid(path, value, (("check", "dev"), ("plan", "dev")))

    return made


def _of_patch(name: str) -> Callable[..., Valid]:
    def made(project: Any, _run: Any) -> Valid:
        _only(project, "ray-worker")
        verbs = (("check", "dev"), ("patches", "ray-worker"), ("patches", "--json"), ("fmt", "--check"))
        path = project.root / "patches/ray-worker/v1" / name
        return Valid(path, yaml.safe_load(path.read_text()), verbs)

    return made


def _only(project: Any, name: str) -> None:
    """Leaves a project one patch: with all of them, a run takes five times as long.

    The lock stays, empty: without a lock, the project would have all built-in patches.
    """
    for path in project.patches.iterdir():
        if path.name == "patches.lock":
            path.write_text("")
        elif path.name != name:
            shutil.rmtree(path)


def _rendered(file: str, target: str, meta: str) -> Callable[..., Valid]:
    def made(project: Any, _run: Any) -> Valid:
        kind = f"# target: {target}\napiVersion: apps/v1\nkind: Deployment\n"
        _only(project, "ray-head")
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


ROOT = Path(__file__).parents[2]
DEPLOYMENT = "stacks/recorded/dev/deployment.ml-platform.deployment-ray-model-training-worker.json"
FILES: dict[str, Callable[..., Valid]] = {
    "more of a stack": _more,
    "prices": _prices,
    "policy": _policies("policy.yaml"),
    "assertion": _policies("assertions/no-surge.yaml"),
    "stack": _file("stacks/Pulumi.dev.yaml", ("show", "dev"), ("fmt", "--check"), ("promote", "dev", "staging")),
    "project": _project,
    "cluster": _file("stacks/recorded/dev/cluster.json", ("ledger", "dev")),
    "object": _file(DEPLOYMENT, ("ledger", "dev"), ("blame", "dev", "rayWorker", "spec.replicas")),
    "schema": _of_patch("schema.json"),
    "meta": _of_patch("meta.yaml"),
    "patch": _rendered("patch.yaml.j2", "deployment-ray-head", "overrides: [ray-head]\n"),
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


def of_each_shape(found: Iterator[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    """The first place of those that are alike: the last names of their paths are the same."""
    first: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for path in found:
        # Below fieldsV1 stand the names of fields as keys.
        if "fieldsV1" not in path[:-1]:
            first.setdefault(tuple("*" if isinstance(key, int) else key for key in path[-3:]), path)
    return tuple(first.values())


def instead_of(value: Any) -> tuple[Any, ...]:
    """Empty, and of another kind."""
    match value:
        case dict():
            return {}, ["x"]
        case list():
            return [], "x"
        case str():
            return "", {"a": "x"}
        case _:
            return "", ["x"]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def mutations(value: Any) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """A place, what is put there, and the whole value with it; null first, which an empty value after a key is."""
    found = of_each_shape(places(value))
    small = EVERY or len(found) <= SMALL
    found = found if EVERY else found[:: len(found) // MOST + 1]
    for path in found:
        yield path, None, put(value, path, None)
    for number, path in enumerate(found if small else found[::4]):
        for new in instead_of(at(value, path)):
            yield path, new, put(value, path, new)
        for odd in ODD if EVERY else (ODD[number % len(ODD)],) if number % 3 == 0 else ():
            yield path, odd, put(value, path, odd)
            if path and isinstance(odd, str):
                yield path, odd, renamed(value, path, odd)


@pytest.mark.parametrize("file", FILES)
def test_no_value_of_a_file_causes_a_crash(project: Any, run: Any, file: str) -> None:
    valid = FILES[file](project, run)
    valid.path.write_text(valid.text(valid.value))
    # An unreadable file would be refused before its values are read.
    assert {run(*verb).code for verb in valid.verbs} <= {0, 1}
    for number, (path, new, changed) in enumerate(mutations(valid.value)):
        valid.path.write_text(valid.text(changed))
        result = run(*valid.verbs[number % len(valid.verbs)])
        assert result.code in (0, 1, 2), (path, new, result.text)


@pytest.mark.parametrize("field", ["key", "operator", "values"])
def test_no_affinity_of_an_object_causes_a_crash(project: Any, run: Any, field: str) -> None:
    _only(project, "ray-worker")
    path = project.root / DEPLOYMENT
    body = json.loads(path.read_text())
    rule = {"key": "a", "operator": "NotIn", "values": ["b"]}
    for odd in (1, "x", [1], {"a": None}):
        terms = {"nodeSelectorTerms": [{"matchExpressions": [{**rule, field: odd}]}]}
        required = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        body["spec"]["template"]["spec"]["affinity"] = required
        path.write_text(json.dumps(body))
        result = run("plan", "dev", "--json")
        assert result.code in (0, 1, 2), (odd, result.text)


CONTAINER = "spec:\n  template:\n    spec:\n      containers:\n        - "


@pytest.mark.parametrize(
    ("file", "text", "line", "words"),
    [
        ("patch", f"{CONTAINER}name:\n", 7, "the item needs name"),
        ("patch", f"{CONTAINER}name: ray-head\n          env: [{{name: null, value: x}}]\n", 9, "the item needs name"),
        ("patch", "spec: {template: {spec: {containers: [{name: }]}}}\n", 4, "the item needs name"),
        ("base", f"metadata: {{name: mine}}\n{CONTAINER}name:\n", 7, "the item needs name"),
        ("base", "metadata:\n  name: mine\n  namespace:\n", 5, "has a metadata.namespace that is empty"),
        ("base", 'metadata:\n  name: mine\n  namespace: ""\n', 5, "has a metadata.namespace that is empty"),
        ("base", "metadata:\n  name: mine\n  namespace: [a]\n", 5, "has a metadata.namespace that is not text"),
    ],
)
def test_an_empty_value_is_one_finding_on_its_line(
    project: Any, run: Any, file: str, text: str, line: int, words: str
) -> None:
    valid = FILES[file](project, run)
    target = "# target: deployment-ray-head\n" if file == "patch" else ""
    valid.path.write_text(f"{target}apiVersion: apps/v1\nkind: Deployment\n{text}")
    assert {run(*verb).code for verb in OF_ALL} == {1}
    result = run("check", "dev")
    assert len([code for code in result.errors if code.startswith("PAT")]) == 1, result.text
    assert words in result.words
    assert f"{valid.path.relative_to(project.root)}:{line}" in result.text
