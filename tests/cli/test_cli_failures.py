"""What can go wrong around the input: paths, pipes, clusters, engines, credentials, interrupts."""

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

from modelyard.cli.exit import Exit, Stop
from modelyard.cli.parser import VERBS, verb_parser
from tests.support.forked_process import CLOSED
from tests.support.web_servers import Quiet, listening

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
    """A kubeconfig that leads to a port nobody listens on."""
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG.format(server="http://127.0.0.1:9"))
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


@pytest.mark.parametrize(
    ("words", "blocked"),
    [
        (("plan", "dev", "--out", "notes/plan.json"), "notes"),
        (("render", "dev", "--out", "notes"), "notes"),
        (("render", "dev", "--format", "kustomize", "--out", "notes/x"), "notes"),
        (("plan", "dev", "--out", "folder"), "folder"),
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


def test_rendering_several_stacks_writes_all_of_them_or_none(project: Any, refused: Any) -> None:
    (project.root / "out").mkdir()
    (project.root / "out" / "prod").write_text("in the way")
    assert "out/prod" in refused("render", "--all", "--out", "out", code=2).err


def test_rendering_stops_before_writing_when_a_stack_cannot_be_planned(project: Any, refused: Any) -> None:
    project.edit(("replicas: 2", "replicas: -2"))
    result = refused("render", "--all", code=2)
    assert (result.errors, "nothing was written" in result.err) == (["CFG012"], True)


def test_outside_of_a_project(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    result = run("-C", str(empty), "plan", "dev")
    assert result.code == 2
    assert f"no Pulumi.yaml in {empty} or above it" in result.words
    assert "is not a folder" in run("plan", "dev", "-C", str(empty / "nope")).words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no verb given"),
        (("pln",), "did you mean modelyard plan?"),
        (("plan",), "dev, prod, staging, or give --all, or set MODELYARD_STACK"),
        (("plan", "dev", "--all"), "--all"),
        (("help",), "modelyard --help lists the verbs"),
        (("version",), "run modelyard --version"),
        (("validate", "dev"), "modelyard check validates stacks"),
        (("logs", "train-1"), "unknown verb 'logs' → modelyard job logs shows the logs of a run"),
        (("job", "lst"), "unknown verb 'job lst' → did you mean list? see modelyard job --help"),
        (("job", "ls"), "unknown verb 'job ls' → did you mean list? see modelyard job --help"),
        (("environment", "stop"), "unknown verb 'environment stop' → see modelyard environment --help"),
        (("plan", "dev", "--no"), "unknown option '--no' → did you mean --no-cost, --notes or --no-policies?"),
        (("plan", "dev", "--bogus"), "unknown option '--bogus' → see modelyard plan --help"),
        (("plan", "dev", "--targt", "x"), "option '--targt' → did you mean --target? see modelyard plan --help"),
        (("job", "submit", "dev", "--devise", "A10"), "did you mean --device?"),
        # What asks before it changes a cluster is not answered by half a word.
        (("diff", "dev", "--base", "main"), "unknown option '--base' → modelyard preview compares with another commit"),
        (("plan", "--stack", "dev"), "unknown option '--stack' → write the stack's name without an option"),
        (("init", "--stack", "prod"), "unknown option '--stack' → did you mean --stacks? see modelyard init --help"),
        (("plan", "stacks/Pulumi.dev.yaml"), "unknown stack 'stacks/Pulumi.dev.yaml' → did you mean dev? The stacks"),
        (("plan", "dev.yaml"), "unknown stack 'dev.yaml' → did you mean dev? The stacks are"),
        (("plan", "Pulumi.yaml"), "unknown stack 'Pulumi.yaml' → to apply a saved plan"),
        (("apply", "dev", "--ye"), "unknown option '--ye' → did you mean --yes?"),
        (("plan", "dev", "--format", "markdown"), "unknown option '--format' → did you mean --json?"),
        (("init", "dev"), "unknown argument 'dev' → give the names of new stacks with --stacks"),
        (("preview", "dev"), "unknown argument 'dev' → it compares all stacks of the project"),
        (("job", "list", "dev", "more"), "unknown argument 'more' → see modelyard job --help"),
        (("plan", "dev", "prod", "--out", "x"), "--out"),
        (("plan", "dev", "--target", "nope"), "deployment-api-server"),
        (("diff", "dev", "--target", "ray"), "deployment-ray-head"),
        (("diff", "dev", "--context", "x"), "invalid int value: 'x'"),
        (("blame", "dev", "ray-head", "spec.replcas"), "did you mean spec.replicas, status.replicas or"),
        (("blame", "dev", "ray-head", "spec["), "'spec['"),
        (("blame", "dev", "ray-head", "cpu"), "limits.cpu requests.cpu"),
        (("gpus", "a11"), "unknown GPU 'a11'"),
        (("gpus", "--cuda", "new"), "such as 11.7 or 12.4"),
        (("patches", "ray-workers"), "did you mean ray-worker"),
        (("explain", "GPU999"), "did you mean GPU0"),
        (("explain", "gpu1"), "did you mean GPU001?"),
        (("schema", "plans"), "invalid choice: 'plans' (choose from stack, prices, "),
        (("schema", "plans"), "→ did you mean plan? see modelyard schema --help"),
        (("completion", "ksh"), "invalid choice: 'ksh'"),
        (("show", "nope"), "'nope'"),
        (("job", "why", "dev"), "dev is a stack, and no run was given → name the run after the stack"),
        (("job", "submit", "dev"), "dev is a stack, and no job was given → name the job after the stack"),
        (("environment", "show", "dev"), "dev is a stack, and no environment was given"),
        (("pipeline", "render", "dev"), "dev is a stack, and no pipeline was given"),
        (("job", "why", "train-1"), "no stack was given"),
        (("apply",), "no stack was given → name one of dev, prod, staging, or set MODELYARD_STACK"),
        (("apply", "dev", "--plan", "x"), "both a stack and --plan were given"),
        (("apply", "--plan", "nope.json"), "nope.json"),
    ],
)
def test_wrong_usage_is_told_in_one_message_with_the_next_step(refused: Any, words: tuple[str, ...], said: str) -> None:
    result = refused(*words, code=2)
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert said in result.words
    assert "→" in result.err


def test_json_errors_are_a_document_on_standard_output(run: Any) -> None:
    result = run("plan", "stagin", "--json")
    document = json.loads(result.out)
    assert result.code == 2
    assert result.err == ""
    assert document["error"]["summary"] == "unknown stack 'stagin'"


@pytest.mark.parametrize("words", [("apply", "dev"), ("apply", "dev", "--yes"), ("destroy", "dev")])
def test_a_stack_without_a_context_changes_no_cluster(
    project: Any, refused: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...]
) -> None:
    project.edit(("  kubernetes:context: dev\n", ""))
    config = tmp_path / "config"
    config.write_text("{current-context: other, contexts: [{name: other, context: {cluster: c, user: u}}]}")
    monkeypatch.setenv("KUBECONFIG", str(config))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/pulumi").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    result = refused(*words, code=2)
    assert "dev does not name its cluster: kubernetes:context is not set; nothing was changed" in result.words
    assert "→ set it in stacks/Pulumi.dev.yaml" in result.words
    # It is not asked first.
    assert "Destroying" not in result.text


def test_a_stack_without_a_context_is_a_warning_at_its_settings(project: Any, run: Any) -> None:
    project.edit(("  kubernetes:context: dev\n", ""))
    result = run("check", "dev")
    assert result.code == 0
    assert "warning CFG024 dev does not name its cluster" in result.words
    assert "stacks/Pulumi.dev.yaml:3:1" in result.text
    assert "→ set kubernetes:context to a context of your kubeconfig" in result.words


def test_no_kubeconfig(refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nonexistent/kubeconfig")
    result = refused("plan", "dev", "--live", code=3)
    assert "/nonexistent/kubeconfig" in result.words
    assert "→ set KUBECONFIG" in result.words


def test_a_cluster_that_does_not_answer(refused: Any, no_cluster: Path) -> None:
    result = refused("check", "dev", "--live", code=3)
    assert "refused" in result.words


def test_a_context_that_the_kubeconfig_has_not(refused: Any, no_cluster: Path) -> None:
    result = refused("plan", "prod", "--live", code=3)
    assert {"'prod';", "dev"} <= set(result.words.split())


def test_kubeconfig_may_list_several_files(refused: Any, no_cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", f"/nonexistent:{no_cluster}")
    assert "refused" in refused("plan", "dev", "--live", code=3).words


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a: [", "line 2, column 1 is not YAML"),
        ("{}", "it lacks 'clusters'"),
        ("[]", "no kubeconfig could be read"),
        ("clusters: []\ncontexts: [{name: dev, context: {cluster: x, user: y}}]", "names 'x', which is not in it"),
        (KUBECONFIG.format(server="nonsense"), "the API server cannot be reached"),
        (KUBECONFIG.format(server="http://[::1"), "credentials cannot be used"),
        (
            KUBECONFIG.format(server="http://127.0.0.1:9").replace(
                "token: expired", "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: no-such-plugin}"
            ),
            "credentials cannot be used: no such file or directory: no-such-plugin",
        ),
    ],
)
def test_kubeconfigs_that_cannot_be_used(refused: Any, no_cluster: Path, content: str, said: str) -> None:
    no_cluster.write_text(content)
    assert said in refused("plan", "dev", "--live", code=3).words


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


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, {"kind": "Status", "code": 401}, "→ log in"),
        (403, {"kind": "Status", "code": 403, "message": "no list"}, "namespaces: no list"),
        (500, {"kind": "Status", "code": 500, "message": "etcd"}, "namespaces: etcd"),
        (200, {"hello": "world"}, "kubeconfig"),
    ],
)
def test_servers_that_do_not_tell(
    refused: Any, server: dict[str, Any], monkeypatch: pytest.MonkeyPatch, status: int, body: Any, said: str
) -> None:
    monkeypatch.setattr("modelyard.cluster.requests.PAUSES", ())
    server.update(status=status, body=body)
    assert said in refused("plan", "dev", "--live", code=3).words


def test_several_stacks_are_planned_although_one_cluster_does_not_answer(run: Any, no_cluster: Path) -> None:
    result = run("plan", "dev", "prod", "--live", "--json")
    plans = json.loads(result.out)["plans"]
    assert result.code == 3
    assert ["cannot be reached" in plans[0]["error"]["summary"], "no context" in plans[1]["error"]["summary"]] == [
        True
    ] * 2


@pytest.mark.parametrize("words", [("apply", "dev"), ("destroy", "dev")])
def test_a_missing_engine_is_told_before_anything_else(
    refused: Any, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    result = refused(*words, code=3)
    assert result.words == (
        "error: the Pulumi engine (pulumi) is not on PATH → install the Pulumi CLI (https://www.pulumi.com/docs/install)"
    )


@pytest.mark.parametrize("verb", ["apply", "destroy"])
def test_no_cluster_is_changed_that_only_the_current_context_names(
    project: Any, refused: Any, no_cluster: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setattr(f"modelyard.cli.{verb}.need_engine", lambda: None)
    project.edit(("  kubernetes:context: dev\n", ""))
    result = refused(verb, "dev", "--yes", code=2)
    assert "nothing was changed → set it in stacks/Pulumi.dev.yaml" in result.words
    # In a pod without a kubeconfig, its service account leads to one cluster.
    no_cluster.unlink()
    assert "kubernetes:context" not in refused(verb, "dev", "--yes", code=3).words


@pytest.mark.parametrize("answer", ["", "y\n", "YES\n", "no\n"])
def test_destroy_takes_only_yes(refused: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str) -> None:
    """Nobody is asked who cannot answer, and nothing but yes counts; which cluster it is was looked at before."""
    monkeypatch.setattr("modelyard.cli.destroy.need_engine", lambda: None)
    monkeypatch.setattr("modelyard.cli.destroy._look", lambda *_words: None)
    terminal = StringIO(answer)
    terminal.isatty = lambda: bool(answer)  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", terminal)
    result = refused("destroy", "dev", code=2)
    assert result.words.startswith("Destroying dev ")
    assert "--yes" in result.words


def test_a_destroy_that_loses_jobs_asks_once_more(refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modelyard.cli.destroy.need_engine", lambda: None)
    monkeypatch.setattr("modelyard.cli.destroy._look", lambda *_words: ({}, True, 0))
    terminal = StringIO("yes\nno\n")
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", terminal)
    result = refused("destroy", "dev", code=2)
    assert result.words.count("Type yes to continue") == 2


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text.replace('"gpusAfter": 1', '"gpusAfter": 2'), "plan.json"),
        (lambda text: text[:500], "it is not JSON"),
        (
            lambda text: text.replace('"formatVersion": 2', '"formatVersion": 3'),
            "formatVersion 3",
        ),
        (lambda text: "[]", "plan.json"),
        (lambda text: "\x00\x1b[31m", "it is not JSON"),
    ],
)
@pytest.mark.parametrize("verb", [("show",), ("apply", "--plan")])
def test_plan_files_that_cannot_be_used(
    run: Any, refused: Any, project: Any, verb: tuple[str, ...], damage: Any, said: str
) -> None:
    assert run("plan", "dev", "--out", "plan.json").code == 0
    file = project.root / "plan.json"
    file.write_text(damage(file.read_text()))
    result = refused(*verb, "plan.json", code=2)
    assert result.words.startswith("error: plan.json ")
    assert said in result.words


def test_a_stop_comes_whole_out_of_another_process() -> None:
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
        assert (done.returncode, done.stderr) == (0, "")
    os.close(writer)


def test_a_stream_that_is_closed_from_the_start(project: Any, cli: Any) -> None:
    program = " ".join(map(shlex.quote, cli.PROGRAM))

    def shell(words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            f"{program} {words}", shell=True, cwd=project.root, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    said = "error: standard output is closed\n→ redirect it to /dev/null if you do not need it\n"
    assert shell("plan dev >&-") == (2, "", said)
    assert shell("plan dve 2>&-") == (2, "", "")
    assert shell("gpus >&- 2>&-") == (2, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told(project: Any, cli: Any) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [*cli.PROGRAM, "explain"], cwd=project.root, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "error: the output cannot be written: no space left on device\n→ write it elsewhere\n"


STARTED = """
import sys
from modelyard.catalog import templates
from modelyard.cli import main
# What is at work ends by itself.
templates.SECONDS = 2.0
print("started", flush=True)
sys.exit(main())
"""


@pytest.mark.parametrize("stacks", [1, 60])
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
    out, err = child.communicate(timeout=10)
    assert (child.returncode, out, err) == (130, "", "\ninterrupted\n")


def test_characters_that_the_output_cannot_show_become_escapes(project: Any, cli: Any) -> None:
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [*cli.PROGRAM, "plan", "dev"], cwd=project.root, env=ascii_only, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "\\u2192" in done.stdout


def test_a_fault_of_our_own_says_so_without_a_traceback(
    run: Any, monkeypatch: pytest.MonkeyPatch, project: Any
) -> None:
    def broken(*_words: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("modelyard.cli.gpus.run", broken)
    result = run("gpus")
    assert result.code == 70
    assert result.err.startswith("internal error: ZeroDivisionError in modelyard/cli/app.py:")
    assert "oops" not in result.text
    assert "Traceback" not in result.err
    assert sys.exc_info() == (None, None, None)


@pytest.mark.parametrize(("fault", "code"), [(ZeroDivisionError("oops"), 70), (KeyboardInterrupt(), 130)], ids=str)
def test_a_fault_of_our_own_and_an_interrupt_are_json_too(
    run: Any, monkeypatch: pytest.MonkeyPatch, fault: BaseException, code: int
) -> None:
    def broken(*_words: object) -> None:
        raise fault

    monkeypatch.setattr("modelyard.cli.gpus.run", broken)
    result = run("gpus", "--json")
    assert (result.code, result.err) == (code, "")
    assert "oops" not in result.out
    assert json.loads(result.out)["error"]["summary"].startswith("internal error" if code == 70 else "interrupted")


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


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_a_place_that_cannot_be_written_is_named_as_it_was_given(refused: Any) -> None:
    result = refused("plan", "dev", "--out", "/proc/x.plan", code=2)
    assert "error: /proc/x.plan cannot be used" in result.err


def full() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def pipe_that_nobody_reads() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


UNREADABLE: dict[str, Callable[[], int]] = {
    "full": full,
    "closed": lambda: CLOSED,
    "a pipe that nobody reads": pipe_that_nobody_reads,
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
        ("destroy dev", 2),
    ],
)
def test_what_cannot_be_said_on_standard_error_changes_no_exit_code(
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
def test_a_copy_of_this_process_ends_as_a_new_python_does(
    project: Any, cli: Any, process: Any, words: str, to: str
) -> None:
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


def test_nobody_agrees_to_a_question_that_nobody_can_read() -> None:
    asked = "import sys; from modelyard.cli.streams import Heedless; from modelyard.cli.question import agreed\n"
    asked += "sys.stderr = Heedless(sys.stderr); print(agreed('Really? '))"
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-c", asked], input="yes\n", stderr=full, stdout=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stdout) == (0, "False\n")
