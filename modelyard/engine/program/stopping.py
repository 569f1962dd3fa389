"""Whether this run should stop: the only way in which a wait of the program learns it."""

import os
from pathlib import Path

from modelyard.probes.values import STOP


def stop_asked() -> bool:
    """True when ``modelyard apply`` was asked to stop or has ended; never in a direct ``pulumi up``."""
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
