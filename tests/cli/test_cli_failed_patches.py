"""A patch that cannot be used is one finding: what its objects then lack is not reported too."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modelyard.catalog.lock import digest, lock_text, read_lock

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(project: Any) -> Any:
    """With the project's policies, which also check objects."""
    shutil.copytree(ROOT / "policies", project.root / "policies", ignore=shutil.ignore_patterns("__pycache__"))
    return project


def worker(project: Any) -> Path:
    return Path(project.patches / "ray-worker/v1/patch.yaml.j2")


def relock(project: Any) -> None:
    """As if the project had released the version as it is now."""
    locked, _ = read_lock(project.patches)
    locked["ray-worker/v1"] = digest({path.name: path.read_bytes() for path in worker(project).parent.iterdir()})
    (project.patches / "patches.lock").write_text(lock_text(locked))


def no_such_version(project: Any) -> None:
    project.add("modelyard:patches: [{name: ray-worker, version: v9}]")


def undefined_variable(project: Any) -> None:
    worker(project).write_text(worker(project).read_text().replace("{{ memory }}", "{{ memroy }}"))
    relock(project)


def bad_parameter(project: Any) -> None:
    project.add("modelyard:patches: [{name: ray-worker, params: {gracePeriod: long}}]")


def broken_meta(project: Any) -> None:
    (project.patches / "ray-worker/v1/meta.yaml").write_text("params: [\n")
    (project.patches / "patches.lock").unlink()


def directive(project: Any) -> None:
    worker(project).write_text(worker(project).read_text().replace("strategy:\n", "strategy:\n    $patch: replace\n"))
    relock(project)


def broken_base(project: Any) -> None:
    base = worker(project).with_name("base.yaml.j2")
    base.write_text(base.read_text() + "{{ nothing }}\n")
    relock(project)


Fail = Callable[[Any], None]
FAILURES = [
    (no_such_version, "PAT002"),
    (undefined_variable, "PAT005"),
    (bad_parameter, "PAT004"),
    (broken_meta, "PAT009"),
    (directive, "PAT015"),
]


@pytest.mark.parametrize(("fail", "code"), FAILURES)
def test_a_patch_that_cannot_be_used_is_the_only_error(project: Any, refused: Any, fail: Fail, code: str) -> None:
    fail(project)
    result = refused("check", "dev", code=1)
    assert result.errors == [code]
    assert "POL105" not in result.text


@pytest.mark.parametrize(
    ("fail", "code"), [(undefined_variable, "PAT005"), (no_such_version, "PAT002"), (broken_base, "PAT005")]
)
def test_an_incomplete_managed_object_is_not_a_missing_target(
    project: Any, refused: Any, fail: Fail, code: str
) -> None:
    for record in (project.root / "stacks/recorded/dev").glob("*.*.deployment-*.json"):
        record.unlink()
    project.edit(("mode: existing", "mode: managed"))

    def missing() -> set[str]:
        findings = json.loads(refused("check", "dev", "--json", code=1).out)["findings"]
        assert {one["code"] for one in findings if one["severity"] == "error"} <= {"PAT013", code}
        return {one["target"] for one in findings if one["code"] == "PAT013"}

    # The platform's API server, which no stack manages.
    assert missing() == {"deployment-api-server"}
    fail(project)
    assert missing() == {"deployment-api-server"}
    assert code in refused("check", "dev", code=1).errors


@pytest.mark.parametrize(("fail", "code"), FAILURES[:3])
def test_other_errors_are_reported_after_the_failed_patch(project: Any, refused: Any, fail: Fail, code: str) -> None:
    project.edit(("volume: 50Gi", "volume: 50Ti"), ("model: A10", "model: K80"))
    alone = refused("check", "dev", code=1).errors
    fail(project)
    result = refused("check", "dev", code=1)
    assert result.errors[0] == code
    assert sorted(result.errors) == sorted([code, *alone])
    assert {"GPU001", "RES101"} & set(alone)


def test_objects_of_other_patches_are_checked(project: Any, refused: Any) -> None:
    undefined_variable(project)
    memory = "{memory: 900Gi}"
    containers = f"[{{name: model-service, resources: {{requests: {memory}, limits: {memory}}}}}]"
    head = "# target: deployment-model-service\napiVersion: apps/v1\nkind: Deployment\n"
    spec = f"spec: {{template: {{spec: {{containers: {containers}}}}}}}\n"
    project.patch("mine", head + spec, "overrides: [model-service]\n")
    assert refused("check", "dev", code=1).errors == ["PAT005", "RES101"]


def test_a_waiver_for_an_unchecked_object_is_not_reported_as_unused(project: Any, refused: Any) -> None:
    worker_name = "deployment-ray-model-training-worker"
    project.add(
        "modelyard:waivers:\n"
        + "".join(
            f"  - {{code: {code}, target: {worker_name}, reason: known and accepted, expires: 2126-01-01, by: me}}\n"
            for code in ("RES001", "POL114")
        )
    )
    no_such_version(project)
    assert "CFG022" not in refused("check", "dev", code=1).text
