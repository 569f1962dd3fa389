"""A project that was cloned with modelyard's repository: ``modelyard init --migrate``.

``tests/golden/test_cli_migrate.txt`` has what it prints.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import modelyard
from modelyard.cli.starter import template
from modelyard.policy.loading import policies_of
from tests.support.cli_project import ROOT, Run, tree

PACK = Path(__file__).with_name("cloned_policy_pack.txt")
"""The policy pack's program as clones have it: the package has it now."""
STACKS = ("dev", "staging", "prod")


@pytest.fixture(autouse=True)
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site-packages" / "modelyard"
    shutil.copytree(ROOT / "patches", folder / "patches")
    monkeypatch.setattr(modelyard, "__file__", str(folder / "__init__.py"))


@pytest.fixture
def clone(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    root = tmp_path / "clone"
    for name in ("components", "patches", "policies", "stacks"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Pulumi.yaml", root)
    shutil.copy(PACK, root / "policies" / "__main__.py")
    monkeypatch.chdir(root)
    yield root
    policies_of.cache_clear()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--from-cluster",), "--from-cluster"),
        (("--context", "prod", "--namespace", "ml"), "--context or --namespace"),
        (("--name", "", "--stacks", "dev", "--ci", "none", "--yes"), "--name, --stacks or --ci"),
    ],
)
def test_options_for_a_new_project_are_refused(run: Run, clone: Path, words: tuple[str, ...], named: str) -> None:
    before = tree(clone)
    done = run("init", "--migrate", *words)
    assert (done.code, done.out) == (2, "")
    assert f"not take {named}" in done.words
    assert tree(clone) == before


def plans(run: Run) -> list[object]:
    policies_of.cache_clear()
    return [json.loads(run("plan", name, "--json").out) for name in STACKS]


def test_migrate_removes_copies_and_changes_no_plan(run: Run, clone: Path, golden: Callable[..., None]) -> None:
    before = plans(run)
    lock = (clone / "patches/patches.lock").read_bytes()
    done = run("init", "--migrate", "--yes")
    assert done.code == 0
    assert [path.name for path in (clone / "patches").iterdir()] == ["patches.lock"]
    assert (clone / "patches/patches.lock").read_bytes() == lock
    assert not (clone / "components").exists()
    assert (clone / "policies/__main__.py").read_text() == template("policy-program.txt")
    assert (clone / "stacks/__main__.py").read_text() == template("program.txt")
    assert (clone / "policies/rules/gpus.py").read_bytes() == (ROOT / "policies/rules/gpus.py").read_bytes()
    assert json.loads(json.dumps(plans(run)).replace("modelyard/patches/", "patches/")) == before
    golden(done, run("init", "--migrate"))


def test_nothing_changes_without_yes(run: Run, clone: Path) -> None:
    before = tree(clone)
    done = run("init", "--migrate")
    assert done.code == 2
    assert tree(clone) == before
    assert run("init", "--migrate", "--yes").out.startswith(done.out)


def test_files_that_differ_stay(run: Run, clone: Path) -> None:
    (clone / "stacks/__main__.py").write_text((clone / "stacks/__main__.py").read_text() + "\nprint('mine')\n")
    mine = clone / "patches/mine/v1"
    shutil.copytree(clone / "patches/ray-head/v1", mine)
    (clone / "patches/ray-head/v1/notes.txt").write_text("mine")
    (clone / "policies/__main__.py").write_text("mine\n")
    before = tree(clone)
    done = run("init", "--migrate", "--yes")
    assert done.code == 0
    after = tree(clone)
    assert {name for name in before if name not in after} == {
        name
        for name in before
        if name.startswith("patches/")
        and not name.startswith(("patches/mine", "patches/ray-head/v1"))
        and name != "patches/ray-head"
    } - {"patches/patches.lock"}
    assert {name for name in after if after[name] != before[name]} == set()
    for name in ("stacks/__main__.py", "policies/__main__.py", "patches/ray-head/v1", "components"):
        assert f"keep     {name} " in done.out


def test_a_version_that_differs_from_the_built_in_one_stays(run: Run, clone: Path) -> None:
    lock = clone / "patches/patches.lock"
    lines = [line for line in lock.read_text().splitlines(True) if not line.startswith("ray-head/v1 ")]
    lock.write_text("".join(lines))
    meta = clone / "patches/ray-head/v1/meta.yaml"
    meta.write_text(meta.read_text() + "# mine\n")
    package = Path(modelyard.__file__).parent / "patches/ray-head/v1"
    aside = package.rename(package.parent / "aside")
    assert run("patches", "--release").code == 0
    aside.rename(package)
    assert run("init", "--migrate", "--yes").code == 0
    assert meta.is_file()
    assert [path.name for path in sorted((clone / "patches").iterdir())] == ["patches.lock", "ray-head"]
    assert run("check", "--all").code == 0


def test_a_draft_stays(run: Run, clone: Path) -> None:
    lock = clone / "patches/patches.lock"
    lines = [line for line in lock.read_text().splitlines(True) if not line.startswith("ray-head/v1 ")]
    lock.write_text("".join(lines))
    before = plans(run)
    assert run("init", "--migrate", "--yes").code == 0
    assert (clone / "patches/ray-head/v1").is_dir()
    assert json.loads(json.dumps(plans(run)).replace("modelyard/patches/", "patches/")) == before


def test_components_that_another_program_imports_stay(run: Run, clone: Path) -> None:
    (clone / "network").mkdir()
    (clone / "network" / "__main__.py").write_text("from components.aws_base import AwsBase\n")
    done = run("init", "--migrate", "--yes")
    assert "keep     components  (network/__main__.py" in done.out
    assert (clone / "components/aws_base.py").is_file()
    assert (clone / "stacks/__main__.py").read_text() == template("program.txt")


def test_other_folders_of_the_repository_are_named(run: Run, clone: Path) -> None:
    (clone / "modelyard").mkdir()
    (clone / "modelyard/__init__.py").touch()
    words = run("init", "--migrate", "--yes").words
    assert "folders modelyard" in words
    assert "Makefile" in words


def test_a_custom_component_keeps_the_folder(run: Run, clone: Path) -> None:
    (clone / "components/mine.py").write_text("from components.platform import Platform\n")
    assert "components/mine.py" in run("init", "--migrate", "--yes").words
    assert (clone / "components/platform.py").is_file()


@pytest.mark.parametrize("spoil", ["lock", "patch", "checkout"])
def test_a_project_that_cannot_be_migrated_stays_as_it_is(
    run: Run, clone: Path, monkeypatch: pytest.MonkeyPatch, spoil: str
) -> None:
    match spoil:
        case "lock":
            (clone / "patches/patches.lock").unlink()
        case "patch":
            (clone / "patches/ray-head/v1/meta.yaml").write_text("unknown: key\n")
        case _:
            monkeypatch.setattr(modelyard, "__file__", str(clone / "modelyard" / "__init__.py"))
    before = tree(clone)
    assert run("init", "--migrate", "--yes").code in (1, 2)
    assert tree(clone) == before


def test_nothing_is_removed_through_a_link(run: Run, clone: Path) -> None:
    elsewhere = clone.parent / "elsewhere"
    (clone / "patches/ray-head").rename(elsewhere)
    (clone / "patches/ray-head").symlink_to(elsewhere)
    before = tree(elsewhere)
    assert run("init", "--migrate", "--yes").code != 0
    assert tree(elsewhere) == before


def test_the_digests_are_those_of_the_files_in_clones() -> None:
    lines = (line.split("  ") for line in template("copies.sha256").splitlines())
    listed = {name: digest for digest, name in lines}
    files = [*(ROOT / "components").glob("*.py"), ROOT / "components/py.typed", ROOT / "stacks/__main__.py"]
    found = {path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    assert listed == found | {"policies/__main__.py": hashlib.sha256(PACK.read_bytes()).hexdigest()}
