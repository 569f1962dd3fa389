"""One answer of the engine's own command line. Nothing of the engine is imported, so that who asks stays fast."""

import os
import subprocess
from pathlib import Path

TIMEOUT = 60
"""Seconds that an answer may take."""


class EngineError(Exception):
    """The engine does not run, or does not end: why."""


def ask_engine(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """What ``pulumi`` says; how it ended is the caller's to judge.

    Without a passphrase the empty one counts: that of a state without secrets.

    Args:
        root: the project's folder.
        arguments: of the program.

    Raises:
        EngineError: there is no such program, it cannot be started, or it takes too long.
    """
    variables = {"PULUMI_SKIP_UPDATE_CHECK": "true", "PULUMI_CONFIG_PASSPHRASE": "", **os.environ}
    try:
        return subprocess.run(
            ("pulumi", *arguments),
            cwd=root,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except FileNotFoundError as error:
        raise EngineError("the Pulumi engine (pulumi) is not on PATH") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(str(error)) from error
