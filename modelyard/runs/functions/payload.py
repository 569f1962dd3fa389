"""A call: its Secret, the Job that runs it (like the Job of a notebook), and its outcome in the log."""

import base64
import binascii
import copy
import hashlib
import hmac
import io
import json
import linecache
import marshal
import pickle
import secrets
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, Final, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

from modelyard.cluster.pool_objects import FUNCTION, NOTEBOOK, RESULT, STACK
from modelyard.hiding import Confidential
from modelyard.runs.functions import runner

FOLDER: Final = "/run/modelyard/call"
"""The folder of the container where the Secret is mounted."""
LARGEST: Final = 1024 * 1024
"""The most bytes of all values of a Secret together (Kubernetes' MaxSecretSize)."""
_PROOF: Final = hashlib.sha256().digest_size
_OF_NOTEBOOKS: Final = (NOTEBOOK, RESULT)


class CallError(Exception):
    """A call on a GPU that did not return: it was not submitted, or its run ended without a result."""


class RemoteTraceback(Exception):
    """The traceback of an exception in the container, as the exception's cause."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Call(NamedTuple):
    """A pickled call."""

    files: dict[str, bytes]
    """The files of the call's folder in the container, by name."""
    mark: str
    """Prefix of the lines of the log that have its outcome."""
    key: bytes
    """Proves that an outcome comes from the call's container."""


def pickled(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    name: str,
    sources: Mapping[str, str],
) -> Call:
    """A call with everything that its container needs.

    Args:
        function: the function to run.
        args: its arguments.
        kwargs: its arguments by name.
        name: the function's name in errors.
        sources: the text of the function's file, by the file's name, for tracebacks.

    Raises:
        CallError: cloudpickle is missing, something cannot be pickled, or the call is too large.
    """
    try:
        import cloudpickle
    except ImportError:
        raise CallError("cloudpickle is not installed; run: pip install 'modelyard[notebook]'") from None
    try:
        call = zlib.compress(_dumps((function, tuple(args), dict(kwargs))))
    except Exception as error:
        what = next(_unpicklable(function, args, kwargs, name), f"{name} with its arguments")
        raise CallError(f"{what} cannot be pickled: {type(error).__name__}: {error}") from error
    key, mark = secrets.token_bytes(32), f"modelyard-result-{secrets.token_hex(8)}"
    settings = {
        "python": sys.version_info[:2],
        "key": key.hex(),
        "mark": mark,
        "sources": dict(sources),
    }
    files = {
        runner.SETTINGS: json.dumps(settings).encode(),
        runner.CALL: call,
        runner.LIBRARY: _zipped(Path(cloudpickle.__file__).parent),
        runner.PROGRAM: Path(runner.__file__).read_bytes(),
    }
    if (size := sum(map(len, files.values()))) > LARGEST:
        raise CallError(
            f"{name} and its arguments have {size / LARGEST:.1f} MiB compressed, and a call carries at most 1 MiB; "
            "save large data on the workspace volume or other shared storage, and pass its path"
        )
    return Call(files, mark, key)


def _dumps(value: Any) -> bytes:
    """A value, pickled; code keeps the name of its file, which cloudpickle drops and a traceback needs."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, CodeType):
                return marshal.loads, (marshal.dumps(obj),)
            return super().reducer_override(obj)

    made = io.BytesIO()
    Pickler(made).dump(value)
    return made.getvalue()


def _unpicklable(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], name: str
) -> Iterator[str]:
    """The parts of a call that cannot be pickled, in words."""
    numbered = ((f"argument {number} of {name}", value) for number, value in enumerate(args, 1))
    named = ((f"{key} of {name}", value) for key, value in kwargs.items())
    for words, value in ((name, function), *numbered, *named):
        try:
            _dumps(value)
        except Exception:
            yield words


def sources_of(function: Callable[..., Any]) -> dict[str, str]:
    """The text of a function's file, by the file's name; the file may be a notebook's cell."""
    code = getattr(function, "__code__", None)
    lines = linecache.getlines(code.co_filename) if code is not None else []
    return {code.co_filename: "".join(lines)} if code is not None and lines else {}


def _zipped(package: Path) -> bytes:
    """A package as a zip file that Python can import from."""
    made = io.BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as archive:
        for file in sorted(package.glob("*.py")):
            archive.write(file, f"{package.name}/{file.name}")
    return made.getvalue()


def call_objects(
    job: Confidential[dict[str, Any]], call: Call, name: str, folder: Path, seconds: int | None
) -> Confidential[tuple[dict[str, Any], dict[str, Any]]]:
    """The Job of a call and its Secret, which is deleted with the Job.

    Args:
        job: the Job of a notebook; its image, size, queue and volumes stay.
        call: the pickled call.
        name: the function's name.
        folder: the caller's current folder, which the container uses too if it is on the workspace volume.
        seconds: time limit of the call; None: that of notebooks.
    """
    made = copy.deepcopy(job.reveal())
    metadata, pod = made["metadata"], made["spec"]["template"]["spec"]
    # A project's own version of the template may leave out what the Job of v1 has.
    annotations = {key: value for key, value in metadata.get("annotations", {}).items() if key not in _OF_NOTEBOOKS}
    metadata["annotations"] = {**annotations, FUNCTION: name}
    container = pod["containers"][0]
    container["command"] = [container.get("command", ["python3"])[0], f"{FOLDER}/{runner.PROGRAM}"]
    container.pop("args", None)
    if "workingDir" in container and folder.is_relative_to(container["workingDir"]):
        container["workingDir"] = str(folder)
    container.setdefault("volumeMounts", []).append({"name": "call", "mountPath": FOLDER, "readOnly": True})
    pod.setdefault("volumes", []).append({"name": "call", "secret": {"secretName": metadata["name"]}})
    if seconds is not None:
        made["spec"]["activeDeadlineSeconds"] = seconds
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": {STACK: metadata["labels"][STACK]},
        },
        "immutable": True,
        "data": {file: base64.b64encode(content).decode() for file, content in call.files.items()},
    }
    return Confidential((made, secret))


def loaded(data: bytes, name: str) -> Any:
    """The result of a call.

    Raises:
        CallError: the result cannot be unpickled here.
        Exception: what the call raised, with its traceback as the cause.
    """
    __tracebackhide__ = True  # in IPython
    state, value, text = pickle.loads(zlib.decompress(data))
    if state == "failed":
        raise CallError(f"{name}: {text}")
    try:
        result = pickle.loads(value) if value else None
    except Exception as error:
        words = f"what {name} {state} cannot be read here: {type(error).__name__}: {error}"
        raise CallError(f"{words}; return plain values, such as tensor.cpu()") from (
            RemoteTraceback(text) if text else error
        )
    if state == "raised":
        last = text.rstrip().rpartition("\n")[2]
        exception = result if isinstance(result, Exception) else CallError(f"{name} raised {last}")
        raise exception from RemoteTraceback(text)
    return result


class Outcome:
    """Collects the outcome of one call, line by line."""

    def __init__(self, call: Call) -> None:
        self._mark, self._key = f"{call.mark}:", call.key
        self._chunks: dict[int, str] = {}
        self._total = 0

    def output(self, line: str) -> str | None:
        """The call's own output in a line of its log; None if the line has only a part of the outcome."""
        text, mark, rest = line.partition(self._mark)
        if not mark:
            return line
        number, _, rest = rest.partition(":")
        total, _, chunk = rest.partition(":")
        if number.isdecimal() and total.isdecimal():
            if int(number) == 0:
                # A pod in place of one that was taken away starts again.
                self._chunks.clear()
            self._chunks[int(number)], self._total = chunk, int(total)
        return text or None

    def data(self) -> bytes | None:
        """The whole outcome; None while parts of it are missing, or if it does not come from the call's container."""
        if not self._total or len(self._chunks) < self._total:
            return None
        chunks = [self._chunks.get(at, "") for at in range(self._total)]
        try:
            sealed = base64.b64decode("".join(chunks), validate=True)
        except binascii.Error:
            return None
        proof, data = sealed[:_PROOF], sealed[_PROOF:]
        expected = hmac.new(self._key, data, hashlib.sha256).digest()
        return data if hmac.compare_digest(proof, expected) else None
