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


def jobs(*files: Path) -> dict[str, dict[str, Any]]:
    """The jobs of some files, of the example by default, by name, with what they extend."""
    whole = {
        name: body
        for file in files or (FILE,)
        for name, body in yaml.safe_load(file.read_text(encoding="utf-8")).items()
    }
    known = {name: body for name, body in whole.items() if isinstance(body, dict) and name not in _NO_JOBS}
    return {name: _extended(body, known) for name, body in known.items() if not name.startswith(".")}


_NO_JOBS = ("workflow", "default", "variables", "include")


def _extended(body: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Mappings are merged, everything else is replaced."""
    base: dict[str, Any] = _extended(known[body["extends"]], known) if "extends" in body else {}
    for key, value in body.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        base[key] = {**base[key], **value} if both else value
    return base


def run(name: str, folder: Path, env: Mapping[str, str], file: Path = FILE) -> subprocess.CompletedProcess[str]:
    """Runs a file's job in a folder; what it says goes to ``stdout``."""
    return run_job(jobs(file)[name], folder, env)


def run_job(body: Mapping[str, Any], folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a job's scripts in a folder; what it says goes to ``stdout``."""
    given = dict(env)
    for key, value in body.get("variables", {}).items():
        given[key] = re.sub(
            r"\$(\$|\w+)", lambda found: "$" if found[1] == "$" else given.get(found[1], ""), str(value)
        )
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


def run_all(found: Mapping[str, Mapping[str, Any]], folder: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Runs jobs in their order, each after what it needs: ``success``, ``failure`` or ``skipped`` by name.

    The folder stands for the artifacts of the jobs before.
    """
    done: dict[str, str] = {}
    for name, body in found.items():
        passed = {
            other
            for other, result in done.items()
            if result == "success" or (result == "failure" and found[other].get("allow_failure"))
        }
        if not passed.issuperset(body.get("needs", ())):
            done[name] = "skipped"
            continue
        ((key, values),) = body.get("parallel", {"matrix": [{"": [""]}]})["matrix"][0].items()
        codes = [run_job(body, folder, {**env, **({key: value} if key else {})}).returncode for value in values]
        done[name] = "failure" if any(codes) else "success"
    return done
