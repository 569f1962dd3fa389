"""A new project, made with the commands that the pages show."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lab import Lab
from tests.lab.support.environment import ROOT
from tests.lab.support.program_environments import bare_python, wheels
from tests.support.doc_scripts import script
from tests.support.wheels import only_from

PATIENCE = 240
"""Seconds that the commands of one block may take."""
_LAB = ("KUBECONFIG", "PULUMI_HOME", "PULUMI_SKIP_UPDATE_CHECK", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION")

_IDENTITY = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")


class Terminal:
    """A shell that keeps its folder and variables between scripts, in a folder next to a clone."""

    def __init__(self, home: Path, lab: Lab) -> None:
        """Opens the shell in a folder with the clone, ``modelyard``.

        Args:
            home: an empty folder, for the clone and the project.
            lab: the cluster, and the programs that a user has: kubectl, the Pulumi CLI and its plugin.
        """
        self._state = home / "state.sh"
        self._state.touch()
        self.folder = home / "work"
        self.folder.mkdir()
        (self.folder / "modelyard").symlink_to(ROOT)
        given = lab.variables()
        programs = (lab.tools.bin, bare_python(home / "bin", "python3").parent)
        self._env = {
            **{name: given[name] for name in _LAB},
            **only_from(wheels()),
            # Pods are simulated, so no training backend can report its jobs.
            "MODELYARD_NO_DRAIN": "true",
            "PATH": os.pathsep.join((*map(str, programs), os.defpath)),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            **{
                f"GIT_{who}_{what}": "user@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
            },
        }

    @property
    def project(self) -> Path:
        """The folder of the project."""
        return self.folder / "my-platform"

    def run(self, commands: str, code: int = 0, env: Mapping[str, str] | None = None) -> str:
        """Runs a script, which must end with the exit code ``code``; returns its output."""
        kept = f"export -p > '{self._state}'\nprintf \"cd '%s'\\n\" \"$PWD\" >> '{self._state}'"
        done = subprocess.run(
            ["sh", "-euc", f". '{self._state}'\n{commands}\n{kept}"],
            cwd=self.folder,
            env=self._env | dict(env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == code, f"{commands}\n{done.stdout}\nended with {done.returncode}"
        return done.stdout

    def follow(self, page: str, *, only: slice = slice(None)) -> list[str]:
        """Runs the ``start`` blocks of a page; returns the output of each script."""
        docs = script("commands")
        text = (ROOT / page).read_text(encoding="utf-8")
        outputs = []
        for block in [one for one in docs.blocks(text, page) if "start" in one.flags][only]:
            if "file" in block.options:
                docs.write(block, self.project)
            else:
                outputs.append(self.run(block.body, int(block.options.get("exit", 0))))
        return outputs
