"""Reading commits: nothing of the user's is written, nothing that a repository names is run."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from modelyard.preview import git as reading
from modelyard.preview.git import RevisionError, tree
from modelyard.preview.revisions import between, laid_out
from tests.support.git_repository import Repository

pytestmark = pytest.mark.slow

CHANGE = ("stacks/Pulumi.dev.yaml", "memory: 32Gi", "memory: 40Gi")


def state(*folders: Path) -> Mapping[str, Any]:
    """Everything below folders, git's own files included."""
    return {
        str(path): (path.lstat().st_mode, hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b"")
        for folder in folders
        for path in folder.rglob("*")
    }


def changed(repository: Repository, **words: Any) -> list[str]:
    """Stacks that a preview finds changed; it must leave everything as it is."""
    before = state(repository.folder.parent)
    found = repository.preview(**words)
    assert state(repository.folder.parent) == before
    return [stack.stack for stack in found.stacks]


def alone(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


def moved_to(repository: Repository, folder: Path) -> Repository:
    """The same project, looked at in another folder."""
    repository.root = repository.folder = folder
    return repository


def linked_to_bare(repository: Repository, tmp: Path) -> Repository:
    alone(tmp, "clone", "--quiet", "--bare", str(repository.folder), "bare.git")
    alone(tmp / "bare.git", "worktree", "add", "--quiet", str(tmp / "linked"), "feature")
    return moved_to(repository, tmp / "linked")


def shallow(repository: Repository, tmp: Path) -> Repository:
    repository.commit_empty()
    alone(tmp, "clone", "--quiet", "--depth", "1", "--no-single-branch", repository.folder.as_uri(), "shallow")
    alone(tmp / "shallow", "branch", "--force", "main", "origin/feature")
    return moved_to(repository, tmp / "shallow")


def detached(repository: Repository, tmp: Path) -> Repository:
    repository.git("checkout", "--quiet", "--detach")
    return repository


def in_a_submodule(repository: Repository, tmp: Path) -> Repository:
    outer = tmp / "outer"
    outer.mkdir()
    alone(outer, "init", "--quiet")
    alone(outer, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(repository.folder), "ml")
    alone(outer / "ml", "branch", "main", "origin/main")
    return moved_to(repository, outer / "ml")


def beside_a_submodule(repository: Repository, tmp: Path) -> Repository:
    alone(tmp, "init", "--quiet", "library")
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    alone(tmp / "library", *identity, "commit", "--quiet", "--allow-empty", "--message", "one")
    repository.git("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(tmp / "library"), "library")
    repository.on_main()
    (repository.folder / "library/new").write_text("new")
    return repository


def sparse(repository: Repository, tmp: Path) -> Repository:
    repository.git("status")  # a copied index knows other times
    repository.git("sparse-checkout", "set", "--no-cone", "/*", "!/stacks/Pulumi.prod.yaml")
    assert not (repository.root / "stacks/Pulumi.prod.yaml").exists()
    return repository


def staged(repository: Repository, tmp: Path) -> Repository:
    repository.edit("stacks/Pulumi.dev.yaml", "memory: 32Gi", "memory: 36Gi")
    repository.git("add", "--all")
    repository.edit("stacks/Pulumi.dev.yaml", "memory: 36Gi", "memory: 32Gi")
    (repository.root / "later.txt").write_text("later")
    repository.git("add", "--intent-to-add", "later.txt")
    return repository


def of_another_hash(repository: Repository, tmp: Path) -> Repository:
    copytree(repository.folder, tmp / "sha256", ignore=lambda _folder, names: {".git"} & set(names))
    moved_to(repository, tmp / "sha256")
    repository.git("init", "--quiet", "--object-format=sha256", "--initial-branch", "main")
    repository.git("config", "user.email", "dev@example.com")
    repository.git("config", "user.name", "dev")
    repository.commit()
    return repository


def with_sparse_index(repository: Repository, tmp: Path) -> Repository:
    """Folders that are left out are one entry each."""
    repository.add("extra/deep/file.txt", "extra")
    repository.on_main()
    repository.git("status")
    repository.git("sparse-checkout", "set", "--cone", "--sparse-index", "stacks", "patches")
    assert "extra/" in repository.git("ls-files", "--sparse").splitlines()
    return repository


def with_split_index(repository: Repository, tmp: Path) -> Repository:
    repository.git("update-index", "--split-index", "--untracked-cache")
    return repository


def borrowing(repository: Repository, tmp: Path) -> Repository:
    """Its objects are those of another repository."""
    alone(tmp, "clone", "--quiet", "--shared", str(repository.folder), "shared")
    alone(tmp / "shared", "branch", "main", "origin/main")
    return moved_to(repository, tmp / "shared")


def in_conflict(repository: Repository, tmp: Path) -> Repository:
    for branch in ("other", "feature"):
        repository.git("checkout", "--quiet", "-B", branch, "main")
        (repository.root / "both.txt").write_text(branch)
        repository.commit()
    with pytest.raises(subprocess.CalledProcessError):
        repository.git("merge", "other")
    return repository


def with_its_git_elsewhere(repository: Repository, tmp: Path) -> Repository:
    repository.git("init", "--quiet", "--separate-git-dir", str(tmp / "elsewhere"))
    return repository


def with_replaced_objects(repository: Repository, tmp: Path) -> Repository:
    """The head without parents, and a file with another text."""
    repository.commit_empty()
    repository.git("replace", "--graft", "HEAD")
    text = repository.git("show", "main:stacks/Pulumi.prod.yaml")
    (tmp / "other.yaml").write_text(text.replace("ray", "celery") + "# other")
    other = repository.git("hash-object", "-w", str(tmp / "other.yaml")).strip()
    repository.git("replace", "main:stacks/Pulumi.prod.yaml", other)
    return repository


def with_grafts(repository: Repository, tmp: Path) -> Repository:
    """The head without parents, in the older way."""
    repository.commit_empty()
    (repository.folder / ".git/info").mkdir(exist_ok=True)
    (repository.folder / ".git/info/grafts").write_text(repository.git("rev-parse", "HEAD"))
    return repository


def while_somebody_writes_the_index(repository: Repository, tmp: Path) -> Repository:
    (repository.folder / ".git/index.lock").touch()
    return repository


LAYOUTS = (
    linked_to_bare, shallow, detached, in_a_submodule, beside_a_submodule, sparse, with_sparse_index, with_split_index,
    staged, of_another_hash, borrowing, in_conflict, with_its_git_elsewhere, with_replaced_objects,
    with_grafts, while_somebody_writes_the_index,
)  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_a_preview_leaves_every_kind_of_repository_as_it_is(tmp_path: Path, begun: Path, layout: Any) -> None:
    repository = layout(Repository(tmp_path / "repository", begun=begun), tmp_path)
    assert changed(repository) == []
    repository.edit(*CHANGE)
    assert changed(repository) == ["dev"]


@pytest.mark.parametrize("where", ["stacks", "patches", "beside"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_a_preview_leaves_a_repository_with_staged_changes_as_it_is(
    tmp_path: Path, begun: Path, layout: Any, where: str
) -> None:
    repository = layout(Repository(tmp_path / "repository", begun=begun), tmp_path)
    if where == "stacks":
        repository.edit(*CHANGE)
    else:
        repository.add("stacks/deep/new.txt" if where == "beside" else "patches/mine.txt", "new")
    if layout is while_somebody_writes_the_index:
        (repository.folder / ".git/index.lock").unlink()
    repository.git("add", "--all")
    assert changed(repository) == (["dev"] if where == "stacks" else [])


def test_a_project_in_a_folder_sees_only_itself(nested: Repository) -> None:
    (nested.folder / "stacks").mkdir()
    (nested.folder / "stacks/Pulumi.prod.yaml").write_text("config: {}\n")
    nested.edit(*CHANGE)
    assert changed(nested) == ["dev"]
    nested.commit()
    assert changed(nested, head="feature") == ["dev"]


HOSTILE = {
    "GIT_DIR": "{other}/.git",
    "GIT_WORK_TREE": "{other}",
    "GIT_INDEX_FILE": "{other}/.git/index",
    "GIT_PREFIX": "stacks/",
    "GIT_COMMON_DIR": "{other}/.git",
    "GIT_NAMESPACE": "other",
    "GIT_LITERAL_PATHSPECS": "0",
    "GIT_GLOB_PATHSPECS": "1",
    "GIT_ICASE_PATHSPECS": "1",
    "GIT_CEILING_DIRECTORIES": "{own}",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "{script}",
    "GIT_CONFIG_PARAMETERS": "'core.worktree={other}'",
    "GIT_EXTERNAL_DIFF": "{script}",
    "GIT_TRACE": "{mark}",
    "GIT_TRACE2_EVENT": "{mark}",
    "GIT_ATTR_SOURCE": "HEAD",
    "GIT_REPLACE_REF_BASE": "refs/other",
    "GIT_SHALLOW_FILE": "{other}/shallow",
    "GIT_GRAFT_FILE": "{other}/grafts",
    "GIT_OBJECT_DIRECTORY": "{other}/.git/objects",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "{other}/nowhere",
    "GIT_QUARANTINE_PATH": "{other}/nowhere",
    "GIT_EXEC_PATH": "{other}",
    "GIT_SSH_COMMAND": "{script}",
    "GIT_PAGER": "{script}",
}


@pytest.fixture
def places(tmp_path: Path, begun: Path) -> dict[str, str]:
    """A repository with a program that leaves a mark, and another repository."""
    other = Repository(tmp_path / "other", begun=begun)
    script, mark = tmp_path / "script", tmp_path / "mark"
    script.write_text(f"#!/bin/sh\necho run >> '{mark}'\ncat\n")
    script.chmod(0o755)
    return {"other": str(other.folder), "script": str(script), "mark": str(mark), "own": str(tmp_path / "repository")}


@pytest.mark.parametrize("names", [(name,) for name in HOSTILE] + [tuple(HOSTILE)], ids=lambda names: names[-1])
def test_variables_of_git_do_not_change_what_is_read(
    repository: Repository, places: dict[str, str], names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = between(repository.root, "main", None, lambda _path: True)
    before = state(repository.folder, Path(places["other"]))
    with monkeypatch.context() as patch:
        for name in names:
            patch.setenv(name, HOSTILE[name].format_map(places))
        assert between(repository.root, "main", None, lambda _path: True) == expected
        with laid_out(repository.root, expected.base.commit, "", lambda path: path == "Pulumi.yaml") as place:
            assert [path.name for path in place.rglob("*")] == ["Pulumi.yaml"]
    assert state(repository.folder, Path(places["other"])) == before
    assert not Path(places["mark"]).exists()


@pytest.mark.parametrize("name", ["plain", 'with: colon and "quote"'])
def test_objects_in_quarantine_can_be_read(
    repository: Repository, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a hook of a push finds them: beside those of the repository, in a folder that is told relative to its own."""
    apart = Repository(tmp_path / name, begun=repository.folder)
    apart.edit(*CHANGE)
    apart.commit()
    commit = apart.git("rev-parse", "HEAD").strip()
    with pytest.raises(RevisionError, match="no commit"):
        between(repository.root, "main", commit, lambda _path: True)
    monkeypatch.chdir(apart.folder / ".git")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", "objects")
    assert between(repository.root, "main", commit, lambda _path: True).paths == {CHANGE[0]}


def test_programs_that_a_repository_names_are_not_run(repository: Repository, places: dict[str, str]) -> None:
    script = places["script"]
    for key in ("clean", "smudge", "process"):
        repository.git("config", f"filter.marking.{key}", script)
    for key in ("textconv", "command"):
        repository.git("config", f"diff.marking.{key}", script)
    repository.add(".gitattributes", "*.yaml filter=marking diff=marking\n")
    repository.git("config", "core.fsmonitor", script)
    repository.git("config", "diff.external", script)
    hooks = repository.folder / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        (hooks / name).symlink_to(script)
    repository.git("config", "core.hooksPath", str(hooks))
    Path(places["mark"]).unlink(missing_ok=True)
    repository.edit(*CHANGE)
    assert changed(repository) == ["dev"]
    assert changed(repository, head="feature") == []
    assert not Path(places["mark"]).exists()


def test_ends_of_lines_of_another_system_are_no_change(repository: Repository) -> None:
    path = repository.root / "stacks/Pulumi.dev.yaml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert changed(repository) == []


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        ("Pulumi.dev.yaml", True),
        ("../patches", True),
        ("nowhere", True),
        ("/etc/passwd", False),
        ("../../../../../../../../etc/passwd", False),
        ("deep/down/up/..", False),
        ("loop", True),
    ],
)
def test_links_of_a_commit_never_lead_outside(repository: Repository, target: str, kept: bool) -> None:
    """Each by itself and through other links: ``deep/down/up`` leads to the top, so ``..`` behind it leads out."""
    (repository.root / "stacks/deep/down").mkdir(parents=True)
    (repository.root / "stacks/deep/down/up").symlink_to("../../..")
    (repository.root / "stacks/loop").symlink_to("loop")
    (repository.root / "stacks/link").symlink_to(target)
    repository.commit()
    commit = repository.git("rev-parse", "HEAD").strip()
    with laid_out(repository.root, commit, "", lambda _path: True) as place:
        assert (os.readlink(place / "stacks/link") == target) == kept  # noqa: PTH115 (a Path would tidy it)
        for path in place.rglob("*"):
            if target != "loop" and path.name != "loop":
                assert path.resolve().is_relative_to(place) or not path.exists()


def tree_of(repository: Repository, *lines: str) -> str:
    """A commit whose tree is written as it stands, which no checkout would make."""
    blob = repository.git("hash-object", "-w", "Pulumi.yaml").strip()
    content = b"".join(f"{line}\0".encode() + bytes.fromhex(blob) for line in lines)
    made = subprocess.run(
        ["git", "-C", str(repository.folder), "hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
        input=content,
        capture_output=True,
        check=True,
    )
    return repository.git("commit-tree", "-m", "hostile", made.stdout.decode().strip()).strip()


@pytest.mark.parametrize("lines", [("100644 ..",), ("100644 ../out",), ("100644 .git",), ("100644 a", "120000 a")])
def test_a_commit_that_no_checkout_could_have_is_refused(repository: Repository, lines: tuple[str, ...]) -> None:
    commit = tree_of(repository, *lines)
    with pytest.raises(RevisionError, match="git cannot check out"):
        tree(repository.root, commit, "")


def test_a_repository_inside_the_project_is_not_taken_for_its_own(repository: Repository, tmp_path: Path) -> None:
    bare = repository.root / "nested"
    subprocess.run(["git", "init", "--quiet", "--bare", str(bare)], check=True)
    with pytest.raises(RevisionError):
        between(bare, "main", None, lambda _path: True)


@pytest.mark.parametrize("order", [1, -1])
def test_the_remedy_of_a_missing_object_does_not_depend_on_the_order_of_messages(tmp_path: Path, order: int) -> None:
    said = ["fatal: transport 'ext' not allowed", "fatal: could not fetch 3f5 from promisor remote"]
    error = reading._failed(tmp_path, "\n".join(said[::order]), "")
    assert "3f5" in error.summary
    assert "--refetch" in error.remedy
    # Git may die before it says anything: the program that it writes to has ended.
    assert "--refetch" in reading._failed(tmp_path, said[0], "").remedy


@pytest.mark.parametrize("without", ["blob:none", "tree:0"])
@pytest.mark.parametrize("old", [False, True], ids=["", "by a git that does not know GIT_NO_LAZY_FETCH"])
def test_objects_of_a_partial_clone_are_not_fetched(
    repository: Repository,
    places: dict[str, str],
    tmp_path: Path,
    without: str,
    old: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repository.git("config", "uploadpack.allowFilter", "true")
    uri = repository.folder.as_uri()
    alone(tmp_path, "clone", "--quiet", f"--filter={without}", "--no-checkout", uri, "partial")
    partial = tmp_path / "partial"
    # Whoever made the repository may have let it run a program in place of a fetch.
    alone(partial, "config", "protocol.ext.allow", "always")
    alone(partial, "config", "remote.origin.url", f"ext::{places['script']}")
    before = state(partial)
    commit = repository.git("rev-parse", "main").strip()
    if old:
        monkeypatch.delitem(reading._SET, "GIT_NO_LAZY_FETCH")
    with pytest.raises(RevisionError) as error, laid_out(partial, commit, "", lambda _path: True):
        pass
    assert "--refetch" in error.value.remedy
    assert state(partial) == before
    assert not Path(places["mark"]).exists()


def another_owner(repository: Repository) -> None:
    os.chown(repository.folder, 65534, 65534)


def none(repository: Repository) -> None:
    (repository.folder / ".git").rename(repository.folder / "git")


def no_head(repository: Repository) -> None:
    (repository.folder / ".git/HEAD").unlink()


def damaged_index(repository: Repository) -> None:
    (repository.folder / ".git/index").write_bytes(b"DIRC")


def damaged_configuration(repository: Repository) -> None:
    with (repository.folder / ".git/config").open("a") as stream:
        stream.write("[core")


@pytest.mark.parametrize(
    ("damage", "said", "remedy"),
    [
        (none, "the project is in no git repository", "run inside a git repository that has both commits"),
        (no_head, r"/\.git cannot be read as a git repository", "make it readable; git status says more"),
        (damaged_index, "git cannot read the repository: .*index", "git status and git fsck say more"),
        (damaged_configuration, "git cannot read the repository: bad config", "git status and git fsck say more"),
        pytest.param(
            another_owner,
            "belongs to another user",
            "git config --global --add safe.directory /",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away"),
        ),
    ],
)
def test_an_unreadable_repository_is_an_error_with_a_remedy(
    tmp_path: Path, begun: Path, damage: Any, said: str, remedy: str
) -> None:
    repository = Repository(tmp_path / "repository", begun=begun)
    damage(repository)
    with pytest.raises(RevisionError, match=said) as error:
        repository.preview()
    assert remedy in error.value.remedy


def test_a_submodule_in_place_of_patches_is_reported(repository: Repository, tmp_path: Path) -> None:
    head = repository.git("rev-parse", "HEAD").strip()
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{head},patches/library")
    repository.git("commit", "--quiet", "--message", "submodule")
    with pytest.raises(RevisionError, match="patches/library is a submodule"):
        repository.preview(head="feature")


@pytest.mark.parametrize("instead", ["file", "loop"])
def test_unlistable_stack_files_are_not_deleted(repository: Repository, instead: str) -> None:
    stacks = repository.root / "stacks"
    stacks.rename(repository.root / "away")
    if instead == "file":
        stacks.write_text("")
    else:
        stacks.symlink_to("stacks")
    with pytest.raises(RevisionError, match="cannot be listed"):
        repository.preview()


@pytest.mark.skipif(sys.platform == "win32", reason="no FIFOs")
def test_a_special_file_is_not_read(repository: Repository) -> None:
    os.mkfifo(repository.root / "stacks/pipe.yaml")
    (repository.root / "stacks/folder.yaml").mkdir()
    (repository.root / "stacks/endless.yaml").symlink_to("/dev/zero")
    found = between(repository.root, "main", None, lambda _path: True)
    assert found.paths == {"stacks/endless.yaml"}
