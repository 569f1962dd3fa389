"""A preview inside hooks of git: the commit that is being made, the index, refs and files stay as they are."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SENT = "memory: 48Gi"
HOOK = """#!/bin/sh
# Hooks run many times, and again while one of them does.
name="${{HOOK_NAME:-${{0##*/}}}}"
[ -e {notes}/"$name" ] || exec {python} {program} "$name"
"""
PROGRAM = '''
"""Runs a preview as a user's hook would, the first time that this hook runs, and notes what it left behind."""
import hashlib, json, os, subprocess, sys
from pathlib import Path

sys.stdin.close()
note = Path({notes!r}) / sys.argv[1]
note.write_text("started")


def state():
    found = {{}}
    for top in map(Path, {folders!r}):
        for path in sorted(top.rglob("*")):
            facts = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            found[str(path)] = [facts.st_mode, content]
    clean = {{k: v for k, v in os.environ.items() if not k.startswith("GIT_")}}
    lists = subprocess.run(["git", "worktree", "list"], cwd={project!r}, env=clean, capture_output=True, text=True)
    return found | {{"worktrees": lists.stdout}}


before = state()
done = subprocess.run({command!r}, cwd={project!r}, capture_output=True, text=True)
after = state()
moved = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
note.write_text(json.dumps({{"moved": moved, "code": done.returncode, "out": done.stdout, "err": done.stderr,
                            "env": sorted(key for key in os.environ if key.startswith("GIT_"))}}))
'''
PLAIN = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
COMMAND = [
    sys.executable,
    "-c",
    "import sys; from modelyard.cli import main; sys.exit(main())",
    *("preview", "--base", "origin/main", "--json"),
]


class Work:
    """A small project under git, with a hook of every kind once they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.notes = folder / "work", folder / "notes"
        self.notes.mkdir()
        self.remote = folder / "remote.git"
        (self.folder / "stacks").mkdir(parents=True)
        (self.folder / "patches").mkdir()
        shutil.copytree(ROOT / "stacks/recorded/dev", self.folder / "stacks/recorded/dev")
        for name in ("Pulumi.yaml", "stacks/Pulumi.dev.yaml", "patches/patches.lock"):
            shutil.copy(ROOT / name, self.folder / name)
        self.git("init", "--quiet", "--initial-branch", "main")
        for key, value in (("user.email", "dev@example.com"), ("user.name", "dev"), ("core.logAllRefUpdates", "true")):
            self.git("config", key, value)
        self.commit("one")
        subprocess.run(["git", "init", "--quiet", "--bare", str(self.remote)], check=True, env=PLAIN)
        self.git("remote", "add", "origin", str(self.remote))
        self.git("push", "--quiet", "origin", "main")
        self.git("checkout", "--quiet", "-b", "feature")

    def git(self, *words: str, **variables: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *words], env=PLAIN | variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def hook(self, name: str) -> Path:
        hook = self.folder / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        program = self.notes.parent / "hook.py"
        facts = {
            "notes": str(self.notes),
            "folders": [str(self.folder), str(self.remote)],
            "project": str(self.folder),
            "command": COMMAND,
        }
        program.write_text(PROGRAM.format(**facts))
        hook.write_text(HOOK.format(notes=self.notes, python=sys.executable, program=program))
        hook.chmod(0o755)
        return hook

    def noted(self) -> Mapping[str, Any]:
        return {note.name: json.loads(note.read_text()) for note in sorted(self.notes.iterdir())}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Work]:
    """A branch whose change is staged and not committed yet."""
    work = Work(tmp_path_factory.mktemp("hooks"))
    text = (work.folder / "stacks/Pulumi.dev.yaml").read_text()
    assert "memory: 32Gi" in text
    work.write("stacks/Pulumi.dev.yaml", text.replace("memory: 32Gi", SENT, 1))
    work.write("new.txt", "new\n")
    work.git("add", "--all")
    yield work


HOOKS = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
    "post-checkout",
    "pre-merge-commit",
    "post-merge",
    "post-rewrite",
    "pre-rebase",
    "pre-push",
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-auto-gc",
    # Of the repository that a push goes to.
    "pre-receive",
    "update",
    "push-to-checkout",
    "post-receive",
    "post-update",
)
EMPTY = ("commit", "--quiet", "--allow-empty", "--message", "empty")


def test_a_preview_in_any_hook_changes_nothing_and_sees_the_same(begun: Work) -> None:
    outside = subprocess.run(COMMAND, cwd=begun.folder, env=PLAIN, capture_output=True, text=True, check=False)
    assert outside.returncode == 0, outside.stderr
    seen = json.loads(outside.stdout)["stacks"]
    assert [stack["stack"] for stack in seen] == ["dev"]
    for name in HOOKS:
        begun.hook(name)
    # With a path, git commits from an index of its own and tells the hooks so.
    begun.write("aside.txt", "aside\n")
    begun.git("add", "aside.txt")
    begun.git("commit", "--quiet", "--message", "two", "--", "stacks", "new.txt")
    assert SENT in begun.git("show", "HEAD:stacks/Pulumi.dev.yaml")
    assert begun.git("diff", "--name-only", "main", "HEAD").split() == ["new.txt", "stacks/Pulumi.dev.yaml"]
    assert begun.git("status", "--porcelain") == "A  aside.txt\n"
    begun.git("commit", "--quiet", "--amend", "--message", "aside too")
    assert "aside.txt" in begun.git("show", "--stat", "HEAD")
    begun.git("checkout", "--quiet", "-b", "other")
    begun.write("other.txt", "other\n")
    begun.commit("other")
    patch = begun.git("format-patch", "--stdout", "-1")
    begun.git("checkout", "--quiet", "feature")
    begun.git("merge", "--quiet", "--no-ff", "--message", "merged", "other")
    begun.git("checkout", "--quiet", "-b", "third", "feature~1")
    begun.write("../third.patch", patch)
    begun.git("am", "--quiet", "../third.patch")
    begun.write("fourth.txt", "fourth\n")
    begun.commit("fourth")
    step = begun.hook("step")
    begun.git("rebase", "--quiet", "--exec", f"HOOK_NAME=exec {step}", "feature")
    begun.git("push", "--quiet", "origin", "third")
    for name in "ab":
        begun.write(name, name)
        begun.commit(name)
        begun.git("repack", "-d", "--quiet")
    begun.git("-c", "gc.auto=1", "-c", "gc.autoPackLimit=1", "-c", "gc.autoDetach=false", "gc", "--auto", "--quiet")
    begun.git("config", "receive.denyCurrentBranch", "updateInstead")
    begun.git("clone", "--quiet", str(begun.folder), "../clone")
    begun.git("-C", "../clone", "-c", "user.name=a", "-c", "user.email=a@example.com", *EMPTY)
    begun.git("-C", "../clone", "push", "--quiet", "origin", "third")
    noted = begun.noted()
    assert set(noted) == {*HOOKS, "exec"}
    for name, note in noted.items():
        assert (name, note["moved"], note["code"]) == (name, [], 0), note["err"]
        assert (name, json.loads(note["out"])["stacks"]) == (name, seen)
    # Otherwise the hooks would prove nothing.
    assert any("GIT_INDEX_FILE" in note["env"] for note in noted.values())
