"""Colour and width of every text."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
from typing import Any

import pytest

from modelyard.cli.parser import VERBS, verb_parser
from modelyard.explanations import explanations

pytestmark = pytest.mark.slow

STACKS = ("dev", "prod", "staging")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def test_colour_is_for_terminals_by_default(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("plan", "dev").out
    assert "\x1b" not in plain
    coloured = run("plan", "dev", "--colour", "always").out
    assert "\x1b[" in coloured
    assert ESCAPE.sub("", coloured) == plain
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[" in run("plan", "dev").out
    assert "\x1b" not in run("plan", "dev", "--color=never").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("plan", "dev").out
    assert "\x1b[" in run("--colour", "always", "plan", "dev").out


def test_errors_are_coloured_on_request(run: Any) -> None:
    assert run("plan", "nope", "--colour", "always").err.startswith("\x1b[1;31merror\x1b[0m: unknown stack")
    assert run("plan", "nope", "--colour=always").err.startswith("\x1b[1;31merror")


def subverbs(verb: str) -> list[tuple[str]]:
    choices = [action.choices for action in verb_parser(verb)._actions if isinstance(action.choices, dict)]
    return [(name,) for names in choices for name in names]


WIDE = [
    *(words for stack in STACKS for words in (("plan", stack, "--notes"), ("show", stack), ("diff", stack))),
    *(("blame", stack, role, "spec.replicas") for stack in STACKS for role in ("model-service", "training-worker")),
    ("check", "--all", "--notes"),
    ("blame", "staging", "training-tasks", "autoscaling/queries"),
    ("blame", "dev", "ray-head", "RAY_OVERRIDE_RESOURCES.value"),
    ("gpus",),
    ("gpus", "--embeds-ptx", "--cuda", "12.4"),
    ("gpus", "a100", "l4", "h100", "v100", "gh200"),
    ("patches",),
    *(("patches", name) for name in ("ray-worker", "autoscaling-ray", "training-replicas", "model-service")),
    ("plan", "dev", "--target", "nope"),
    ("blame", "dev", "ray-head", "cpu"),
    *(("blame", "staging", "training-worker", part) for part in ("containers", "spec", "metadata")),
    ("plan", "staging", "--target", "training-worker"),
    (
        "plan",
        "staging",
        "--out",
        "a-rather-long-name-of-a-folder/with-plans-of-every-stack-of-the-project/staging.json",
    ),
    ("show", "nope"),
    ("explain",),
    ("explain", "GPU001"),
    ("explain", "OWN001"),
    ("render", "--all"),
    *(("promote", source, target) for source in STACKS for target in STACKS if source != target),
    ("promote", "dev", "prod", "--take", "gpu", "--take", "celery"),
    ("size", "dev"),
    ("ledger", "dev"),
    ("doctor",),
    ("fmt", "--check"),
    ("drift", "dev"),
    ("remote", "dev"),
    ("plan", "--matrix", "--all"),
    ("--help",),
    *((verb, *subverb, "--help") for verb in VERBS for subverb in ((), *subverbs(verb))),
]


@pytest.mark.parametrize("words", WIDE, ids=" ".join)
def test_text_fits_the_terminal_or_100_columns(run: Any, terminal: Any, words: tuple[str, ...]) -> None:
    for colour in ("never", "always"):
        for line in ESCAPE.sub("", run(*words, "--colour", colour).text).splitlines():
            assert len(line) <= 100, line
    for columns in (60, 77):
        lines = terminal(columns, *words).text.splitlines()
        assert max(map(len, lines)) <= columns, max(lines, key=len)
        assert words[-1] != "--help" or not [line for line in lines if re.search(r"\w-$", line)]
        if words[0] != "diff":
            assert not [line for line in lines if line != line.rstrip()]


@pytest.mark.parametrize(
    ("variable", "columns"), [("60", 60), ("85", 85), ("20", 60), ("400", 100), ("0", 100), ("x", 100)]
)
def test_a_terminal_has_between_60_and_100_columns(terminal: Any, variable: str, columns: int) -> None:
    longest = max(map(len, terminal(variable, "explain", "GPU001").out.splitlines()))
    assert columns - 12 <= longest <= columns


def test_output_to_a_file_ignores_the_width_of_the_terminal(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("plan", "staging", "--notes").out
    monkeypatch.setenv("COLUMNS", "60")
    assert run("plan", "staging", "--notes").out == plain


def test_narrow_text_has_the_same_content(run: Any, terminal: Any) -> None:
    wide = run("plan", "dev", "--notes").words.replace("… ", "")
    narrow = terminal(60, "plan", "dev", "--notes").words
    for words in ("replaces 1 running pod once Ray is idle", "ephemeral-storage request + 50Gi"):
        assert words in wide
        assert words in narrow
    assert wide.count("→") == narrow.count("→")


def test_the_width_of_a_real_terminal(project: Any, cli: Any) -> None:
    """A real terminal, without COLUMNS."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 64, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "dumb"}
    words = [*cli.PROGRAM, "explain", "OWN001"]
    done = subprocess.run(words, cwd=project.root, stdout=theirs, env=environment, timeout=60, check=False)
    os.close(theirs)
    text = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.returncode == 0
    assert 55 < max(map(len, text.split("\r\n"))) <= 64


def test_explanations_fit_100_columns(run: Any) -> None:
    for code in explanations():
        assert max(map(len, run("explain", code).out.splitlines())) <= 100


def test_long_names_fit_100_columns(project: Any, run: Any) -> None:
    long = "deployment-" + "x" * 200
    source = project.root / "stacks/recorded/dev/deployment.ml-platform.deployment-ray-head.json"
    body = json.loads(source.read_text())
    body["metadata"]["name"] = long
    for entry in body["metadata"]["managedFields"]:
        entry["manager"] = "m" * 120
    source.write_text(json.dumps(body))
    project.add(f"modelyard:targets:\n  rayHead: {{deployment: {long}}}")
    for words in (("plan", "dev", "--notes"), ("show", "dev"), ("check", "dev", "--notes"), ("diff", "dev")):
        result = run(*words)
        assert result.code == 0, result.text
        assert max(map(len, result.out.splitlines())) <= 100, max(result.out.splitlines(), key=len)
