"""Whether whoever started this run wants it to end: a wait of the program hears of it in no other way."""

import os
from pathlib import Path

from modelyard.probes.values import STOP


def stop_asked() -> bool:
    """True when ``modelyard apply`` was told to stop, or is there no more; never in a bare ``pulumi up``."""
    owner, _, path = os.environ.get(STOP, "").partition(":")
    return bool(path) and (Path(path).exists() or not _is_there(int(owner)))


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
