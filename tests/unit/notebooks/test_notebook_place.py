"""Where a notebook may be, and where its result will."""

import re
from pathlib import Path

import pytest

from modelyard.runs.notebooks import NotebookPaths, job_name, locate


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "train.ipynb").touch()
    (tmp_path / "outside.ipynb").touch()
    return folder


def test_the_result_is_a_new_file_beside_the_notebook(workspace: Path) -> None:
    found = locate(workspace / "deep" / "train.ipynb", workspace, "/home/jovyan/work", "train-x2", "train.ipynb")
    assert found == NotebookPaths(
        "/home/jovyan/work/deep/train.ipynb",
        "/home/jovyan/work/deep/train.train-x2.ipynb",
        workspace / "deep" / "train.train-x2.ipynb",
    )


def test_a_path_with_dots_inside_the_workspace_is_accepted(workspace: Path) -> None:
    found = locate(workspace / "deep" / ".." / "deep" / "train.ipynb", workspace, "/w", "j", "train.ipynb")
    assert isinstance(found, NotebookPaths)
    assert found.notebook == "/w/deep/train.ipynb"


@pytest.mark.parametrize("name", ["../outside.ipynb", "link.ipynb", "way/outside.ipynb"])
def test_a_notebook_outside_the_workspace_is_refused(workspace: Path, name: str) -> None:
    (workspace / "link.ipynb").symlink_to(workspace.parent / "outside.ipynb")
    (workspace / "way").symlink_to(workspace.parent)
    (problem,) = locate(workspace / name, workspace, "/w", "j", name)
    assert f"{name} is outside" in problem.summary  # type: ignore[union-attr]


def test_a_folder_whose_name_begins_like_the_workspace_is_outside(workspace: Path) -> None:
    other = workspace.with_name("work-of-others")
    other.mkdir()
    (problem,) = locate(other / "train.ipynb", workspace, "/w", "j", "train.ipynb")
    assert "outside" in problem.summary  # type: ignore[union-attr]


def test_a_workspace_may_be_a_link(workspace: Path) -> None:
    link = workspace.parent / "home"
    link.symlink_to(workspace)
    assert isinstance(locate(link / "deep" / "train.ipynb", link, "/w", "j", "x"), NotebookPaths)


def test_an_existing_result_is_not_overwritten(workspace: Path) -> None:
    (workspace / "deep" / "train.j.ipynb").touch()
    (problem,) = locate(workspace / "deep" / "train.ipynb", workspace, "/w", "j", "x")
    assert "exists already" in problem.summary  # type: ignore[union-attr]
    (workspace / "deep" / "train.k.ipynb").symlink_to("nowhere")
    (problem,) = locate(workspace / "deep" / "train.ipynb", workspace, "/w", "k", "x")
    assert "exists already" in problem.summary  # type: ignore[union-attr]


def test_other_wrong_paths_are_refused(workspace: Path) -> None:
    (problem,) = locate(workspace / "deep" / "train.ipynb", workspace / "none", "/w", "j", "x")
    assert "--workspace" in problem.remedy  # type: ignore[union-attr]
    (problem,) = locate(workspace / ("a" * 250 + ".ipynb"), workspace, "/w", "job", "x")
    assert "too long" in problem.summary  # type: ignore[union-attr]
    (problem,) = locate(workspace / "a\nb.ipynb", workspace, "/w", "job", "x")
    assert "control characters" in problem.summary  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("Train Model (2).ipynb", "train-model-2-"),
        ("訓練.ipynb", "notebook-"),
        ("-.ipynb", "notebook-"),
        ("a" * 200, "a"),
    ],
)
def test_job_names_are_valid_in_kubernetes(name: str, begins: str) -> None:
    made = {job_name(Path(name)) for _ in range(20)}
    assert len(made) > 10
    for one in made:
        assert one.startswith(begins)
        assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?", one)
