"""The commit that a preview compares with if the user names none, in real repositories."""

import subprocess
from functools import partial
from pathlib import Path

import pytest

from modelyard.preview.git import RevisionError
from modelyard.preview.revisions import between, commit_of, default_base
from tests.support.git_repository import Repository


def clone(repository: Repository, folder: Path, *words: str) -> Path:
    """A clone whose branch ``feature`` is checked out, with its own commit."""
    options = ["--quiet", "--branch", "feature", *words]
    subprocess.run(["git", "clone", *options, repository.folder.as_uri(), str(folder)], check=True, capture_output=True)
    return folder


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout.strip()


def test_a_clone_is_compared_with_the_default_branch_of_its_origin(repository: Repository, tmp_path: Path) -> None:
    repository.git("branch", "--move", "main", "trunk")
    repository.git("checkout", "--quiet", "trunk")
    found = clone(repository, tmp_path / "clone")
    assert default_base(found, {}) == "origin/trunk" == git(found, "rev-parse", "--abbrev-ref", "origin/HEAD")


@pytest.mark.parametrize("name", ["main", "master"])
def test_main_or_master_is_the_base_if_origin_has_no_default_branch(
    repository: Repository, tmp_path: Path, name: str
) -> None:
    repository.git("branch", "--move", "main", name)
    assert default_base(repository.folder, {}) == name
    found = clone(repository, tmp_path / "clone")
    git(found, "remote", "set-head", "origin", "--delete")
    assert default_base(found, {}) == f"origin/{name}"


@pytest.mark.parametrize(
    "variable", ["GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "BITBUCKET_PR_DESTINATION_BRANCH"]
)
def test_the_target_branch_of_a_pull_request_is_the_base_in_ci(
    repository: Repository, tmp_path: Path, variable: str
) -> None:
    repository.git("branch", "release/1", "main")
    found = clone(repository, tmp_path / "clone")
    assert (
        default_base(found, {variable: "release/1", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "0" * 40}) == "origin/release/1"
    )
    # Outside a pull request, CI systems set it to nothing.
    assert default_base(found, {variable: ""}) == default_base(found, {})


def test_the_base_commit_is_used_in_gitlab_if_the_branch_was_not_fetched(
    repository: Repository, tmp_path: Path
) -> None:
    found = clone(repository, tmp_path / "clone")
    commit = commit_of(found, "origin/main")
    variables = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "gone", "CI_MERGE_REQUEST_DIFF_BASE_SHA": commit}
    assert default_base(found, variables) == commit


def test_a_missing_target_branch_is_an_error(repository: Repository, tmp_path: Path) -> None:
    found = clone(repository, tmp_path / "clone")
    with pytest.raises(RevisionError) as error:
        default_base(found, {"GITHUB_BASE_REF": "release/1"})
    assert "origin/release/1" in error.value.summary
    assert "git fetch origin release/1" in error.value.remedy
    assert "fetch-depth: 0" in error.value.remedy


def test_a_misspelt_branch_gets_a_suggestion(repository: Repository, tmp_path: Path) -> None:
    found = clone(repository, tmp_path / "clone")
    with pytest.raises(RevisionError) as error:
        commit_of(found, "mian")
    assert "origin/main?" in error.value.remedy


def test_a_repository_without_a_commit_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RevisionError, match="no git repository"):
        default_base(tmp_path, {})
    git(tmp_path, "init", "--quiet")
    for ask in (partial(default_base, tmp_path, {}), partial(commit_of, tmp_path, "HEAD")):
        with pytest.raises(RevisionError, match="no commit") as error:
            ask()
        assert error.value.remedy.startswith("commit ")


def test_a_clone_of_one_branch_needs_a_base(repository: Repository, tmp_path: Path) -> None:
    repository.commit_empty()
    found = clone(repository, tmp_path / "clone", "--depth", "1")
    git(found, "remote", "set-head", "origin", "--delete")
    with pytest.raises(RevisionError) as error:
        default_base(found, {})
    assert all(name in error.value.summary for name in ("origin/HEAD", "origin/main", "origin/master", " master"))
    assert "--base" in error.value.remedy


def test_a_shallow_clone_is_an_error_whose_remedy_fetches_the_history(repository: Repository, tmp_path: Path) -> None:
    for branch in ("feature", "main"):
        repository.git("checkout", "--quiet", branch)
        repository.add(f"{branch}.txt", branch)
        repository.commit()
    found = clone(repository, tmp_path / "clone", "--depth", "1", "--no-single-branch")
    with pytest.raises(RevisionError) as error:
        between(found, default_base(found, {}), "HEAD", lambda _path: True)
    assert "shallow" in error.value.summary
    assert error.value.remedy.startswith("git fetch --unshallow")
    git(found, "fetch", "--quiet", "--unshallow")
    assert between(found, default_base(found, {}), "HEAD", lambda _path: True).paths == {"feature.txt"}
