"""Runs the command ``modelyard`` with ``--json`` and reads what it says."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from modelyard_jupyterlab.settings import Modelyard


class Refused(NamedTuple):
    """What the command says instead of a result."""

    summary: str
    remedy: str = ""
    findings: tuple[Mapping[str, Any], ...] = ()
    """Each with ``code``, ``severity``, ``summary`` and ``remedy``."""


async def run(settings: Modelyard, *words: str) -> dict[str, Any] | Refused:
    """The JSON that the command prints, or why there is none.

    Args:
        settings: which command, in which project.
        words: the verb and its arguments, without ``--json``.
    """
    said = await _said(settings, *words, "--json")
    return said if isinstance(said, Refused) else _answer(*said)


async def text(settings: Modelyard, *words: str) -> str | Refused:
    """The text that the command prints, or why there is none.

    Args:
        settings: which command, in which project.
        words: the verb and its arguments.
    """
    said = await _said(settings, *words)
    if isinstance(said, Refused):
        return said
    out, errors, code = said
    return out.decode(errors="replace") if code == 0 else _unsaid(errors, code)


async def _said(settings: Modelyard, *words: str) -> tuple[bytes, str, int | None] | Refused:
    """What the command wrote to its output and its error stream, and its exit code."""
    command = [*settings.command, *(["-C", settings.project] if settings.project else []), *words]
    pipe = asyncio.subprocess.PIPE
    try:
        child = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
    except (OSError, ValueError) as error:
        return Refused(f"{command[0]} cannot be started: {error}", "set c.Modelyard.command to where it is installed")
    try:
        out, said = await asyncio.wait_for(child.communicate(), settings.patience)
    except TimeoutError:
        child.kill()
        await child.wait()
        return Refused(
            f"modelyard did not answer within {settings.patience:g} seconds",
            "the job may have been submitted anyway: check with modelyard job list before you submit again",
        )
    return out, said.decode(errors="replace"), child.returncode


def _answer(out: bytes, said: str, code: int | None) -> dict[str, Any] | Refused:
    try:
        document = json.loads(out)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        return _unsaid(said, code)
    if code == 0:
        return document
    error = document.get("error") or {}
    return Refused(
        error.get("summary", f"modelyard ended with exit code {code}"),
        error.get("remedy", ""),
        tuple(_ordered(document.get("findings", ()))),
    )


def _unsaid(said: str, code: int | None) -> Refused:
    """Why a command has no answer, where it has no document that says so."""
    return Refused(said.strip() or f"modelyard ended with exit code {code} and no output", "see the server's log")


def _ordered(findings: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Errors first: they are what has to be corrected."""
    return sorted(findings, key=lambda one: one.get("severity") != "error")
