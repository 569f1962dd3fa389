"""Runs jobs of the example for GitLab as its runner does, as far as they need it."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).resolve().parents[3] / "examples" / "ci" / "gitlab" / "gitlab-ci.yml"
PATIENCE = 600
"""Seconds that one job may take."""


def jobs() -> dict[str, dict[str, Any]]:
    """The jobs by name, with what they extend."""
    whole = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    known = {name: body for name, body in whole.items() if isinstance(body, dict) and name not in _NO_JOBS}
    return {name: _extended(body, known) for name, body in known.items() if not name.startswith(".")}


_NO_JOBS = ("workflow", "default", "variables")


def _extended(body: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Mappings are merged, everything else is replaced."""
    base: dict[str, Any] = _extended(known[body["extends"]], known) if "extends" in body else {}
    for key, value in body.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        base[key] = {**base[key], **value} if both else value
    return base


def run(name: str, folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a job's scripts in a folder; what it says goes to ``stdout``."""
    body = jobs()[name]
    given = dict(env)
    for key, value in body.get("variables", {}).items():
        given[key] = re.sub(r"\$(\w+)", lambda found: given.get(found[1], ""), str(value))
    script = "\n".join([*body.get("before_script", ()), *body["script"]])
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=given,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
