"""A machine for CI jobs: the real command line, a repository of the project, and stand-ins for what is far away."""

import hashlib
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from shutil import copytree, ignore_patterns

ROOT = Path(__file__).resolve().parents[3]
_MODELYARD = f"""#!/bin/sh
export PYTHONPATH='{ROOT}'
# The installed command does not look for modules in the folder that it is run in.
exec '{sys.executable}' -P -c 'import sys; from modelyard.cli import main; sys.exit(main())' "$@"
"""
# `make setup` would make a whole environment anew; this one has everything that the present one has.
_MAKE = f"""#!/bin/sh
if [ "$1" = -C ]; then cd "$2" && shift 2; fi
[ "$*" = "setup LOCK=runtime" ] || {{ echo "make $*: not expected here" >&2; exit 2; }}
mkdir -p .venv/bin
cp '{sys.prefix}/pyvenv.cfg' .venv/
ln -sfn '{sys.prefix}/lib' .venv/lib
ln -sf '{sys.prefix}/bin/python' .venv/bin/python
cp "$(dirname "$0")/../modelyard" .venv/bin/modelyard
"""
_GH = f"""#!/bin/sh
exec '{sys.executable}' '{ROOT}/tests/ci/support/fake_gh.py' "$@"
"""
_CURL = f"""#!/bin/sh
export FAKE_ARCHIVE="$(dirname "$0")/../pulumi.tar.gz"
exec '{sys.executable}' '{ROOT}/tests/ci/support/fake_curl.py' "$@"
"""


def machine(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a job on a machine whose programs lie in ``home``: PATH has ours before the system's."""
    programs = home / "machine" / "bin"
    programs.mkdir(parents=True)
    for name, text in (("make", _MAKE), ("gh", _GH), ("curl", _CURL), ("../modelyard", _MODELYARD)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    archive = programs.parent / "pulumi.tar.gz"
    # The engine itself is on PATH already, where a test needs it.
    (programs.parent / "pulumi").mkdir()
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(programs.parent / "pulumi", "pulumi")
    return {
        "PATH": os.pathsep.join((str(programs), os.environ.get("PATH", os.defpath))),
        "KUBECONFIG": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "FAKE_SERVER": str(home / "server.json"),
        "PULUMI_SHA256": hashlib.sha256(archive.read_bytes()).hexdigest(),
        **(extra or {}),
    }


class GitFolder:
    """A folder with a git repository that has a branch main, and whatever a test commits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self) -> None:
        """Makes the repository, and commits what is in the folder."""
        self.git("init", "--quiet", "--initial-branch=main")
        # A runner fetches the commit that an event is about, whatever branch it is on.
        self.git("config", "uploadpack.allowAnySHA1InWant", "true")
        self.commit("Begin")

    def git(self, *words: str) -> str:
        """Runs git in the repository."""
        identity = ("-c", "user.name=ci", "-c", "user.email=ci@example.com", "-c", "core.autocrlf=false")
        done = subprocess.run(
            ["git", *identity, "-C", str(self.folder), *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, message: str) -> str:
        """Commits everything; the commit's name."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    def edit(self, stack: str, old: str, new: str) -> None:
        """Changes a stack file."""
        path = self.folder / "stacks" / f"Pulumi.{stack}.yaml"
        text = path.read_text()
        assert old in text, (old, text)
        path.write_text(text.replace(old, new))

    def pull_request(self, stack: str, old: str, new: str) -> str:
        """A branch with one change, merged with main as GitHub tests it: the name of the merge."""
        self.git("checkout", "--quiet", "-b", "change")
        self.edit(stack, old, new)
        self.commit("Change")
        self.git("checkout", "--quiet", "--detach", "main")
        self.git("merge", "--quiet", "--no-ff", "--message", "Merge", "change")
        merged = self.git("rev-parse", "HEAD")
        self.git("checkout", "--quiet", "main")
        return merged


class Repository(GitFolder):
    """A git repository of the project."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        folder.mkdir(parents=True)
        for name in ("stacks", "patches", "components", "policies"):
            copytree(ROOT / name, folder / name, ignore=ignore_patterns("__pycache__"))
        for name in ("Pulumi.yaml", ".gitignore"):
            (folder / name).write_bytes((ROOT / name).read_bytes())
        self.begin()


RULE = '''
from modelyard.policy import rule


@rule("POL901", kinds=["Deployment"], level="mandatory")
def never(subject, params):
    """No Deployment is right.

    **Why.** A.

    **Example.** B.

    **Fix.** C.
    """
    yield subject.finding("not right", remedy="none")
'''
