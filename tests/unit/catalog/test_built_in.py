"""Built-in patches: the lock of a project says which of them it uses."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import modelyard
from modelyard.catalog import load_library, new_built_in
from modelyard.catalog.lock import lock_text, read_lock
from modelyard.findings import Finding
from tests.support.project_copies import installed_package

ROOT = Path(__file__).parents[3]
RAY = "ray-worker/v1"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The built-in patches of an installed package, which a test may change."""
    return installed_package(tmp_path, monkeypatch)


@pytest.fixture
def project(tmp_path: Path, package: Path) -> Path:
    """A project without files of patches, whose lock has every built-in one."""
    root = tmp_path / "project"
    (root / "patches").mkdir(parents=True)
    shutil.copy(package / "patches.lock", root / "patches")
    return root


def relock(project: Path, change: Callable[[dict[str, str]], object]) -> None:
    locked, _ = read_lock(project / "patches")
    change(locked)
    (project / "patches" / "patches.lock").write_text(lock_text(locked))


def next_version(package: Path) -> None:
    """A newer modelyard, with ray-worker@v5 built in."""
    shutil.copytree(package / RAY, package / "ray-worker" / "v5")
    meta = package / "ray-worker" / "v5" / "meta.yaml"
    meta.write_text(meta.read_text().replace("description: ", "description: Newer. "))


def versions(project: Path) -> dict[str, list[str]]:
    return {name: list(own) for name, own in load_library(project).patches.items()}


def found(project: Path) -> Finding:
    (finding,) = load_library(project).findings
    assert finding.code == "PAT003"
    return finding


def test_a_project_with_a_lock_only_has_what_a_project_with_all_files_has(project: Path) -> None:
    copies = load_library(ROOT)
    given = load_library(project)
    assert given.findings == ()
    assert list(given.patches) == list(copies.patches)
    assert {one.id: one.sha256 for own in given.patches.values() for one in own.values()} == {
        one.id: one.sha256 for own in copies.patches.values() for one in own.values()
    }
    assert given.released == copies.released
    assert given.latest("ray-worker").file == "modelyard/patches/ray-worker/v1"
    assert given.latest("ray-worker").built_in


def test_without_a_lock_every_built_in_version_is_used_and_none_is_a_draft(project: Path) -> None:
    (project / "patches" / "patches.lock").unlink()
    assert versions(project) == versions(ROOT)
    assert load_library(project).released == load_library(ROOT).released
    assert new_built_in(project, load_library(project)) == {}


def test_an_empty_lock_uses_none(project: Path) -> None:
    relock(project, dict.clear)
    assert load_library(project).patches == {}
    assert RAY in new_built_in(project, load_library(project))


def test_a_newer_modelyard_changes_nothing_until_its_version_is_in_the_lock(project: Path, package: Path) -> None:
    next_version(package)
    library = load_library(project)
    assert (library.findings, list(library.patches["ray-worker"])) == ((), ["v4", "v3", "v2", "v1"])
    new = new_built_in(project, library)
    assert list(new) == ["ray-worker/v5"]
    relock(project, lambda locked: locked.update({"ray-worker/v5": new["ray-worker/v5"].sha256}))
    library = load_library(project)
    assert (library.findings, list(library.patches["ray-worker"])) == ((), ["v5", "v4", "v3", "v2", "v1"])
    assert new_built_in(project, library) == {}


def test_a_project_adds_a_version_to_a_built_in_patch(project: Path, package: Path) -> None:
    shutil.copytree(package / RAY, project / "patches" / "ray-worker" / "v5")
    library = load_library(project)
    assert library.findings == ()
    assert [(one.file, one.built_in) for one in library.patches["ray-worker"].values()] == [
        ("patches/ray-worker/v5", False),
        ("modelyard/patches/ray-worker/v4", True),
        ("modelyard/patches/ray-worker/v3", True),
        ("modelyard/patches/ray-worker/v2", True),
        ("modelyard/patches/ray-worker/v1", True),
    ]
    assert "ray-worker/v5" not in library.released


def test_a_draft_with_the_name_of_a_built_in_version_and_other_content_is_an_error(
    project: Path, package: Path
) -> None:
    next_version(package)
    own = project / "patches" / "ray-worker" / "v5"
    shutil.copytree(package / RAY, own)
    finding = found(project)
    assert finding.location == "patches/ray-worker/v5/patch.yaml.j2:1"
    assert "patches/ray-worker/v5" in finding.remedy
    shutil.rmtree(own)
    shutil.copytree(package / "ray-worker" / "v5", own)
    assert load_library(project).findings == ()


def test_a_projects_released_version_stays_although_a_newer_modelyard_has_another_of_its_name(
    project: Path, package: Path
) -> None:
    shutil.copytree(package / RAY, project / "patches" / "ray-worker" / "v5")
    own = load_library(project).patches["ray-worker"]["v5"]
    relock(project, lambda locked: locked.update({"ray-worker/v5": own.sha256}))
    next_version(package)
    library = load_library(project)
    assert (library.findings, library.latest("ray-worker").sha256) == ((), own.sha256)
    assert new_built_in(project, library) == {}


def test_a_locked_version_that_this_modelyard_lacks_is_an_error(project: Path, package: Path) -> None:
    shutil.rmtree(package / RAY)
    finding = found(project)
    assert finding.file == "patches/patches.lock"
    assert finding.line > 0
    assert f"modelyard {modelyard.__version__} has no " in finding.detail
    assert "install " in finding.remedy


def test_a_locked_built_in_version_with_other_content_is_an_error(project: Path, package: Path) -> None:
    path = package / RAY / "meta.yaml"
    path.write_text(path.read_text() + "\n")
    finding = found(project)
    assert finding.file == "patches/patches.lock"
    assert "ray-worker@v1" in finding.summary
    assert "git log -- patches/patches.lock" in finding.remedy
    assert f"patches/{RAY}" not in finding.remedy


@pytest.mark.parametrize("same", [0, 12, 40, 63])
def test_the_digests_in_a_finding_differ(project: Path, package: Path, same: int) -> None:
    digest = read_lock(project / "patches")[0][RAY]
    other = digest[:same] + "".join("0" if one != "0" else "1" for one in digest[same:])
    relock(project, lambda locked: locked.update({RAY: other}))
    wanted, there = re.findall(r"(?<= )[0-9a-f]{12,64}\b", found(project).detail.replace("…", ""))
    assert other.startswith(wanted)
    assert digest.startswith(there)
    assert wanted != there


def test_a_digest_that_is_not_hexadecimal_is_a_malformed_line(project: Path, package: Path) -> None:
    digest = read_lock(project / "patches")[0][RAY]
    relock(project, lambda locked: locked.update({RAY: f"g{digest[1:]}"}))
    lines = (project / "patches" / "patches.lock").read_text().splitlines()
    (line,) = [number for number, text in enumerate(lines, 1) if text.startswith(f"{RAY} ")]
    assert found(project).location == f"patches/patches.lock:{line}"
    assert read_lock(project / "patches")[1] == (line,)


def test_a_folder_that_hides_a_locked_built_in_version_names_it_and_the_next_free_version(
    project: Path, package: Path
) -> None:
    own = project / "patches" / RAY
    shutil.copytree(package / RAY, own)
    (own / "meta.yaml").write_text("description: mine\n")
    finding = found(project)
    assert finding.location == f"patches/{RAY}/meta.yaml:1"
    assert finding.remedy.startswith(f"remove patches/{RAY} ")
    own.rename(own.with_name("v5"))
    assert "patches/ray-worker/v5;" in finding.remedy
    assert load_library(project).findings == ()
    shutil.rmtree(own.with_name("v5"))
    assert load_library(project).findings == ()


def test_a_broken_copy_is_not_replaced_by_the_built_in_version(project: Path, package: Path) -> None:
    shutil.copytree(package / RAY, project / "patches" / RAY)
    (project / "patches" / RAY / "meta.yaml").unlink()
    (broken,) = load_library(project).findings
    assert (broken.code, broken.location, broken.remedy) == (
        "PAT003",
        f"patches/{RAY}",
        f"restore patches/{RAY}",
    )
    assert broken.detail == f"patches/{RAY} has no meta.yaml"
    shutil.copy(package / RAY / "meta.yaml", project / "patches" / RAY)
    (project / "patches" / RAY / "schema.json").write_text("{\n")
    (broken,) = load_library(project).findings
    assert (broken.code, broken.location) == ("PAT003", f"patches/{RAY}/schema.json:2")
    assert list(load_library(project).patches["ray-worker"]) == ["v4", "v3", "v2"]


@pytest.mark.parametrize("name", ["../../secret/v1", "secret/../v1", "../patches/v1", "/secret/v1"])
def test_a_name_in_a_lock_leads_nowhere_else(project: Path, package: Path, name: str) -> None:
    for folder in (project.parent / "secret" / "v1", package / "v1"):
        shutil.copytree(ROOT / "patches" / RAY, folder)
    digest = read_lock(project / "patches")[0][RAY]
    relock(project, lambda locked: locked.update({name: digest}))
    assert "is missing" in found(project).summary
    assert versions(project) == versions(ROOT)


def test_a_checkouts_patches_are_its_own_files() -> None:
    library = load_library(ROOT)
    assert not any(one.built_in for own in library.patches.values() for one in own.values())
    assert new_built_in(ROOT, library) == {}
