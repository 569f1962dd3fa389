"""Runs one pickled call in a container and writes its outcome to the log.

The container gets this file unchanged. The file imports nothing of modelyard, and its syntax is valid in any Python 3,
so that a container with another version of Python can report its version.
"""

import atexit
import base64
import hashlib
import hmac
import json
import linecache
import os
import pickle
import signal
import sys
import traceback
import zlib
from pathlib import Path
from typing import Any

SETTINGS, CALL, LIBRARY, PROGRAM = "settings.json", "call", "cloudpickle.zip", "run.py"
"""The names of the files in the call's folder: what the caller expects, the call, the pickler, and this file."""
CHUNK = 3000
"""Characters of an outcome per line. A write of less than 4096 bytes to a pipe is never mixed with another write."""
LIMIT = 4 * 1024 * 1024
"""Bytes of the largest outcome, compressed: kubelets begin a new log file after 10 MiB."""


def main(folder: Path) -> int:
    """Runs the call in a folder; returns the exit code."""
    # The call's own output may be redirected or closed.
    log = os.dup(1)
    settings = json.loads((folder / SETTINGS).read_text())
    # As the first process of a container, Python would ignore the signal, and keep the GPU until it is killed.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    # The caller's current folder, from which its own modules may come.
    sys.path[0] = str(Path.cwd())
    state, value, text = _called(folder, settings)
    data = _sealed(settings, state, value, text)
    if len(data) > LIMIT:
        words = (
            f"the result has {len(data) >> 20} MiB compressed, and at most {LIMIT >> 20} MiB can come back; "
            "save it on the workspace volume or other shared storage, and return its path"
        )
        state, data = "failed", _sealed(settings, "failed", b"", words)
    # Now, because the caller listens no longer than until the outcome.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    encoded = base64.b64encode(data).decode()
    chunks = [encoded[at : at + CHUNK] for at in range(0, len(encoded), CHUNK)]
    for number, chunk in enumerate(chunks):
        os.write(log, f"{settings['mark']}:{number}:{len(chunks)}:{chunk}\n".encode())
    return 0 if state == "returned" else 1


def _called(folder: Path, settings: dict[str, Any]) -> tuple[str, bytes, str]:
    """Whether the call returned, raised or failed; the pickled result or exception; a traceback or a message."""
    if list(sys.version_info[:2]) != settings["python"]:
        here, there = (".".join(map(str, one)) for one in (sys.version_info[:2], settings["python"]))
        words = f"the image has Python {here} and the call was pickled by Python {there}; use the same version"
        return "failed", b"", words
    # The caller's version, whatever the image has: versions do not read each other's pickles.
    sys.path.insert(0, str(folder / LIBRARY))
    import cloudpickle

    for name, source in settings["sources"].items():
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    try:
        function, args, kwargs = pickle.loads(zlib.decompress((folder / CALL).read_bytes()))
    except Exception as error:
        return "failed", b"", f"the image cannot read the call: {type(error).__name__}: {error}"
    try:
        result = function(*args, **kwargs)
    except BaseException as error:
        # From the caller's own code on, or at least without the frame of this function.
        outer = frames = error.__traceback__.tb_next if error.__traceback__ else None
        while frames is not None and frames.tb_frame.f_code.co_filename not in settings["sources"]:
            frames = frames.tb_next
        frames = frames or outer
        text = "".join(traceback.format_exception(type(error), error, frames))
        try:
            pickled = cloudpickle.dumps(error)
            pickle.loads(pickled)  # Exceptions with arguments of their own often cannot be made again.
        except Exception:
            return "raised", b"", text
        return "raised", pickled if isinstance(error, Exception) else b"", text
    try:
        return "returned", cloudpickle.dumps(result), ""
    except Exception as error:
        return "failed", b"", f"the result cannot be pickled: {type(error).__name__}: {error}"


def _sealed(settings: dict[str, Any], state: str, value: bytes, text: str) -> bytes:
    """An outcome, compressed, after a code that only the caller and this container can compute."""
    data = zlib.compress(pickle.dumps((state, value, text), protocol=4))
    return hmac.new(bytes.fromhex(settings["key"]), data, hashlib.sha256).digest() + data


if __name__ == "__main__":
    # At once: threads that the call left running must not keep the GPU.
    os._exit(main(Path(__file__).parent))
