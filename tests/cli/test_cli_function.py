"""Functions and cells on a GPU: the client's requests are real, and the container's program is a process.

Messages are in ``tests/golden/test_cli_function.txt``.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import modelyard
from modelyard import CallError, on_gpu
from modelyard.plan.project import library_of
from tests.support.api_server import api_server
from tests.support.pod_process import PodProcesses
from tests.support.pool_objects import NOTEBOOK_POOL, node


@pytest.fixture
def pods(project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PodProcesses]:
    """A cluster with a node for the stack dev, whose pods are processes."""
    project.edit(("config:\n", f"config:{NOTEBOOK_POOL}"))
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr("modelyard.cli.job.function.PAUSE", 0.05)
    library_of.cache_clear()
    with api_server(tmp_path) as server:
        large = node("n0", gpus=4)
        large["status"]["allocatable"]["memory"] = "512Gi"
        server.objects["nodes"] = [large]
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
        made = PodProcesses(server, tmp_path)
        yield made
        made.kill()


def test_a_call_is_a_run_with_a_gpu_that_ends_with_it(
    pods: PodProcesses, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, golden: Any
) -> None:
    monkeypatch.setenv("MODELYARD_USER", "ada@example.com")

    @on_gpu(gpu="A10", stack="dev", time_limit="90m")
    def train(epochs: int, *, rate: float) -> float:
        """Trains."""
        for epoch in range(epochs):
            sys.stdout.write(f"epoch {epoch}\n")
        return rate * epochs

    assert train(3, rate=0.5) == 1.5
    assert (train.__name__, train.__doc__, train.__wrapped__(2, rate=2)) == ("train", "Trains.", 4)
    out, err = capfd.readouterr()
    assert out.startswith("epoch 0\nepoch 1\nepoch 2\n")
    (job,), (secret,) = pods.jobs, pods.secrets
    name = job["metadata"]["name"]
    golden(err.replace(name, "train-NAME"))
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "vision"
    assert job["metadata"]["labels"]["modelyard.dev/user"] == "ada-example.com"
    assert job["metadata"]["annotations"] == {"modelyard.dev/flavor": "a10", "modelyard.dev/function": "train"}
    assert job["spec"]["activeDeadlineSeconds"] == 5400
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 1
    assert "args" not in container
    # The Secret is found by its name, and goes with the Job.
    assert secret["metadata"]["name"] == name
    assert [one["uid"] for one in secret["metadata"]["ownerReferences"]] == [job["metadata"]["uid"]]
    assert pods.server.deleted == []


def test_an_error_of_the_function_is_raised_and_the_run_stays(pods: PodProcesses) -> None:
    @on_gpu(gpu="A30", stack="dev")
    def fail(values: dict[str, int]) -> int:
        return values["missing"]

    with pytest.raises(KeyError, match="missing") as caught:
        fail({})
    assert 'return values["missing"]' in str(caught.value.__cause__)
    assert pods.server.deleted == []


def test_a_function_calls_another_on_the_same_gpu(pods: PodProcesses) -> None:
    @on_gpu(gpu="A10", stack="dev")
    def inner(x: int) -> int:
        return x + 1

    @on_gpu(gpu="A10", stack="dev")
    def outer(x: int) -> int:
        return inner(x) * 2

    assert outer(2) == 6
    assert len(pods.jobs) == 1


def interrupted(pods: PodProcesses, number: int) -> Callable[[], None]:
    """A function on a GPU that sends its caller a signal when it has begun."""
    lines = pods.lines

    def signalling(job: Any, pod: Any) -> Iterator[bytes]:
        for line in lines(job, pod):
            yield line
            if line == b"begun\n":
                os.kill(os.getpid(), number)

    pods.lines = signalling  # type: ignore[method-assign]

    @on_gpu(gpu="A10", stack="dev")
    def wait() -> None:
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        time.sleep(600)

    return wait


def test_an_interrupt_cancels_the_run(pods: PodProcesses, capfd: pytest.CaptureFixture[str]) -> None:
    wait = interrupted(pods, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        wait()
    (job,) = pods.jobs
    ((plural, name, options),) = pods.server.deleted
    assert (plural, name) == ("jobs", job["metadata"]["name"])
    assert options["preconditions"] == {"uid": job["metadata"]["uid"]}
    assert f"run {name} " in capfd.readouterr().err


def test_the_end_of_the_process_cancels_the_run(pods: PodProcesses) -> None:
    """The signal then has its own effect, which here is what the test has set for it."""
    got = []
    before = signal.signal(signal.SIGTERM, lambda number, _: got.append(number))
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted(pods, signal.SIGTERM)()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert got == [signal.SIGTERM]
    assert len(pods.server.deleted) == 1


def test_a_run_that_ends_without_a_result_is_an_error_with_its_reason(pods: PodProcesses) -> None:
    @on_gpu(gpu="A10", stack="dev")
    def die() -> None:
        os._exit(9)

    with pytest.raises(CallError, match=r"run die-\S+ .*BackoffLimitExceeded"):
        die()


def test_a_cancelled_run_is_an_error_of_the_call(pods: PodProcesses) -> None:
    def cancelled(job: Any, pod: Any) -> Iterator[bytes]:
        pods.server.objects["jobs"].clear()
        pods.server.objects["pods"].clear()
        yield b"begun\n"

    pods.lines = cancelled  # type: ignore[method-assign]
    with pytest.raises(CallError, match=r"len-\S+ was cancelled"):
        on_gpu(gpu="A10", stack="dev")(len)([])


def test_a_run_that_cannot_be_followed_is_cancelled(pods: PodProcesses) -> None:
    pods.server.forbidden.add("pods")
    with pytest.raises(CallError, match="not read pods"):
        on_gpu(gpu="A10", stack="dev")(len)([])
    assert [plural for plural, _, _ in pods.server.deleted] == ["jobs"]


def test_logs_continue_after_a_lost_connection_without_repeated_lines(
    pods: PodProcesses, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = pods.lines

    def broken(job: Any, pod: Any) -> Iterator[bytes]:
        whole = list(lines(job, pod))
        pods.server.logs[pod["metadata"]["name"]] = whole
        # In the middle of the line that has the result.
        yield b"".join(whole)[:-20]

    pods.lines = broken  # type: ignore[method-assign]

    @on_gpu(gpu="A10", stack="dev")
    def count() -> str:
        sys.stdout.write("1\n2\n3\n")
        return "done"

    assert count() == "done"
    assert capfd.readouterr().out == "1\n2\n3\n"


def test_wrong_options_are_reported_together_and_submit_nothing(pods: PodProcesses, golden: Any) -> None:
    @on_gpu(gpu="A300", stack="dev", team="visoin", time_limit="soon", allocation="half")  # type: ignore[arg-type]
    def train() -> None:
        return None

    calls = (
        train,
        on_gpu(gpu="A10", stack="dev", time_limit=0)(train.__wrapped__),
        on_gpu(stack="dev")(train.__wrapped__),
        on_gpu(stack="dve")(train.__wrapped__),
    )
    messages = []
    for call in calls:
        with pytest.raises(CallError) as caught:
            call()
        messages.append(f"{caught.value}\n")
    golden(*messages)
    assert pods.jobs == []


def test_hardware_rules_hold_as_for_notebooks(pods: PodProcesses, project: Any) -> None:
    project.edit(("notebook:1}", "notebook:1, memory: 20Gi}"))
    with pytest.raises(CallError, match=r"(?s)dev\n.*RES001 +notebooks.memory is 20Gi"):

        @on_gpu(gpu="A30", stack="dev")
        def f() -> None:
            return None

        f()


def test_a_warning_about_a_call_is_printed_once_and_its_run_starts(
    pods: PodProcesses, project: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    project.edit(("notebook:1}", "notebook:1, memory: 20Gi}"), ("gpus: 1}, {flavor: a30", "gpus: 4}, {flavor: a30"))
    project.edit(("perWorker: 1", "perWorker: 3"))
    length = on_gpu(gpu="A10", stack="dev", allocation="multi_gpu")(len)
    assert [length([1]), length([2, 3])] == [1, 2]
    assert capfd.readouterr().err.count("RES001") == 1


def test_a_cluster_out_of_reach_is_an_error_of_the_call(pods: PodProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "nowhere")
    with pytest.raises(CallError, match="kubeconfig"):
        on_gpu(gpu="A10", stack="dev")(len)([])


@pytest.fixture
def shell(pods: PodProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(config=config)
    made.run_cell("%load_ext modelyard", store_history=True).raise_error()
    yield made
    InteractiveShell.clear_instance()


MAGIC = "%%modelyard gpu=A10 stack=dev\n"


def test_a_cell_reads_and_assigns_names_of_the_notebook(
    shell: InteractiveShell, pods: PodProcesses, capfd: pytest.CaptureFixture[str]
) -> None:
    before = "x = 2\nunused = open('/dev/null')\ndef double(a):\n    return a * x\nmax = lambda a, b: 'own'"
    shell.run_cell(before, store_history=True).raise_error()
    cell = (
        "import json as j\n"
        "def triple(a):\n    global calls\n    calls = 1\n    return a * 3\n"
        "y = triple(double(x))\n"
        "print(j.dumps(y), max(1, 2))\n"
        "[y + inner for inner in range(2)]"
    )
    done = shell.run_cell(MAGIC + cell, store_history=True)
    done.raise_error()
    assert done.result == [12, 13]
    names = shell.user_ns
    assert (names["y"], names["calls"], names["triple"](2), names["j"].__name__) == (12, 1, 6, "json")
    assert "inner" not in names
    assert "12 own\n" in capfd.readouterr().out
    assert pods.jobs[0]["metadata"]["name"].startswith("cell-")


def test_a_failing_cell_shows_its_own_lines(shell: InteractiveShell, capfd: pytest.CaptureFixture[str]) -> None:
    done = shell.run_cell(f"{MAGIC}z = 1\n\nz / 0", store_history=True)
    assert isinstance(done.error_in_exec, ZeroDivisionError)
    assert 'File "<cell>", line 4, in <module>\n    z / 0' in capfd.readouterr().out
    assert "z" not in shell.user_ns


def test_a_result_that_cannot_be_pickled_is_named(shell: InteractiveShell, capfd: pytest.CaptureFixture[str]) -> None:
    cell = "import threading\nlock = threading.Lock()\nn = 1\nlock;"
    shell.run_cell(MAGIC + cell, store_history=True).raise_error()
    assert (shell.user_ns["n"], "lock" in shell.user_ns) == (1, False)
    assert capfd.readouterr().err.splitlines()[-1].startswith("lock did not come back: TypeError")


def test_a_name_that_cannot_be_pickled_submits_nothing(shell: InteractiveShell, pods: PodProcesses) -> None:
    shell.run_cell("import threading\nlock = threading.Lock()")
    error = shell.run_cell(f"{MAGIC}lock.acquire()").error_in_exec
    assert isinstance(error, CallError)
    assert str(error).startswith("lock of cell ")
    assert pods.jobs == []


def test_a_cell_that_is_not_python_or_has_wrong_options(
    shell: InteractiveShell, pods: PodProcesses, capfd: pytest.CaptureFixture[str]
) -> None:
    assert isinstance(shell.run_cell(f"{MAGIC}!nvidia-smi").error_in_exec, SyntaxError)
    assert shell.run_cell("%%modelyard gpus=A10\n1").error_in_exec is not None
    assert "'gpus=A10'" in capfd.readouterr().err
    assert pods.jobs == []


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'on_cpu'"):
        _ = modelyard.on_cpu  # type: ignore[attr-defined]
