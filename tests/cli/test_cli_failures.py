"""What can go wrong around the input: paths, pipes, clusters, engines, credentials, interrupts.

Messages are in ``tests/golden/test_cli_failures.txt``.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from modelyard.catalog import load_library
from modelyard.cli.destroy import _Destroy
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.parser import VERBS, verb_parser
from modelyard.cluster import load_recorded
from modelyard.kube.state import StateObject
from modelyard.plan.destroy import destroy_plan
from modelyard.report.terminal import plan_text
from modelyard.stack import Stack
from tests.support.forked_process import CLOSED
from tests.support.web_servers import Quiet, listening

pytestmark = pytest.mark.slow

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{server}"}}}}]
users: [{{name: u, user: {{token: expired}}}}]
contexts: [{{name: dev, context: {{cluster: c, user: u}}}}]
current-context: dev
"""


@pytest.fixture
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A kubeconfig of a cluster that does not answer, beside the project."""
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG.format(server="http://127.0.0.1:9"))
    monkeypatch.setenv("KUBECONFIG", "../kubeconfig")
    return path


@pytest.mark.parametrize(
    ("words", "blocked"),
    [
        (("plan", "dev", "--out", "notes/plan.json"), "notes"),
        (("render", "dev", "--out", "notes"), "notes"),
        (("render", "dev", "--format", "kustomize", "--out", "notes/x"), "notes"),
        (("plan", "dev", "--out", "folder"), "folder"),
        pytest.param(
            ("plan", "dev", "--out", "/proc/x.plan"),
            "/proc/x.plan",
            marks=pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc"),
        ),
    ],
)
def test_an_output_path_that_cannot_be_written(
    project: Any, refused: Any, words: tuple[str, ...], blocked: str
) -> None:
    (project.root / "notes").write_text("a file")
    (project.root / "folder").mkdir()
    result = refused(*words, code=2)
    assert result.err.startswith("error: ")
    assert blocked in result.err


def test_render_writes_all_stacks_or_none(project: Any, refused: Any) -> None:
    (project.root / "out").mkdir()
    (project.root / "out" / "prod").write_text("in the way")
    assert "out/prod" in refused("render", "--all", "--out", "out", code=2).err


def test_render_writes_nothing_if_a_stack_cannot_be_planned(project: Any, refused: Any) -> None:
    project.edit(("replicas: 2", "replicas: -2"))
    assert refused("render", "--all", code=2).errors == ["CFG012"]


def test_outside_of_a_project(run: Any, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder, word in ((empty, "Pulumi.yaml"), (empty / "nope", "not a folder")):
        result = run("plan", "dev", "-C", str(folder))
        assert result.code == 2
        assert str(folder) in result.words
        assert word in result.words


USAGE = [
    "",
    "pln",
    "plan",
    "plan dev --all",
    "help",
    "version",
    "validate dev",
    "logs train-1",
    "job lst",
    "job ls",
    "environment stop",
    "plan dev --no",
    "plan dev --bogus",
    "plan dev --targt x",
    "job",
    "pipeline --foo",
    "job render dev x --follow",
    "diff dev prod",
    "blame dev",
    "job submit dev --devise A10",
    "diff dev --base main",
    "plan --stack dev",
    "init --stack prod",
    "plan stacks/Pulumi.dev.yaml",
    "plan dev.yaml",
    "plan stagin",
    "plan Pulumi.yaml",
    "apply dev --ye",
    "plan dev --format markdown",
    "init dev",
    "preview dev",
    "job list dev more",
    "plan dev prod --out x",
    "plan dev --target nope",
    "diff dev --target ray",
    "diff dev --context x",
    "diff dev --context -1",
    "preview --limit x",
    "job logs dev train-1 --tail x",
    "blame dev ray-head spec.replcas",
    "blame dev ray-head spec[",
    "blame dev ray-head cpu",
    "gpus a11",
    "gpus dev",
    "gpus --team red --nodes",
    "job render dev train.ipynb",
    "plan dev --matrix --out x",
    "init --context dev",
    "patches ray-worker@",
    "gpus --cuda new",
    "patches ray-workers",
    "explain GPU999",
    "explain gpu1",
    "schema plans",
    "completion ksh",
    "show nope",
    "job why dev",
    "job submit dev",
    "environment show dev",
    "pipeline render dev",
    "job why train-1",
    "apply",
    "apply dev --plan x",
    "apply --plan nope.json",
]


def test_wrong_usage_is_one_message_with_the_next_step(refused: Any, golden: Any) -> None:
    results = [refused(*line.split(), code=2) for line in USAGE]
    for result in results:
        assert result.out == "", result
        assert result.err.startswith("error: "), result
        assert "→" in result.err, result
    golden(*results)


def test_an_error_is_a_document_with_json(run: Any) -> None:
    result = run("plan", "stagin", "--json")
    assert (result.code, result.err) == (2, "")
    assert "'stagin'" in json.loads(result.out)["error"]["summary"]


def test_a_stack_without_a_context_changes_no_cluster(
    project: Any, refused: Any, no_cluster: Path, monkeypatch: pytest.MonkeyPatch, golden: Any
) -> None:
    for verb in ("apply", "destroy"):
        monkeypatch.setattr(f"modelyard.cli.{verb}.need_engine", lambda: None)
    project.edit(("  kubernetes:context: dev\n", ""))
    # The refusal comes before any question.
    golden(*(refused(verb, "dev", *yes, code=2) for verb in ("apply", "destroy") for yes in ((), ("--yes",))))
    # In a pod without a kubeconfig, its service account leads to one cluster.
    no_cluster.unlink()
    for verb in ("apply", "destroy"):
        assert "kubernetes:context" not in refused(verb, "dev", "--yes", code=3).words


def test_a_stack_without_a_context_is_a_warning_at_its_settings(project: Any, run: Any) -> None:
    project.edit(("  kubernetes:context: dev\n", ""))
    result = run("check", "dev", "--json")
    (warning,) = (one for one in json.loads(result.out)["findings"] if one["severity"] == "warning")
    assert result.code == 0
    assert (warning["code"], warning["file"], warning["line"]) == ("CFG024", "stacks/Pulumi.dev.yaml", 3)
    assert "kubernetes:context" in warning["remedy"]


KUBECONFIGS = [
    "a: [",
    "{}",
    "[]",
    "clusters: []\ncontexts: [{name: dev, context: {cluster: x, user: y}}]",
    KUBECONFIG.format(server="nonsense"),
    KUBECONFIG.format(server="http://[::1"),
    KUBECONFIG.format(server="http://127.0.0.1:9").replace(
        "token: expired", "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: no-such-plugin}"
    ),
]


def test_kubeconfigs_that_cannot_be_used(
    refused: Any, no_cluster: Path, monkeypatch: pytest.MonkeyPatch, golden: Any
) -> None:
    missing_context = refused("plan", "prod", "--live", code=3)
    unusable = []
    for content in KUBECONFIGS:
        no_cluster.write_text(content)
        unusable.append(refused("plan", "dev", "--live", code=3))
    monkeypatch.setenv("KUBECONFIG", "/nonexistent/kubeconfig")
    golden(missing_context, *unusable, refused("plan", "dev", "--live", code=3))


def test_a_context_of_an_option_that_is_missing_is_corrected_there(refused: Any, no_cluster: Path) -> None:
    given = refused("record", "dev", "--context", "nope", code=3).words
    assert ("set --context" in given, "kubernetes:context" in given) == (True, False)
    assert "kubernetes:context" in refused("record", "prod", code=3).words


def test_kubeconfig_may_list_several_files(refused: Any, no_cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", f"/nonexistent:{no_cluster}")
    assert "refused" in refused("plan", "dev", "--live", code=3).words


@pytest.fixture
def server(no_cluster: Path) -> Iterator[dict[str, Any]]:
    """A server that answers every question in the same way."""
    answer: dict[str, Any] = {"status": 401, "body": {"kind": "Status", "status": "Failure", "code": 401}}

    class Handler(Quiet):
        def do_GET(self) -> None:
            self.answer(json.dumps(answer["body"]).encode(), answer["status"], Content_Type="application/json")

    with listening(Handler) as url:
        no_cluster.write_text(KUBECONFIG.format(server=url))
        yield answer


def test_servers_that_answer_with_an_error(
    refused: Any, server: dict[str, Any], monkeypatch: pytest.MonkeyPatch, golden: Any
) -> None:
    monkeypatch.setattr("modelyard.cluster.requests.PAUSES", ())
    results = []
    for status, body in (
        (401, {"kind": "Status", "code": 401}),
        (403, {"kind": "Status", "code": 403, "message": "no list"}),
        (500, {"kind": "Status", "code": 500, "message": "etcd"}),
        (200, {"hello": "world"}),
    ):
        server.update(status=status, body=body)
        results.append(refused("plan", "dev", "--live", code=3))
    golden(*results)


def test_each_unreachable_cluster_is_an_error_of_its_stack(run: Any, no_cluster: Path) -> None:
    result = run("plan", "dev", "prod", "--live", "--json")
    dev, prod = (plan["error"]["summary"] for plan in json.loads(result.out)["plans"])
    assert result.code == 3
    assert "refused" in dev
    assert "'prod'" in prod


def test_a_missing_engine_is_reported_first(refused: Any, monkeypatch: pytest.MonkeyPatch, golden: Any) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    golden(*(refused(verb, "dev", code=3) for verb in ("apply", "destroy", "drift")))


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("answer", ["", "y\n", "YES\n", "no\n"])
def test_destroy_shows_what_it_changes_and_takes_only_yes(
    refused: Any, applied: Any, monkeypatch: pytest.MonkeyPatch, golden: Any, answer: str, lost: bool
) -> None:
    """It asks on a terminal only, after it has looked at the cluster."""

    looked = []

    def look(root: Path, stack: Stack) -> _Destroy:
        state, _ = load_recorded(root, stack.name)
        assert state is not None
        state = state._replace(state_objects={key: StateObject(managed=False) for key in state.objects.reveal()})
        looked.append(destroy_plan(stack, load_library(root), {"": state}))
        return _Destroy(looked[-1], {"": None}, 5)

    applied("dev")
    monkeypatch.setattr("modelyard.cli.destroy.need_engine", lambda: None)
    monkeypatch.setattr("modelyard.cli.destroy._look", look)
    monkeypatch.setattr("modelyard.cli.destroy.report_runs", lambda *_: lost)
    terminal = StringIO(answer)
    terminal.isatty = lambda: bool(answer)  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", terminal)
    result = refused("destroy", "dev", code=2)
    assert result.out.splitlines() == plan_text(looked[0], next_step=False)
    golden(result.err)


DAMAGES: list[Callable[[str], str]] = [
    lambda text: text.replace('"gpusAfter": 1', '"gpusAfter": 2'),
    lambda text: text[:1],
    lambda text: text.replace('"formatVersion": 2', '"formatVersion": 3'),
    lambda text: "[]",
    lambda text: "\x00\x1b[31m",
]


def test_plan_files_that_cannot_be_used(run: Any, refused: Any, project: Any, golden: Any) -> None:
    assert run("plan", "dev", "--out", "plan.json").code == 0
    file = project.root / "plan.json"
    whole, results = file.read_text(), []
    for damage in DAMAGES:
        file.write_text(damage(whole))
        results += [refused(*verb, "plan.json", code=2) for verb in (("show",), ("apply", "--plan"))]
    golden(*results)


def test_a_stop_can_be_pickled() -> None:
    import pickle

    stop = pickle.loads(pickle.dumps(Stop(Exit.STALE, "old", "plan again")))
    assert (stop.code, stop.summary, stop.remedy, str(stop)) == (Exit.STALE, "old", "plan again", "old")


def test_a_closed_pipe_ends_the_run_quietly(project: Any, cli: Any) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    for words in (("plan", "--all", "--json"), ("explain",)):
        done = subprocess.run(
            [*cli.PROGRAM, *words], cwd=project.root, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (Exit.PIPE, "")
    os.close(writer)


def test_a_stream_that_is_closed_from_the_start(project: Any, cli: Any, golden: Any) -> None:
    program = " ".join(map(shlex.quote, cli.PROGRAM))

    def shell(words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            f"{program} {words}", shell=True, cwd=project.root, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    code, out, err = shell("plan dev >&-")
    assert (code, out) == (2, "")
    assert shell("plan dve 2>&-") == (2, "", "")
    assert shell("gpus >&- 2>&-") == (2, "", "")
    golden(err)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error(project: Any, cli: Any, golden: Any) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [*cli.PROGRAM, "explain"], cwd=project.root, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    golden(done.stderr)


STARTED = """
import sys
from modelyard.catalog import templates
from modelyard.cli import fleet, main
# Running plans end by themselves.
templates.SECONDS = 1.0
fleet.WORTH_A_POOL = 6
print("started", flush=True)
sys.exit(main())
"""


@pytest.mark.parametrize("stacks", [1, 6])
def test_an_interrupt_ends_the_run_in_one_line(project: Any, cli: Any, stacks: int) -> None:
    loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    project.patch("mine", loops)
    names = ["dev"]
    for number in range(1, stacks):
        names.append(f"d{number}")
        project.stack_file(names[-1]).write_bytes(project.stack_file().read_bytes())
        (project.root / "stacks/recorded" / names[-1]).symlink_to("dev")
    child = subprocess.Popen(
        [sys.executable, "-c", STARTED, "plan", *names],
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "started\n"
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.7)
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (130, "", "\ninterrupted\n")


def test_characters_outside_the_encoding_are_escaped(project: Any, cli: Any) -> None:
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [*cli.PROGRAM, "plan", "dev"], cwd=project.root, env=ascii_only, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "\\u2192" in done.stdout


BROKEN_LOCK = RuntimeError("oops")
BROKEN_LOCK.__context__ = KeyboardInterrupt()


@pytest.mark.parametrize(
    ("fault", "code"), [(ZeroDivisionError("oops"), 70), (KeyboardInterrupt(), 130), (BROKEN_LOCK, 130)], ids=repr
)
def test_an_internal_error_and_an_interrupt_are_shown_without_a_traceback(
    run: Any, monkeypatch: pytest.MonkeyPatch, fault: BaseException, code: int
) -> None:
    def broken(*_words: object) -> None:
        raise fault

    monkeypatch.setattr("modelyard.cli.gpus.run", broken)
    text, document = run("gpus"), run("gpus", "--json")
    assert (text.code, document.code, document.err) == (code, code, "")
    summary = json.loads(document.out)["error"]["summary"]
    for shown in (text.err, summary):
        assert ("internal error: ZeroDivisionError " in shown) == (code == 70), shown
        assert ("modelyard/cli/app.py:" in shown) == (code == 70), shown
        assert ("interrupted" in shown) == (code == 130), shown
        assert "oops" not in shown
        assert "Traceback" not in shown
    assert sys.exc_info() == (None, None, None)


def json_verbs() -> list[tuple[str, ...]]:
    """Every verb that has ``--json``."""
    found: list[tuple[str, ...]] = []
    for verb in VERBS:
        parser = verb_parser(verb)
        inner = [action.choices for action in parser._actions if isinstance(action.choices, dict)]
        parsers = {(verb, name): one for names in inner for name, one in names.items()} or {(verb,): parser}
        found += [words for words, one in parsers.items() if "--json" in one._option_string_actions]
    return found


@pytest.mark.parametrize("words", json_verbs(), ids=" ".join)
def test_every_verb_with_json_ends_in_json(run: Any, words: tuple[str, ...]) -> None:
    for wrong in ((), ("nope",), ("--nope",), ("dev", "nope", "nope", "nope"), ("nope", "nope", "nope", "nope")):
        result = run(*words, *wrong, "--json")
        assert isinstance(json.loads(result.out), dict), result


def full() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def pipe_without_a_reader() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


UNREADABLE: dict[str, Callable[[], int]] = {
    "full": full,
    "closed": lambda: CLOSED,
    "a pipe without a reader": pipe_without_a_reader,
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("stderr", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("nonsense", 2),
        ("plan nope", 2),
        ("plan dev --verbose", 0),
        ("check dev --out checked.txt", 0),
        ("remote dev --out-dir machines", 0),
        ("plan staging", 1),
        ("check staging", 1),
        ("render staging", 1),
        ("render dev", 0),
        ("fmt", 2),
        ("plan dev --live", 3),
        ("destroy dev", 3),
    ],
)
def test_an_unwritable_standard_error_changes_no_exit_code(
    project: Any, process: Any, no_cluster: Path, tmp_path: Path, words: str, code: int, stderr: Callable[[], int]
) -> None:
    project.add("modelyard:targets:\n  rayHead: {deployment: deployment-ray-hed}", "staging")
    (project.root / "stacks/Pulumi.broken.yaml").write_text("config: [")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/pulumi").symlink_to("/bin/true")
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    to = stderr()
    done = process(*words.split(), environment=environment, stderr=to)
    if to != CLOSED:
        os.close(to)
    assert done.returncode == code


@pytest.mark.parametrize(
    ("words", "to"),
    [
        ("plan dev --notes", ""),
        ("plan nope", ""),
        ("plan --all --json", ""),
        ("plan dve", "2>&-"),
        ("fmt", "2>/dev/full"),
    ],
)
def test_a_fork_ends_like_a_new_python(project: Any, cli: Any, process: Any, words: str, to: str) -> None:
    (project.root / "stacks/Pulumi.broken.yaml").write_text("config: [")
    new = subprocess.run(
        ["bash", "-c", f'"$@" {to}', "bash", *cli.PROGRAM, *words.split()],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
    )
    stderr = {"": None, "2>&-": CLOSED, "2>/dev/full": full()}[to]
    done = process(*words.split(), stderr=stderr)
    assert (done.returncode, done.stdout, done.stderr) == (new.returncode, new.stdout, new.stderr)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_error_that_cannot_be_written_as_a_document_keeps_its_exit_code(project: Any, cli: Any) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [*cli.PROGRAM, "plan", "nope", "--json"],
            cwd=project.root,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "")


def test_a_question_that_cannot_be_written_is_answered_no() -> None:
    asked = "import sys; from modelyard.cli.streams import Heedless; from modelyard.cli.question import agreed\n"
    asked += "sys.stderr = Heedless(sys.stderr); print(agreed('Really? '))"
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-c", asked], input="yes\n", stderr=full, stdout=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stdout) == (0, "False\n")
