"""The command of a notebook's job, run on this machine by a real papermill and a real kernel."""

import json
import os
import re
import signal
import subprocess
import time
from datetime import date
from pathlib import Path
from typing import Any

from modelyard.plan.notebook import notebook_job
from modelyard.plan.project import library_of
from modelyard.runs.notebooks import Choice, Chosen, NotebookPaths, choose, locate
from modelyard.stack import load
from tests.lab.support.notebook_files import ROOT, cell, container, outputs, text_of, write_notebook

PATIENCE = 180


def job_of(notebook: Path, **parameters: str) -> tuple[dict[str, Any], Path]:
    """The Job of stack dev for a notebook, and the path of its result."""
    stack, _ = load(ROOT / "stacks" / "Pulumi.dev.yaml", "stacks/Pulumi.dev.yaml")
    assert stack is not None
    notebooks = stack.config.notebooks._replace(image="images.example.com/notebook:1", path=str(notebook.parent))
    stack = stack._replace(config=stack.config._replace(notebooks=notebooks))
    place, chosen = (
        locate(notebook, notebook.parent, str(notebook.parent), "job-1", "x"),
        choose(stack.config, Choice()),
    )
    assert isinstance(place, NotebookPaths)
    assert isinstance(chosen, Chosen)
    made = notebook_job(
        library_of(ROOT), stack, "job-1", place=place, chosen=chosen, parameters=parameters, today=date(2026, 11, 22)
    )
    assert made.objects, made.findings
    return made.first.reveal(), place.seen


def start(job: dict[str, Any]) -> "subprocess.Popen[str]":
    command, variables = container(job)
    return subprocess.Popen(
        command, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def test_the_result_is_saved_next_to_the_notebook(tmp_path: Path) -> None:
    folder = tmp_path / "with {braces} $(HOME)"
    folder.mkdir()
    source = write_notebook(
        folder / "train.ipynb",
        cell("rate = 1\nname = 'x'", tags=["parameters"]),
        cell("import os; print(rate + 1, name, os.environ['NUM_GPUS_REQUESTED'], os.getcwd())"),
    )
    before = source.read_bytes()
    job, result = job_of(source, rate="-0.5", name="$(HOME)")
    done = start(job)
    log, _ = done.communicate(timeout=PATIENCE)
    assert done.returncode == 0, log
    assert text_of(result) == f"0.5 $(HOME) 1 {folder}\n"
    assert f"saved {result}" in log
    assert "0.5 $(HOME) 1" in log
    assert source.read_bytes() == before
    assert sorted(one.name for one in folder.iterdir()) == ["train.ipynb", "train.job-1.ipynb"]


def test_a_failed_cell_keeps_its_output_and_its_error(tmp_path: Path) -> None:
    source = write_notebook(
        tmp_path / "train.ipynb", cell("print('first')"), cell("print('half'); 1 / 0"), cell("print('no')")
    )
    job, result = job_of(source)
    done = start(job)
    log, _ = done.communicate(timeout=PATIENCE)
    assert done.returncode == 1, log
    assert text_of(result) == "first\nhalf\n"
    (error,) = [one for one in outputs(result) if one["output_type"] == "error"]
    assert (error["ename"], error["evalue"]) == ("ZeroDivisionError", "division by zero")
    assert "1 / 0" in re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error["traceback"]))
    assert not (tmp_path / ".train.job-1.ipynb").exists()


def test_a_stopped_job_saves_its_output_and_starts_over(tmp_path: Path) -> None:
    source = write_notebook(
        tmp_path / "train.ipynb",
        cell("import pathlib, time\nprint('begun', flush=True)"),
        cell("while not pathlib.Path('go').exists():\n    print('step', flush=True)\n    time.sleep(0.2)"),
        cell("print('end')"),
    )
    job, result = job_of(source)
    stopped = start(job)
    partial = tmp_path / ".train.job-1.ipynb"
    until = time.monotonic() + PATIENCE
    while not (partial.exists() and "step" in _quietly(partial)):
        assert time.monotonic() < until
        assert stopped.poll() is None
        assert not result.exists()
        time.sleep(0.2)
    stopped.send_signal(signal.SIGTERM)
    log, _ = stopped.communicate(timeout=60)
    assert stopped.returncode == 128 + signal.SIGTERM, log
    saved = text_of(result)
    assert saved.startswith("begun\n")
    assert "step" in saved
    assert "end" not in saved
    assert not partial.exists()
    (tmp_path / "go").touch()
    again = start(job)
    log, _ = again.communicate(timeout=PATIENCE)
    assert again.returncode == 0, log
    assert text_of(result) == "begun\nend\n"


def _quietly(file: Path) -> str:
    """The text that the cells printed so far; empty while the file is being written."""
    try:
        return text_of(file)
    except (json.JSONDecodeError, FileNotFoundError):
        return ""


def test_a_missing_kernel_is_reported(tmp_path: Path) -> None:
    source = write_notebook(tmp_path / "train.ipynb", cell("print(1)"))
    source.write_text(source.read_text().replace('"python3"', '"torch"'))
    job, result = job_of(source)
    done = start(job)
    log, _ = done.communicate(timeout=PATIENCE)
    assert done.returncode == 1
    assert "No such kernel named torch" in log
    assert outputs(result) == []
