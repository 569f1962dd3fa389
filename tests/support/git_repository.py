"""The project's own stacks and patches in a git repository of their own."""

import subprocess
from datetime import date
from os import link
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from modelyard.plan.project import library_of
from modelyard.policy.loading import policies_of
from modelyard.preview import Preview
from modelyard.preview.project import preview
from modelyard.preview.values import Policing
from tests.support.project_copies import copied


def borrowing(folder: Path) -> Path:
    """A template of git, whose repositories borrow the project's files: to store them takes five times as long."""
    lender = Repository(folder / "lender")
    lender.git("gc", "--quiet")
    info = folder / "template/objects/info"
    info.mkdir(parents=True)
    (info / "alternates").write_text(f"{lender.folder / '.git/objects'}\n")
    return folder / "template"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return borrowing(tmp_path_factory.mktemp("git"))


@pytest.fixture(autouse=True)
def lender(template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New repositories borrow the project's files."""
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(template))


class Repository:
    """A project under git: on main, with a branch for what is to come. One that has begun elsewhere may be copied."""

    def __init__(self, folder: Path, project: str = "", begun: Path | None = None) -> None:
        self.folder = folder
        self.root = folder / project
        if begun is not None:
            copytree(begun, folder, symlinks=True, ignore=ignore_patterns("objects"))
            copytree(begun / ".git/objects", folder / ".git/objects", copy_function=link)
            return
        self.root.mkdir(parents=True, exist_ok=True)
        copied(self.root)
        self.git("init", "--quiet", "--initial-branch", "main")
        self.git("config", "user.email", "dev@example.com")
        self.git("config", "user.name", "dev")
        self.commit()
        self.git("checkout", "--quiet", "-b", "feature")

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", "-C", str(self.folder), *words], check=True, capture_output=True, text=True)
        return done.stdout

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "change")

    def commit_empty(self) -> None:
        self.git("commit", "--quiet", "--allow-empty", "--message", "nothing")

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.root / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    def add(self, file: str, text: str) -> None:
        """A new file, or more text at the end of one."""
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as stream:
            stream.write(text)

    def on_main(self) -> None:
        """What was changed so far is the base's."""
        self.commit()
        self.git("branch", "--force", "main")

    def next_patch(self, name: str, file: str, old: str, new: str) -> None:
        """A new version of a patch, from its first one: v3, or a later one if there are built-in ones."""
        folder = self.root / "patches" / name
        version = next(f"v{number}" for number in range(3, 9) if not (folder / f"v{number}").exists())
        copytree(folder / "v1", folder / version)
        self.edit(f"patches/{name}/{version}/{file}", old, new)

    def preview(
        self, head: str | None = None, base: str = "main", policies: Policing = "base", *, live: bool = False
    ) -> Preview:
        library_of.cache_clear()
        policies_of.cache_clear()
        return preview(self.root, base, head, today=date(2026, 11, 21), policies=policies, live=live)
