"""The commit that a branch is compared with if the user names none."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from modelyard.preview.git import FULL_CLONE, RevisionError, git, tried
from modelyard.stack.words import listed

_BRANCH_VARIABLES = ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "BITBUCKET_PR_DESTINATION_BRANCH")
"""Where GitHub Actions, GitLab and Bitbucket name the branch that a pull request goes to."""
_COMMIT_VARIABLE = "CI_MERGE_REQUEST_DIFF_BASE_SHA"
"""GitLab's commit where a merge request left its branch. A pipeline of merged results also has what the branch got
since, so the branch itself comes first.
"""
_DEFAULTS = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


def default_base(root: Path, environment: Mapping[str, str]) -> str:
    """The branch or commit to compare with: in CI the pull request's target branch, else the default branch.

    Args:
        root: the project, in its repository.
        environment: environment variables, some of which CI systems set.

    Raises:
        RevisionError: there is no repository, no commit, or no such branch in this clone.
    """
    asked = tuple(_of_pull_request(environment))
    for name in asked or _DEFAULTS:
        if tried(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}") is not None:
            return _branch(root) if name == "origin/HEAD" else name
    git(root, "rev-parse", "--git-dir")  # outside a repository, this is the error
    if tried(root, "rev-parse", "--verify", "HEAD") is None:
        raise RevisionError("this repository has no commit", "commit the project, then change it on a branch")
    branch = asked[0].removeprefix("origin/") if asked else "main"
    raise RevisionError(
        f"this clone has no {listed(asked or _DEFAULTS)} to compare with",
        f"fetch the branch (git fetch origin {branch}; {FULL_CLONE}), or name a commit with --base",
    )


def _of_pull_request(environment: Mapping[str, str]) -> Iterator[str]:
    for variable in _BRANCH_VARIABLES:
        if branch := environment.get(variable):
            yield f"origin/{branch}"
    if commit := environment.get(_COMMIT_VARIABLE):
        yield commit


def _branch(root: Path) -> str:
    """The branch that ``origin/HEAD`` stands for, such as ``origin/main``."""
    return git(root, "rev-parse", "--abbrev-ref", "origin/HEAD").strip()
