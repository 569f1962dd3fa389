"""A project of an installed modelyard: its patches are built in.

Messages are in ``tests/golden/test_cli_built_in.txt``.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from modelyard.catalog.lock import lock_text, read_lock
from tests.support.cli_project import ROOT, Project, Run, stamps
from tests.support.project_copies import installed_package

RAY = "ray-worker/v1"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The built-in patches, which a test may change."""
    return installed_package(tmp_path, monkeypatch)


@pytest.fixture
def installed(project: Project, package: Path) -> Iterator[Project]:
    """The project without copies of built-in patches."""
    lent = project.root / "patches"
    aside = lent.rename(project.root.parent / "aside")
    lent.mkdir()
    shutil.copy(package / "patches.lock", lent)
    yield project
    shutil.rmtree(lent)
    aside.rename(lent)


def newer(package: Path) -> None:
    """A newer modelyard, whose ray-worker@v5 lets the autoscaler evict the pods."""
    shutil.copytree(package / RAY, package / "ray-worker" / "v5")
    template = package / "ray-worker" / "v5" / "patch.yaml.j2"
    text = template.read_text()
    assert 'safe-to-evict: "false"' in text
    template.write_text(text.replace('safe-to-evict: "false"', 'safe-to-evict: "true"'))


def test_plans_are_those_of_a_project_with_copies(run: Run, installed: Project, package: Path) -> None:
    built_in = run("plan", "--all", "--json")
    shutil.copytree(package, installed.root / "patches", dirs_exist_ok=True)
    copies = run("plan", "--all", "--json")
    assert built_in.code == 0
    assert json.loads(built_in.out.replace("modelyard/patches/", "patches/")) == json.loads(copies.out)


def test_blame_shows_the_file_of_a_built_in_patch(run: Run, installed: Project) -> None:
    shown = run("blame", "prod", "ray-model", "spec.replicas")
    assert shown.code == 0
    assert "  modelyard/patches/training-replicas/v1/patch.yaml.j2\n" in shown.out


def test_a_built_in_patch_is_shown_with_its_templates(run: Run, installed: Project) -> None:
    shown = run("patches", "training-route")
    assert (shown.code, shown.err) == (0, "")
    template = (ROOT / "patches/training-route/v1/patch.yaml.j2").read_text()
    assert "  modelyard/patches/training-route/v1/patch.yaml.j2\n" in shown.out
    assert "".join(f"    {line}\n" for line in template.splitlines()) in shown.out
    assert "base.yaml.j2" not in shown.out
    assert "  modelyard/patches/ray-worker/v1/base.yaml.j2\n" in run("patches", "ray-worker").out
    assert "\n  modelyard/patches/ray-worker/v3/patch.yaml.j2\n" in run("patches", "ray-worker@v3").out
    (version,) = json.loads(run("patches", "ray-worker@v3", "--json").out)["patches"]
    assert version["version"] == "v3"


def test_versions_that_cannot_be_shown(refused: Any, installed: Project, golden: Callable[..., None]) -> None:
    lines = ("ray-worker@v99", "ray-workr@v3", "--release ray-worker@v3")
    results = [refused("patches", *line.split(), code=2) for line in lines]
    lock = installed.root / "patches" / "patches.lock"
    lock.write_text("".join(line for line in lock.read_text().splitlines(keepends=True) if "ray-worker/" not in line))
    golden(*results, refused("patches", "ray-worker", code=2))


def test_new_built_in_versions_are_named_and_released_on_request(run: Run, installed: Project, package: Path) -> None:
    before = run("plan", "dev", "--json").out
    newer(package)
    assert run("plan", "dev", "--json").out == before
    assert "built-in ray-worker@v5" in run("patches").words
    assert "built-in ray-worker@v5" in run("patches", "ray-worker").words
    assert "built-in" not in run("patches", "ray-head").words
    assert run("patches", "--release", "ray-worker").out == "released ray-worker@v5\n"
    assert "built-in ray-worker@v5" not in run("patches").words
    after = run("plan", "dev", "--json").out
    assert "ray-worker@v5" in after


def test_an_upgrade_shows_per_stack_what_new_versions_would_change(
    run: Run, installed: Project, package: Path, golden: Callable[..., None]
) -> None:
    assert run("upgrade-check", "--detailed-exitcode").code == 0
    newer(package)
    before = stamps(installed.root)
    shown = run("upgrade-check")
    assert stamps(installed.root) == before
    assert shown.code == 0
    assert run("upgrade-check", "--detailed-exitcode").code == 5
    golden(shown)
    plans = {name: run("plan", name, "--json").out for name in ("dev", "staging", "prod")}
    assert run("patches", "--release").code == 0
    changed = {
        name
        for name, text in plans.items()
        if json.loads(run("plan", name, "--json").out)["targets"] != (json.loads(text)["targets"])
    }
    assert changed == {"dev", "staging", "prod"}
    assert run("upgrade-check", "--detailed-exitcode").code == 0


def test_an_upgrade_of_broken_patches_stops_with_their_errors(run: Run, installed: Project, package: Path) -> None:
    newer(package)
    (installed.root / "patches" / "mine" / "v1").mkdir(parents=True)
    stopped = run("upgrade-check")
    assert stopped.code == 1
    assert stopped.errors == ["PAT009"]


def test_a_new_version_that_cannot_be_applied_fails_the_check(run: Run, installed: Project, package: Path) -> None:
    newer(package)
    template = package / "ray-worker" / "v5" / "patch.yaml.j2"
    template.write_text(template.read_text().replace("{{ memory }}", "{{ memroy }}"))
    shown = run("upgrade-check")
    assert shown.code == 1
    assert "PAT005" in shown.out


def test_an_upgrade_is_a_document_that_fits_its_schema(run: Run, installed: Project, package: Path) -> None:
    schema = json.loads(run("schema", "outputs").out)
    valid = Draft202012Validator({**schema, "$ref": "#/$defs/upgradeCheck"})
    nothing = json.loads(run("upgrade-check", "--json").out)
    assert nothing == {"formatVersion": 1, "versions": [], "preview": None}
    newer(package)
    found = json.loads(run("upgrade-check", "--json").out)
    for document in (nothing, found):
        valid.validate(document)
    assert found["versions"] == ["ray-worker@v5"]
    assert [change["stacks"] for change in found["preview"]["changes"]] == [["dev", "prod", "staging"]]
    assert not valid.is_valid(found | {"preview": {}})


def test_an_upgrade_names_stacks_without_a_recorded_platform(run: Run, installed: Project, package: Path) -> None:
    installed.stack_file("test").write_bytes(installed.stack_file().read_bytes())
    newer(package)
    shown = run("upgrade-check")
    assert shown.code == 1
    assert "(CFG101)" in shown.out
    assert "record test" in shown.out
    installed.edit(("model: A10", "model: L4"), stack="test")
    assert "check test" in run("upgrade-check").out


@pytest.mark.parametrize(
    ("gone", "field", "patch"),
    [
        ("training-replicas", "rayWorker.replicas", "training-replicas"),
        ("ray-worker/", "rayWorker.cpu", "ray-worker"),
        ("ray-worker", "rayWorker.cpu", "ray-worker"),
        ("ray-worker/v1", "rayWorker.cpu", "ray-worker"),
        ("model-service/v1", "modelService.replicas", "model-service"),
    ],
)
def test_lines_that_the_lock_has_lost_are_restored_by_the_remedy(
    run: Run, installed: Project, gone: str, field: str, patch: str
) -> None:
    installed.edit(("replicas: 1\n    cpu: 8", "replicas: 3\n    cpu: 8"))
    lock = installed.patches / "patches.lock"
    lines = lock.read_text().splitlines(keepends=True)
    lock.write_text("".join(line for line in lines if not line.startswith(gone)))

    def without_effect() -> dict[str, str]:
        found = json.loads(run("check", "dev", "--json").out)["findings"]
        return {one["field"]: one["remedy"] for one in found if one["code"] == "RES113"}

    command = f"modelyard patches {patch} --release"
    assert command in without_effect()[field]
    assert run(*command.split()[1:]).code == 0
    assert without_effect() == {}


def test_a_patch_that_the_lock_leaves_out_can_be_released_by_name(run: Run, installed: Project) -> None:
    lock = installed.root / "patches" / "patches.lock"
    locked, _ = read_lock(lock.parent)
    del locked["node-pools/v1"]
    lock.write_text(lock_text(locked))
    assert run("patches", "node-pools").code == 2
    assert run("patches", "--release", "node-pools").out == "released node-pools@v1\n"
    assert run("patches", "node-pools").code == 0


def test_no_line_is_wider_than_the_terminal(installed: Project, package: Path, fits: Callable[..., None]) -> None:
    fits("upgrade-check")
    newer(package)
    fits("upgrade-check")
