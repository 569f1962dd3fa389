"""No verb that writes into the project does so through a link: what it leads to stays as it is."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from modelyard.cluster.recorded import forget_recorded, write_recorded


def linked(path: Path, leads: Path) -> None:
    """Puts a link in the place of a file or folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(leads)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder outside of the project, with somebody's files."""
    folder = tmp_path / "outside"
    (folder / "dev").mkdir(parents=True)
    for name in ("file.yaml", "dev/cluster.json", "dev/configmap.a.b.json"):
        (folder / name).write_text("{}")
    return folder


WORDS = {
    "fmt": ("fmt",),
    "promote": ("promote", "staging", "dev", "--write"),
    "release": ("patches", "--release"),
    "lock": ("environment", "lock", "dev", "training"),
}


@pytest.mark.parametrize("leads", ["file.yaml", "nowhere"])
@pytest.mark.parametrize(
    ("verb", "file"),
    [
        ("fmt", "stacks/Pulumi.dev.yaml"),
        ("fmt", "stacks/.Pulumi.dev.yaml.fmt"),
        ("promote", "stacks/Pulumi.dev.yaml"),
        ("release", "patches/patches.lock"),
        ("lock", "environments/training.lock"),
        ("lock", "environments"),
    ],
)
def test_a_link_out_of_the_project_is_not_written_to(
    project: Any, run: Any, cli: Any, outside: Path, monkeypatch: Any, verb: str, file: str, leads: str
) -> None:
    monkeypatch.setattr("modelyard.environments.locking.resolved", lambda *_: "locked\n")
    project.add('modelyard:environments: [{name: training, python: "3.11", pip: [numpy]}]')
    if verb == "release":
        project.patch("fresh", "deployment/x:\n{}")
    linked(project.root / file, outside / leads)
    before = cli.tree(outside)
    run(*WORDS[verb])
    assert cli.tree(outside) == before


@pytest.mark.parametrize("link", ["stacks", "stacks/recorded", "stacks/recorded/dev"])
@pytest.mark.parametrize("act", ["write", "forget"])
def test_a_recording_is_neither_written_nor_removed_through_a_link(
    tmp_path: Path, cli: Any, outside: Path, link: str, act: str
) -> None:
    (outside / "recorded").symlink_to(outside)
    leads = {"stacks": outside, "stacks/recorded": outside, "stacks/recorded/dev": outside / "dev"}
    linked(tmp_path / "project" / link, leads[link])
    before = cli.tree(outside)
    with pytest.raises(OSError, match="symbolic link"):
        if act == "forget":
            forget_recorded(tmp_path / "project", "dev")
        else:
            write_recorded(
                tmp_path / "project", "dev", identity="", version="", schema_sha256="", nodes=(), pods=(), objects=()
            )
    assert cli.tree(outside) == before
