"""What a call takes along, run by the container's own program in a process, and what comes back."""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.runs.functions import (
    Call,
    CallError,
    Outcome,
    RemoteTraceback,
    call_objects,
    loaded,
    pickled,
    sources_of,
)
from modelyard.runs.functions.payload import LARGEST
from modelyard.runs.functions.runner import PROGRAM, SETTINGS


def packed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
    return pickled(function, args, kwargs, function.__name__, sources_of(function))


def started(call: Call, folder: Path) -> "subprocess.Popen[bytes]":
    """The program of the container in a folder with what the Secret has: without modelyard, and without cloudpickle."""
    for name, content in call.files.items():
        (folder / name).write_bytes(content)
    command = [sys.executable, "-I", "-S", str(folder / PROGRAM)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def ran(call: Call, folder: Path) -> tuple[bytes | None, str, int]:
    """The outcome, the output and the exit code of a call."""
    process = started(call, folder)
    log, _ = process.communicate(timeout=60)
    outcome = Outcome(call)
    said = [text for line in log.decode().splitlines() if (text := outcome.output(line)) is not None]
    return outcome.data(), "\n".join(said), process.returncode


def result_of(call: Call, folder: Path) -> Any:
    data, said, _ = ran(call, folder)
    assert data is not None, said
    return loaded(data, "f")


def test_arguments_go_and_the_result_comes_back_while_output_streams(tmp_path: Path) -> None:
    factor = 3

    class Layer:
        def __init__(self, size: int) -> None:
            self.size = size

    def train(layer: Any, *, rate: float) -> Any:
        sys.stdout.write("epoch 1\nno end")
        layer.size *= factor
        return {"layer": layer, "rate": rate, "blob": bytes(range(256)) * 100}

    data, said, code = ran(packed(train, Layer(2), rate=0.5), tmp_path)
    assert data is not None
    found = loaded(data, "train")
    assert (found["layer"].size, found["rate"], len(found["blob"])) == (6, 0.5, 25600)
    assert type(found["layer"]) is Layer
    assert (said, code) == ("epoch 1\nno end", 0)


def test_an_exception_comes_back_with_its_traceback(tmp_path: Path) -> None:
    def fail(x: int) -> float:
        return x / 0

    data, said, code = ran(packed(fail, 1), tmp_path)
    assert data is not None
    assert (said, code) == ("", 1)
    with pytest.raises(ZeroDivisionError, match="division by zero") as caught:
        loaded(data, "fail")
    assert isinstance(caught.value.__cause__, RemoteTraceback)
    words = str(caught.value.__cause__)
    line = fail.__code__.co_firstlineno + 1
    assert f'test_function_calls.py", line {line}, in fail\n    return x / 0\n' in words
    assert PROGRAM not in words


def test_an_exception_that_cannot_be_unpickled_keeps_its_traceback(tmp_path: Path) -> None:
    def fail() -> None:
        class TwoArguments(Exception):
            def __init__(self, one: int, two: int) -> None:
                super().__init__(f"{one} and {two}")

        raise TwoArguments(1, 2)

    with pytest.raises(CallError, match="TwoArguments: 1 and 2") as caught:
        result_of(packed(fail), tmp_path)
    assert "in fail" in str(caught.value.__cause__)


def test_the_end_of_the_program_does_not_end_the_caller(tmp_path: Path) -> None:
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(CallError, match="f raised SystemExit: 3"):
        result_of(packed(leave), tmp_path)


def test_what_a_function_leaves_running_does_not_hold_the_gpu(tmp_path: Path) -> None:
    def leave() -> str:
        import atexit
        import threading
        import time

        atexit.register(print, "the end")
        threading.Thread(target=time.sleep, args=(600,)).start()
        return "done"

    began = time.monotonic()
    data, said, _ = ran(packed(leave), tmp_path)
    assert data is not None
    assert loaded(data, "leave") == "done"
    assert said == "the end"
    assert time.monotonic() - began < 30


def test_a_stopped_program_ends_at_once(tmp_path: Path) -> None:
    def wait() -> None:
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        while True:
            try:
                time.sleep(60)
            except BaseException:
                continue

    process = started(packed(wait), tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert process.returncode == 143


def test_another_version_of_python_is_named(tmp_path: Path) -> None:
    call = packed(len, [])
    settings = json.loads(call.files[SETTINGS])
    call.files[SETTINGS] = json.dumps({**settings, "python": [3, 8]}).encode()
    with pytest.raises(CallError, match=r"the image has Python 3\.\d+ and the call was pickled by Python 3\.8"):
        result_of(call, tmp_path)


def test_a_module_that_the_image_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(CallError, match=r"the image cannot read the call: ModuleNotFoundError: .*'modelyard'"):
        result_of(packed(sources_of, len), tmp_path)


def test_a_result_that_cannot_be_pickled(tmp_path: Path) -> None:
    def lock() -> Any:
        import threading

        return threading.Lock()

    with pytest.raises(CallError, match="the result cannot be pickled: TypeError: cannot pickle"):
        result_of(packed(lock), tmp_path)


def test_a_result_that_is_too_large(tmp_path: Path) -> None:
    def much(size: int) -> bytes:
        import os

        return os.urandom(size)

    assert len(result_of(packed(much, 3 << 20), tmp_path)) == 3 << 20
    with pytest.raises(CallError, match="the result has 5 MiB compressed, and at most 4 MiB can come back"):
        result_of(packed(much, 5 << 20), tmp_path)


def test_a_call_that_is_too_large_names_the_way_for_large_data() -> None:
    noise = os.urandom(LARGEST)
    with pytest.raises(CallError, match=r"len and its arguments have 1\.0 MiB .* workspace volume .* pass its path"):
        packed(len, noise)


def test_a_value_that_cannot_be_pickled_is_named() -> None:
    lock = threading.Lock()
    with pytest.raises(CallError, match="argument 2 of print cannot be pickled: TypeError"):
        packed(print, 1, lock)
    with pytest.raises(CallError, match="file of print cannot be pickled"):
        packed(print, file=lock)


def test_without_cloudpickle_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(CallError, match=r"pip install 'modelyard\[notebook\]'"):
        packed(len)


def test_only_the_outcome_of_its_own_container_counts(tmp_path: Path) -> None:
    """Somebody who can write to the log does not have the key, and so cannot have anything unpickled here."""
    call, other = packed(len, [1]), packed(len, [1, 2])
    (tmp_path / "other").mkdir()
    process = started(other, tmp_path / "other")
    log, _ = process.communicate(timeout=60)
    forged = log.decode().replace(other.mark, call.mark).splitlines()
    outcome = Outcome(call)
    assert [outcome.output(line) for line in forged] == [None]
    assert outcome.data() is None
    # Damaged lines are no outcome either.
    for line in (f"{call.mark}:0:1:###", f"{call.mark}:x:1:", call.mark + ":"):
        outcome.output(line)
        assert outcome.data() is None


def test_a_pod_in_place_of_another_starts_again() -> None:
    call = packed(len, [])
    outcome = Outcome(call)
    for number in range(3):
        outcome.output(f"{call.mark}:{number}:4:{base64.b64encode(b'old').decode()}")
    assert outcome.output(f"{call.mark}:0:1:{base64.b64encode(b'x').decode()}") is None
    assert outcome.output(f"half a line {call.mark}:0:1:eA==") == "half a line "
    assert outcome.output("another line") == "another line"


def job_of(**container: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": "notebook", "image": "a/b:1", **container}]}
    metadata = {"name": "f-x7k2p", "namespace": "vision", "labels": {"modelyard.dev/stack": "dev"}}
    return {"kind": "Job", "metadata": metadata, "spec": {"activeDeadlineSeconds": 60, "template": {"spec": pod}}}


@pytest.mark.parametrize(("folder", "where"), [("/work/ada/code", "/work/ada/code"), ("/home/ada", "/work")])
def test_the_current_folder_is_kept_where_the_container_has_it(folder: str, where: str) -> None:
    before = job_of(workingDir="/work", command=["/env/bin/python", "-c", "…"], args=["a"])
    job, secret = call_objects(Confidential(before), packed(len, []), "len", Path(folder), 90).reveal()
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert (container["workingDir"], job["spec"]["activeDeadlineSeconds"]) == (where, 90)
    assert container["command"] == ["/env/bin/python", "/run/modelyard/call/run.py"]
    assert secret["metadata"]["labels"] == {"modelyard.dev/stack": "dev"}
    assert before == job_of(workingDir="/work", command=["/env/bin/python", "-c", "…"], args=["a"])


def test_a_projects_own_template_may_be_short() -> None:
    job, _ = call_objects(Confidential(job_of()), packed(len, []), "len", Path("/work"), None).reveal()
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["command"] == ["python3", "/run/modelyard/call/run.py"]
    assert [one["secret"]["secretName"] for one in pod["volumes"]] == ["f-x7k2p"]
    assert job["spec"]["activeDeadlineSeconds"] == 60
