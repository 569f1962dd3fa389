"""``modelyard job list``, ``why``, ``logs`` and ``cancel``, and ``gpus --live``, on a server that answers as the API
server does.

What they print, word for word, is in ``tests/golden/test_cli_runs.txt``.
"""

import io
import itertools
import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, tzinfo
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest
import yaml

from modelyard.cli.destroy import report_runs
from modelyard.cli.job import listed_again as again
from modelyard.cluster.connection import ClusterError
from modelyard.engine.applied import AppliedStack
from modelyard.engine.failure import other_cluster
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey
from modelyard.plan.drift import AppliedObject
from modelyard.stack import load
from tests.support.api_server import ApiServer, api_server
from tests.support.cli_project import Result
from tests.support.hostile_text import EVIL, harmless
from tests.support.pool_objects import (
    LONG_AGO,
    NOW,
    POOL,
    RECENTLY,
    cluster_queue,
    condition,
    flavor,
    job,
    local_queue,
    node,
    pod,
    spec,
    waits,
    workload,
)

RUNNING, WAITING, TRIALS = "train-abc12", "late-bcd23", "sweep-xyz99"


class Noon(datetime):
    """A clock that stands still, so that every age is always the same."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return NOW.astimezone(tz)


@pytest.fixture
def cluster(project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A run of two workers, one that waits for their quota, one that failed, a search, and another stack's run."""
    project.edit(("config:\n", f"config:{POOL}"))
    running = job(RUNNING, workers=2, active=2, ready=2, startTime=LONG_AGO)
    waiting = job(WAITING, suspend=True, since=RECENTLY)
    for module in ("job", "gpus"):
        monkeypatch.setattr(f"modelyard.cli.{module}.datetime", Noon)
    late = condition("Failed", reason="DeadlineExceeded", message="Job was active longer than specified deadline")
    failed = job("old-cde34", conditions=[late], startTime=LONG_AGO)
    trials = [
        job(f"{TRIALS}-{at}", run=TRIALS, queue="speech", namespace="speech", suspend=at > 0, active=1, ready=1)
        for at in range(3)
    ]
    workers = [
        pod(f"{RUNNING}-{at}-x", f"n{at}", run=RUNNING, owner=("Job", RUNNING, f"uid-of-{RUNNING}")) for at in range(2)
    ]
    for at, worker in enumerate(workers):
        worker["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": str(at)}
    with api_server(tmp_path) as made:
        made.objects |= {
            "nodes": [node("n0", gpus=1), node("n1", gpus=2), node("cpu", "", 0)],
            "pods": [
                *workers,
                pod("ended", "n1", phase="Succeeded"),
                pod("s-0", "n1", spec(0), namespace="speech", run=TRIALS, owner=("Job", f"{TRIALS}-0", "u")),
            ],
            "jobs": [running, waiting, failed, *trials, job("theirs-def45", stack="prod")],
            "rayjobs": [],
            "workloads": [workload(running, queue="team-vision"), workload(waiting, waits("1 more needed"))],
            "clusterqueues": [cluster_queue("team-vision", 2, 2)],
            "localqueues": [local_queue()],
            "resourceflavors": [flavor()],
        }
        monkeypatch.setenv("KUBECONFIG", str(made.kubeconfig))
        monkeypatch.setenv("no_proxy", "*")
        yield made


@pytest.fixture
def schema(run: Any) -> Any:
    """Checks a document against a part of the published schema."""
    from jsonschema import Draft202012Validator

    whole = json.loads(run("schema", "outputs").out)

    def check(document: Any, part: str) -> list[str]:
        validator = Draft202012Validator({**whole, "$ref": f"#/$defs/{part}"})
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]

    return check


def rows(text: str) -> dict[str, list[str]]:
    """The words of each line by its first word."""
    return {words[0]: words for line in text.splitlines() if (words := line.split())}


def test_list(cluster: ApiServer, run: Any, golden: Any) -> None:
    short, whole = run("job", "list", "dev"), run("job", "list", "dev", "--all")
    found, everything = rows(short.out), rows(whole.out)
    assert found[RUNNING][1:4] == ["running", "vision", "2"]
    assert found[WAITING][1:4] == ["queued", "vision", "1"]
    assert found[TRIALS][1:6] == ["running", "speech", "1", "of", "3"]
    assert "old-cde34" not in found
    assert everything["old-cde34"][-1] == "DeadlineExceeded"
    assert "theirs-def45" not in everything
    assert set(rows(run("job", "list", "dev", "--team", "speech").out)) == {"RUN", TRIALS}
    # The list comes in pages.
    assert any("continue=" in path for path in cluster.asked)
    golden(short, whole)


FAR = """
  modelyard:buckets: [{{name: lake, url: "s3://acme-lake", reachedBy: [platform, far]}}]
  modelyard:resources:
    - name: far
      type: training
      remote:
        cluster: {{controller: "{controller}", context: farm-dev, namespace: far-jobs}}
        data: {{shared: {{bucket: lake, prefix: datasets}}}}
        model: {{bucket: lake, prefix: models}}
"""


@pytest.fixture
def farm(cluster: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A second cluster, with one run; the kubeconfig has a context for each."""
    folder = tmp_path / "farm"
    folder.mkdir()
    with api_server(folder) as made:
        text = made.kubeconfig.read_text()
        for name in ("dev", "c", "u"):
            text = re.sub(rf": {name}$", f": farm-{name}", text, flags=re.MULTILINE)
        made.kubeconfig.write_text(text)
        made.objects |= {"jobs": [job("churn-fgh56", queue="far", namespace="far-jobs", active=1, ready=1)]}
        monkeypatch.setenv("KUBECONFIG", f"{cluster.kubeconfig}:{made.kubeconfig}")
        yield made


def test_runs_of_a_remote_cluster(cluster: ApiServer, farm: ApiServer, project: Any, run: Any, golden: Any) -> None:
    (server,) = yaml.safe_load(farm.kubeconfig.read_text())["clusters"]
    controller = server["cluster"]["server"]
    project.edit(("config:\n", f"config:{FAR.format(controller=controller)}"))
    listed = rows(run("job", "list", "dev", "--remote", "far").out)
    assert (set(listed), listed["RUN"][2], listed["churn-fgh56"][2]) == ({"RUN", "churn-fgh56"}, "QUEUE", "far")
    (one,) = json.loads(run("job", "list", "dev", "--remote", "far", "--json").out)["runs"]
    assert (one["team"], one["queue"]) == (None, "far")
    teams = run("job", "list", "dev", "--remote", "far", "--team", "far")
    assert "churn-fgh56" not in run("job", "list", "dev", "--all").out
    assert "churn-fgh56" in run("job", "why", "dev", "churn-fgh56", "--remote", "far").out
    failed = [condition("Failed", reason="BackoffLimitExceeded", message="too many failures")]
    farm.objects["jobs"].append(
        job("churn-old42", queue="far", namespace="far-jobs", conditions=failed, startTime=LONG_AGO)
    )
    state = {"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": RECENTLY}}
    status = {"phase": "Failed", "containerStatuses": [{"name": "job", "state": state}]}
    farm.objects["pods"] = [pod("churn-old42-0", "n1", namespace="far-jobs", run="churn-old42", **status)]
    why = run("job", "why", "dev", "churn-old42", "--remote", "far")
    silent = run("job", "logs", "dev", "churn-fgh56", "--remote", "far")
    missing = run("job", "why", "dev", "churn-fgh56")
    assert run("job", "cancel", "dev", "churn-fgh56", "--remote", "far", "--yes").code == 0
    assert [(plural, name) for plural, name, _ in farm.deleted] == [("jobs", "churn-fgh56")]
    assert cluster.deleted == []
    unknown = run("job", "list", "dev", "--remote", "fat")
    project.edit((controller, "https://10.8.0.5:6443"))
    elsewhere = run("job", "list", "dev", "--remote", "far")
    assert [one.code for one in (teams, silent, missing, unknown, elsewhere)] == [2, 1, 2, 2, 1]
    golden(teams, why, silent, missing, unknown, elsewhere.words.replace(controller, "https://farm"))


def test_json_follows_its_schema(cluster: ApiServer, run: Any, schema: Any) -> None:
    listed = json.loads(run("job", "list", "dev", "--all", "--json").out)
    assert schema(listed, "jobList") == []
    assert [one["name"] for one in listed["runs"]] == [WAITING, "old-cde34", TRIALS, RUNNING]
    why = json.loads(run("job", "why", "dev", WAITING, "--json").out)
    assert schema(why, "jobWhy") == []
    assert [one["about"] for one in why["causes"]] == ["queue", "quota"]
    live = json.loads(run("gpus", "--live", "dev", "--json").out)
    assert schema(live, "gpusLive") == []
    assert live["products"][0]["idle"] is None
    gone = json.loads(run("job", "cancel", "dev", RUNNING, "--yes", "--json").out)
    assert schema(gone, "jobCancel") == []
    assert (gone["gpus"], gone["deleted"]) == (2, [{"kind": "Job", "name": RUNNING}])


def test_position_in_the_queue(cluster: ApiServer, run: Any, golden: Any) -> None:
    earlier = job("early-efg56", suspend=True, since=LONG_AGO)
    cluster.objects["jobs"].append(earlier)
    cluster.objects["workloads"].append(workload(earlier))
    listed = json.loads(run("job", "list", "dev", "--json").out)["runs"]
    positions = {one["name"]: one["position"] for one in listed}
    assert positions == {"early-efg56": 1, WAITING: 2, TRIALS: None, RUNNING: None}
    golden(run("job", "list", "dev"))
    assert json.loads(run("job", "why", "dev", WAITING, "--json").out)["run"]["position"] == 2
    cluster.forbidden = {"workloads"}
    document = json.loads(run("job", "list", "dev", "--json").out)
    assert {one["position"] for one in document["runs"]} == {None}
    assert document["unread"] == ["workloads"]


def test_mine(cluster: ApiServer, run: Any, refused: Any, golden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for one, user in zip(cluster.objects["jobs"], ("ada", "grace"), strict=False):
        one["metadata"]["labels"]["modelyard.dev/user"] = user
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "ada")
    monkeypatch.delenv("MODELYARD_USER", raising=False)

    def mine() -> dict[str, str]:
        runs = json.loads(run("job", "list", "dev", "--mine", "--all", "--json").out)["runs"]
        return {one["name"]: one["user"] for one in runs}

    assert mine() == {RUNNING: "ada"}
    monkeypatch.setenv("MODELYARD_USER", "grace")
    assert mine() == {WAITING: "grace"}
    golden(*(refused("job", "cancel", "dev", name, "--mine", "--yes", code=2) for name in (RUNNING, TRIALS)))
    assert cluster.deleted == []
    assert run("job", "cancel", "dev", WAITING, "--mine", "--yes").code == 0
    assert [name for _, name, _ in cluster.deleted] == [WAITING]


def test_mine_needs_the_name_of_the_user(
    cluster: ApiServer, refused: Any, golden: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container may run as a user ID without a name."""

    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 1000910000")

    monkeypatch.delenv("MODELYARD_USER", raising=False)
    monkeypatch.setattr("getpass.getuser", nameless)
    golden(refused("job", "list", "dev", "--mine", code=2))


def test_why(cluster: ApiServer, run: Any, golden: Any) -> None:
    golden(*(run("job", "why", "dev", name) for name in (WAITING, "old-cde34")))


def test_a_name_that_is_not_a_run_of_the_stack_is_refused(cluster: ApiServer, refused: Any, golden: Any) -> None:
    names = ("train-abc21", "theirs-def45", "kube-dns")
    why, logs, cancel = (
        [refused("job", verb, "dev", name, code=2) for name in names] for verb in ("why", "logs", "cancel")
    )
    assert [one.err for one in why] == [one.err for one in logs] == [one.err for one in cancel]
    assert cluster.deleted == []
    golden(*why)


def test_a_job_without_labels_is_not_cancelled(cluster: ApiServer, refused: Any, golden: Any) -> None:
    foreign = job("backup-1")
    foreign["metadata"]["labels"] = {}
    cluster.objects["jobs"].append(foreign)
    golden(refused("job", "cancel", "dev", "backup-1", "--yes", code=2))
    assert cluster.deleted == []


def test_cancel_deletes_every_trial_and_waits_for_its_pods(cluster: ApiServer, run: Any, golden: Any) -> None:
    golden(run("job", "cancel", "dev", TRIALS, "--yes"))
    assert [(plural, name) for plural, name, _ in cluster.deleted] == [("jobs", f"{TRIALS}-{at}") for at in range(3)]
    for _, name, options in cluster.deleted:
        assert options["propagationPolicy"] == "Foreground"
        assert options["preconditions"] == {"uid": f"uid-of-{name}"}


def test_cancel_asks_and_only_yes_counts(
    cluster: ApiServer, run: Any, golden: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden(run("job", "cancel", "dev", RUNNING))
    for answer, code, count in (("y\n", 2, 0), ("yes\n", 0, 1)):
        terminal = io.StringIO(answer)
        monkeypatch.setattr(terminal, "isatty", lambda: True)
        monkeypatch.setattr("sys.stdin", terminal)
        assert run("job", "cancel", "dev", RUNNING).code == code
        assert len(cluster.deleted) == count


def test_an_ended_run_is_not_cancelled(cluster: ApiServer, run: Any, golden: Any, schema: Any) -> None:
    golden(run("job", "cancel", "dev", "old-cde34"))
    assert cluster.deleted == []
    document = json.loads(run("job", "cancel", "dev", "old-cde34", "--json").out)
    assert schema(document, "jobCancel") == []
    assert (document["state"], document["deleted"]) == ("failed", [])


def test_slices_are_counted_by_their_resource(cluster: ApiServer, run: Any, golden: Any) -> None:
    slices = job("cut-fgh34", workers=2, wants=spec(resource="nvidia.com/mig-1g.6gb"), startTime=LONG_AGO, active=2)
    cluster.objects["jobs"].append(slices)
    assert rows(run("job", "list", "dev").out)["cut-fgh34"][3:5] == ["2", "mig-1g.6gb"]
    starting = run("job", "cancel", "dev", "cut-fgh34")
    slices["status"]["ready"] = 2
    golden(starting, *(run("job", "cancel", "dev", "cut-fgh34", *sure) for sure in ((), ("--yes",))))


@pytest.mark.parametrize(
    ("made", "free"),
    [
        ({"active": 1, "ready": 1}, 1),
        ({"active": 1}, 1),
        ({"active": 1, "queue": None}, 1),
        ({"active": 1, "wants": spec(0)}, 0),
        ({"suspend": True}, 0),
        ({"suspend": True, "wants": spec(0)}, 0),
        ({"suspend": True, "queue": None}, 0),
    ],
    ids=["runs", "starts", "starts-in-no-queue", "starts-without-gpu", "waits", "waits-without-gpu", "suspended"],
)
def test_cancel_reports_what_a_run_uses_in_each_state(
    cluster: ApiServer, run: Any, golden: Any, made: Any, free: int
) -> None:
    cluster.objects["jobs"].append(job("each-ghi45", **made))
    cancel = ("job", "cancel", "dev", "each-ghi45")
    assert json.loads(run(*cancel, "--yes", "--json").out)["gpus"] == free
    golden(run(*cancel), run(*cancel, "--yes"))


def test_a_run_waiting_for_an_admission_check_uses_quota(cluster: ApiServer, run: Any, golden: Any) -> None:
    """As while nodes are made for it, or another cluster is asked: its Job is still suspended."""
    waiting = job("check-hij56", workers=2, suspend=True)
    work = workload(waiting, queue="team-vision")
    work["status"]["conditions"] = [condition("QuotaReserved"), condition("Admitted", False)]
    cluster.objects["jobs"].append(waiting)
    cluster.objects["workloads"].append(work)
    asked, cancelled = (run("job", "cancel", "dev", "check-hij56", *sure) for sure in ((), ("--yes",)))
    # Who may not read workloads cancels all the same.
    cluster.forbidden = {"workloads"}
    golden(asked, cancelled, run("job", "cancel", "dev", "check-hij56"))


def test_a_run_is_read_again_after_the_confirmation(
    cluster: ApiServer, run: Any, golden: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (waiting,) = [one for one in cluster.objects["jobs"] if one["metadata"]["name"] == WAITING]

    def answered(**status: Any) -> Result:
        """What is told where a run comes to something else while the question stands."""
        terminal = io.StringIO()
        monkeypatch.setattr(terminal, "isatty", lambda: True)

        def readline() -> str:
            waiting["spec"]["suspend"], waiting["status"] = False, status
            return "yes\n"

        monkeypatch.setattr(terminal, "readline", readline)
        monkeypatch.setattr("sys.stdin", terminal)
        return run("job", "cancel", "dev", WAITING)

    runs = answered(active=1, ready=1)
    (deleted,) = cluster.deleted
    golden(runs, answered(conditions=[condition("Complete")]))
    assert cluster.deleted == [deleted]


NIGHT = "night-ijk67"


@pytest.fixture
def night(cluster: ApiServer) -> list[dict[str, Any]]:
    """A run of a pipeline: what starts its stages, one that runs, and one that waits for it."""
    bodies = []
    for stage in ("", "clean", "fit"):
        body = job(f"{NIGHT}-{stage}".rstrip("-"), active=1, ready=1, startTime=LONG_AGO)
        labels, template = body["metadata"]["labels"], body["spec"]["template"]
        mine = {"modelyard.dev/pipeline": "night", "modelyard.dev/pipeline-run": NIGHT}
        if stage:
            mine["modelyard.dev/stage"] = stage
            template["metadata"]["labels"] |= mine
            body["metadata"]["annotations"] = {"modelyard.dev/queue": "vision"}
        else:
            del labels["kueue.x-k8s.io/queue-name"]
            template["spec"] = spec(0)
        labels |= mine
        bodies.append(body)
    held = bodies[-1]
    held["spec"]["suspend"], held["status"] = True, {}
    held["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "modelyard-held"
    cluster.objects["jobs"] += bodies
    worker = pod(f"{NIGHT}-clean-0-x", "n1", owner=("Job", f"{NIGHT}-clean", f"uid-of-{NIGHT}-clean"))
    worker["metadata"]["labels"] |= bodies[1]["spec"]["template"]["metadata"]["labels"]
    starter = pod(f"{NIGHT}-x", "cpu", spec(0), owner=("Job", NIGHT, f"uid-of-{NIGHT}"))
    cluster.objects["pods"] += [worker, starter]
    return bodies


def test_a_stage_is_shown_with_its_run_and_found_by_its_name(
    cluster: ApiServer, night: Any, run: Any, schema: Any
) -> None:
    assert f"vision  {NIGHT} (stage clean)  1 " in run("gpus", "--live", "dev").out
    document = json.loads(run("gpus", "--live", "dev", "--json").out)
    assert schema(document, "gpusLive") == []
    (owner,) = [one["owner"] for one in document["takers"] if one["owner"]["name"] == NIGHT]
    assert (owner["stage"], owner["team"], owner["job"]) == ("clean", "vision", NIGHT)
    assert run("job", "why", "dev", f"{NIGHT}-clean").out == run("job", "why", "dev", NIGHT).out
    cluster.logs = {f"{NIGHT}-clean-0-x": [b"row 1\n"], f"{NIGHT}-x": [b"clean: running\n"]}
    assert run("job", "logs", "dev", f"{NIGHT}-clean").out == "row 1\n"
    assert sorted(run("job", "logs", "dev", NIGHT).out.splitlines()) == ["[clean] row 1", "[stages] clean: running"]


def test_a_stage_is_not_cancelled_by_itself(cluster: ApiServer, night: Any, refused: Any, golden: Any) -> None:
    names = (f"{NIGHT}-clean", f"{NIGHT}-fit", f"{TRIALS}-0")
    golden(*(refused("job", "cancel", "dev", name, "-y", code=2) for name in names))
    assert cluster.deleted == []


def test_a_pipeline_run_without_its_leader_runs_until_its_stages_end(
    cluster: ApiServer, night: Any, run: Any, golden: Any, project: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    leader, clean, _ = night
    late = condition("Failed", reason="BackoffLimitExceeded", message="Job has reached the specified backoff limit")
    leader["status"] = {"conditions": [late]}
    assert rows(run("job", "list", "dev").out)[NIGHT][1:6] == ["running", "vision", "1", "of", "2"]
    why, asked = run("job", "why", "dev", NIGHT), run("job", "cancel", "dev", NIGHT)
    stack, _ = load(project.root / "stacks/Pulumi.dev.yaml", "stacks/Pulumi.dev.yaml")
    assert stack is not None
    report_runs(stack, [""])
    assert NIGHT in capsys.readouterr().err
    assert run("job", "cancel", "dev", NIGHT, "--yes").code == 0
    assert [name for _, name, _ in cluster.deleted] == [NIGHT, f"{NIGHT}-fit", f"{NIGHT}-clean"]

    clean["status"] = {"conditions": [condition("Complete")]}
    golden(why, asked, run("job", "cancel", "dev", NIGHT))
    report_runs(stack, [""])
    assert NIGHT not in capsys.readouterr().err


def test_logs_of_one_worker_and_of_all(cluster: ApiServer, run: Any) -> None:
    first, second = f"{RUNNING}-0-x", f"{RUNNING}-1-x"
    cluster.logs = {first: [b"epoch 1\nepo", b"ch 2\n", b"done"], second: ["größer\n".encode()]}
    assert run("job", "logs", "dev", RUNNING, "--worker", "0").out == "epoch 1\nepoch 2\ndone\n"
    assert run("job", "logs", "dev", RUNNING).out == "[0] epoch 1\n[0] epoch 2\n[0] done\n[1] größer\n"
    assert run("job", "logs", "dev", RUNNING, "--tail", "1", "--previous").out == "[0] done\n[1] größer\n"
    query = next(path for path in cluster.asked if f"{first}/log" in path and "previous" in path)
    for part in ("container=job", "tailLines=1", "previous=true"):
        assert part in query


def test_following_prints_pods_that_start_later_until_the_run_ends(
    cluster: ApiServer, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("modelyard.cli.job.logs.POLL", 0.05)
    first, second = f"{RUNNING}-0-x", f"{RUNNING}-1-x"
    (later,) = [one for one in cluster.objects["pods"] if one["metadata"]["name"] == second]
    cluster.objects["pods"].remove(later)
    read = Event()

    def of_the_first() -> Iterator[bytes]:
        yield b"epoch 1\n"
        cluster.objects["pods"].append(later)
        assert read.wait(20)
        cluster.one("vision", "jobs", RUNNING)["status"] = {"conditions": [condition("Complete")]}
        yield b"done\n"

    def of_the_second() -> Iterator[bytes]:
        yield b"epoch 1\n"
        read.set()

    cluster.logs = {first: of_the_first(), second: 'container "job" in pod "x" is waiting to start'}
    # Its container starts after its pod exists.
    starts = Timer(0.5, cluster.logs.__setitem__, (second, of_the_second()))
    starts.start()
    followed = run("job", "logs", "dev", RUNNING, "--follow")
    starts.join()
    assert (followed.code, followed.err) == (0, "")
    assert sorted(followed.out.splitlines()) == ["[0] done", "[0] epoch 1", "[1] epoch 1"]
    assert all("follow=true" in path for path in cluster.asked if "/log" in path)


def test_following_a_stage_ends_with_a_failed_run(cluster: ApiServer, night: Any, run: Any) -> None:
    for body in night[:2]:
        body["status"] = {"conditions": [condition("Failed")]}
    assert run("job", "logs", "dev", f"{NIGHT}-fit", "--follow").code == 1


def looking(monkeypatch: pytest.MonkeyPatch, before: Callable[[int], None]) -> None:
    """Looks for new pods often, and calls ``before`` with the number of each look, from 1."""
    numbers = itertools.count(1)

    def listed_again(*args: Any) -> Any:
        before(next(numbers))
        return again(*args)

    monkeypatch.setattr("modelyard.cli.job.logs.POLL", 0.05)
    monkeypatch.setattr("modelyard.cli.job.logs.listed_again", listed_again)


def test_following_survives_failed_looks_and_restarts(
    cluster: ApiServer, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = f"{RUNNING}-0-x"
    (worker,) = [one for one in cluster.objects["pods"] if one["metadata"]["name"] == first]

    def before(look: int) -> None:
        if look < 3:
            raise ClusterError("the API server does not answer", "check the network")
        if look == 3:
            cluster.logs[first] = [b"epoch 2\n"]
            worker["status"]["containerStatuses"] = [{"name": "job", "restartCount": 1}]
        if look == 6:
            cluster.one("vision", "jobs", RUNNING)["status"] = {"conditions": [condition("Complete")]}

    looking(monkeypatch, before)
    cluster.logs = {first: [b"epoch 1\n"]}
    followed = run("job", "logs", "dev", RUNNING, "--worker", "0", "--follow")
    assert (followed.code, followed.out, followed.err) == (0, "epoch 1\nepoch 2\n", "")


def test_following_opens_a_log_again_that_ends_before_its_container(
    cluster: ApiServer, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proxies and API servers end old connections; no line is lost or printed twice."""
    first = f"{RUNNING}-0-x"
    (worker,) = [one for one in cluster.objects["pods"] if one["metadata"]["name"] == first]
    (status,) = worker["status"]["containerStatuses"] = [{"name": "job", "state": {"running": {}}}]

    def before(look: int) -> None:
        if look == 2:
            cluster.logs[first] = [b"epoch 1\n", b"epoch 2\n"]
        if look == 4:
            cluster.logs[first] = [b"epoch 1\n", b"epoch 2\n", b"epoch 3\n"]
        if look == 6:
            status["state"] = {"terminated": {}}
            cluster.one("vision", "jobs", RUNNING)["status"] = {"conditions": [condition("Complete")]}

    looking(monkeypatch, before)
    cluster.logs = {first: [b"epoch 1\n", None]}
    followed = run("job", "logs", "dev", RUNNING, "--worker", "0", "--follow", "--tail", "5")
    assert (followed.code, followed.out, followed.err) == (0, "epoch 1\nepoch 2\nepoch 3\n", "")


def test_following_ends_if_a_log_breaks_off_each_time(
    cluster: ApiServer, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("modelyard.cli.job.logs.POLL", 0.01)
    cluster.logs = {f"{RUNNING}-0-x": [b"epoch 1\n", None]}
    followed = run("job", "logs", "dev", RUNNING, "--worker", "0", "--follow")
    assert (followed.code, followed.out) == (3, "epoch 1\n")
    assert f"{RUNNING}-0-x" in followed.err


def test_following_refuses_a_worker_that_the_run_never_has(cluster: ApiServer, refused: Any) -> None:
    for name, worker in ((RUNNING, "2"), (WAITING, "1")):
        refused("job", "logs", "dev", name, "--follow", "--worker", worker, code=2)


def test_following_ends_when_the_run_is_deleted(cluster: ApiServer, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modelyard.cli.job.logs.POLL", 0.05)
    deletes = Timer(0.5, lambda: cluster.objects.update(jobs=[]))
    deletes.start()
    waiting = run("job", "logs", "dev", WAITING, "--follow")
    deletes.join()
    assert (waiting.code, waiting.out) == (1, "")
    assert f"{WAITING} is queued and has no pod yet" in waiting.words


def test_a_spark_application_is_a_run(cluster: ApiServer, run: Any, golden: Any, schema: Any) -> None:
    name = "etl-fgh67"
    body = job(name, startTime=LONG_AGO)
    del body["apiVersion"], body["kind"]  # As the items of a list are.
    gpu = {"name": "nvidia.com/gpu", "quantity": 1}
    body["spec"] = {"suspend": False, "driver": {}, "executor": {"instances": 2, "gpu": gpu}}
    body["status"] = {"applicationState": {"state": "RUNNING"}, "lastSubmissionAttemptTime": LONG_AGO}
    cluster.objects["sparkapplications"] = [body]
    roles = {"driver": "", "exec-1": "1", "exec-2": "2"}
    for role, number in roles.items():
        one = pod(f"{name}-{role}", "n1", spec(0), run=name)
        one["metadata"]["labels"] |= (
            {"spark-role": "executor", "spark-exec-id": number} if number else {"spark-role": "driver"}
        )
        cluster.objects["pods"].append(one)
        cluster.logs[f"{name}-{role}"] = [f"of {role}\n".encode()]

    assert rows(run("job", "list", "dev").out)[name][1:4] == ["running", "vision", "2"]
    document = json.loads(run("job", "why", "dev", name, "--json").out)
    assert schema(document, "jobWhy") == []
    assert document["run"]["parts"][0]["kind"] == "SparkApplication"
    assert run("job", "logs", "dev", name).out == "[driver] of driver\n[1] of exec-1\n[2] of exec-2\n"
    assert run("job", "logs", "dev", name, "--worker", "2").out == "of exec-2\n"
    golden(run("job", "cancel", "dev", name, "--yes"))
    assert [one[:2] for one in cluster.deleted] == [("sparkapplications", name)]


def test_container_logs_cannot_control_a_terminal(cluster: ApiServer, run: Any) -> None:
    lines = [
        f"{EVIL}\n".encode(),
        b"10%\r50%\r100%\n",
        b"\x1b[31mred\x1b[0m\tcell\n",
        b"\xff\n",
        b"::set-env name=A::b\n",
    ]
    cluster.logs = {f"{RUNNING}-0-x": lines}
    result = run("job", "logs", "dev", RUNNING, "--worker", "0")
    harmless(result.out.replace("\t", " "))
    assert "100%\nred\tcell\n" in result.out
    coloured = run("job", "logs", "dev", RUNNING, "--worker", "0", "--colour", "always").out
    assert "\x1b[31mred\x1b[0m\tcell" in coloured


def test_missing_logs_are_reported(cluster: ApiServer, run: Any, golden: Any) -> None:
    starting = 'container "job" in pod "x" is waiting to start: ContainerCreating'
    cluster.logs = {f"{RUNNING}-{at}-x": starting for at in range(2)}
    cases = ((WAITING,), (RUNNING, "--worker", "7"), (RUNNING, "--tail", "-1"), (RUNNING,))
    results = [run("job", "logs", "dev", *words) for words in cases]
    assert [(one.code, one.out) for one in results] == [(1, ""), (2, ""), (2, ""), (1, "")]
    golden(*results)


def test_a_pod_without_a_node_has_no_log(cluster: ApiServer, run: Any, golden: Any) -> None:
    # A real API server answers with 200 and nothing.
    cluster.logs = {f"{RUNNING}-{at}-x": [] for at in range(2)}
    for one in cluster.objects["pods"]:
        one["spec"].pop("nodeName", None)
    result = run("job", "logs", "dev", RUNNING)
    assert (result.code, result.out) == (1, "")
    golden(result)


def test_gpus_live(cluster: ApiServer, run: Any, golden: Any) -> None:
    live = run("gpus", "--live", "dev")
    golden(live)
    found = rows(live.out)
    assert found["NVIDIA-A10"] == ["NVIDIA-A10", "2", "3", "2", "1", "unknown", "-", "1", "nvidia.com/gpu"]
    assert found["n0"] == ["n0", "NVIDIA-A10", "1", "1", "0", "unknown", "-", RUNNING]
    assert "ended" not in live.out
    assert "cpu" not in found
    # Pods that have ended are not asked for.
    (pods,) = [path for path in cluster.asked if path.startswith("/api/v1/pods") and "continue" not in path]
    assert "fieldSelector=status.phase%21%3DSucceeded" in pods
    team = run("gpus", "--live", "dev", "--team", "speech").out
    assert RUNNING not in team
    assert RUNNING in run("gpus", "--live", "dev", "--team", "vision").out
    assert set(rows(run("gpus", "--live", "dev", "--node", "n1").out.partition("nodes\n")[2])) >= {"n1"}


def test_long_tables_are_truncated(cluster: ApiServer, run: Any, golden: Any) -> None:
    cluster.objects["nodes"] += [node(f"m{number:02}") for number in range(30)]
    cluster.objects["pods"] += [pod(f"p{number}", f"m{number:02}", namespace="apps") for number in range(30)]
    cut = run("gpus", "--live", "dev")
    golden(cut)
    assert "m29" not in rows(cut.out)
    assert "m29" in rows(run("gpus", "--live", "dev", "--nodes").out)
    assert len(json.loads(run("gpus", "--live", "dev", "--json").out)["takers"]) == 31


def test_gpus_live_uses_the_stack_of_the_variable(
    cluster: ApiServer, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODELYARD_STACK", "dev")
    assert run("gpus", "--live").out.startswith("dev: ")


def test_a_cluster_without_kueue(cluster: ApiServer, run: Any, golden: Any) -> None:
    for plural in ("workloads", "clusterqueues", "localqueues", "resourceflavors"):
        del cluster.objects[plural]
    live = run("gpus", "--live", "dev")
    assert "quotas" not in live.out.partition("The cluster")[0]
    golden(live, run("job", "why", "dev", WAITING))


def test_missing_rights_are_reported(cluster: ApiServer, run: Any, golden: Any) -> None:
    cluster.forbidden = {"workloads"}
    no_workloads = run("gpus", "--live", "dev"), run("job", "why", "dev", WAITING)
    cluster.forbidden = {"jobs@", "jobs@speech", "jobs@ml-platform"}
    some_jobs = run("job", "list", "dev")
    assert set(rows(some_jobs.out)) == {"RUN", RUNNING, WAITING, "1"}
    cluster.forbidden = {"jobs"}
    golden(*no_workloads, some_jobs, run("job", "list", "dev"))
    cluster.forbidden = {"nodes"}
    assert run("gpus", "--live", "dev").code == 3


def test_why_works_with_the_rights_of_one_team(cluster: ApiServer, run: Any, golden: Any) -> None:
    cluster.forbidden = {"nodes", "pods@", "clusterqueues", "resourceflavors"}
    cluster.forbidden |= {
        f"{plural}@{place}" for plural in ("jobs", "workloads", "localqueues") for place in ("", "speech")
    }
    golden(run("job", "why", "dev", WAITING))


def test_bad_input(cluster: ApiServer, refused: Any, golden: Any) -> None:
    commands = (
        "gpus --live dev a10",
        "gpus --team vision",
        "gpus --live dve",
        "gpus --live dev --team visoin",
        "gpus --live dev --node n9",
        "gpus --live dev --idle 0",
        "gpus --live dev --metrics ftp://x",
        "job list dev --team visoin",
    )
    out_of_reach = refused("gpus", "--live", "dev", "--metrics", "http://127.0.0.1:9", code=3)
    golden(*(refused(*command.split(), code=2) for command in commands), out_of_reach)


def test_idle_is_unknown_if_prometheus_does_not_answer(cluster: ApiServer, project: Any, run: Any, golden: Any) -> None:
    project.edit(("modelyard:drain:\n", 'modelyard:drain:\n    prometheus: "http://127.0.0.1:9"\n'))
    result = run("gpus", "--live", "dev")
    assert "unknown" in rows(result.out)["n0"]
    golden(result)


def test_names_from_the_cluster_cannot_control_a_terminal(cluster: ApiServer, run: Any) -> None:
    foreign = pod("p", "n1", namespace="apps", owner=("Job", EVIL, "u"))
    cluster.objects["pods"].append(foreign)
    cluster.objects["workloads"][1]["status"]["conditions"][0]["message"] = EVIL
    cluster.objects["jobs"][1]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = EVIL
    for words in (("gpus", "--live", "dev"), ("job", "list", "dev"), ("job", "why", "dev", WAITING)):
        for form in ((), ("--json",)):
            result = run(*words, *form)
            assert result.code == 0, result.err
            harmless(result.out)


def test_an_unreachable_cluster_ends_with_3(project: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    for words in (
        ("gpus", "--live", "dev"),
        ("job", "list", "dev"),
        ("job", "why", "dev", "x"),
        ("job", "logs", "dev", "x"),
    ):
        assert run(*words).code == 3


CLUSTERS = """
  modelyard:workerClusters:
    - {name: farm, secret: farm-kubeconfig, context: farm-dev}
    - {name: cloud, secret: cloud-kubeconfig}
"""
THERE, ASKED, ENDED, BEYOND = "there-ghi78", "asked-hij89", "ended-ijk90", "beyond-jkl01"


@pytest.fixture
def dispatched(cluster: ApiServer, farm: ApiServer, project: Any) -> Any:
    """Runs of a team whose jobs run in the second cluster or in one without a context: one of each state."""
    project.edit(
        ("config:\n", f"config:{CLUSTERS}"), ("name: speech, quotas", "name: speech, clusters: [farm, cloud], quotas")
    )
    made = {
        THERE: (job(THERE, queue="speech", namespace="speech", active=1, ready=1), {"clusterName": "cluster-farm"}),
        BEYOND: (job(BEYOND, queue="speech", namespace="speech", active=1, ready=1), {"clusterName": "cluster-cloud"}),
        ASKED: (
            job(ASKED, queue="speech", namespace="speech", suspend=True),
            {"nominatedClusterNames": ["cluster-farm"]},
        ),
        ENDED: (
            job(ENDED, queue="speech", namespace="speech", conditions=[condition("Complete")], startTime=LONG_AGO),
            {"clusterName": "cluster-farm"},
        ),
    }
    for body, status in made.values():
        body["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
        work = workload(body, queue="team-speech")
        work["status"] |= status
        cluster.objects["jobs"].append(body)
        cluster.objects["workloads"].append(work)
    source = {"kubeConfig": {"locationType": "Secret", "location": "farm-kubeconfig"}}
    cluster.objects["multikueueclusters"] = [
        {
            "metadata": {"name": f"cluster-{name}"},
            "spec": {"clusterSource": source},
            "status": {"conditions": [condition("Active", name == "farm", message="connection refused")]},
        }
        for name in ("farm", "cloud")
    ]
    farm.objects |= {
        "pods": [pod(f"{THERE}-0-x", "far-1", run=THERE, namespace="speech", owner=("Job", THERE, "u"))],
        "workloads": [workload(made[ASKED][0], waits("3 more needed"))],
    }
    farm.logs = {f"{THERE}-0-x": [b"epoch 1\n"]}
    return project


def test_runs_of_worker_clusters_are_listed_with_their_clusters(
    dispatched: Any, cluster: ApiServer, run: Any, golden: Any, schema: Any
) -> None:
    listed = run("job", "list", "dev", "--all")
    found = rows(listed.out)
    assert [found[name][-2:] for name in (THERE, BEYOND, ENDED)] == [["in", "farm"], ["in", "cloud"], ["in", "farm"]]
    assert found[ASKED][-1] == found[RUNNING][-1] == "-"
    document = json.loads(run("job", "list", "dev", "--json").out)
    assert schema(document, "jobList") == []
    assert {one["name"]: one["clusters"] for one in document["runs"]}[THERE] == ["farm"]
    # The clusters need only workloads of namespaces from which runs were sent, positions those of all.
    assert {path.partition("?")[0] for path in cluster.asked if path.partition("?")[0].endswith("/workloads")} == {
        "/apis/kueue.x-k8s.io/v1beta2/namespaces/speech/workloads",
        "/apis/kueue.x-k8s.io/v1beta2/workloads",
    }
    cluster.forbidden = {"workloads", "workloads@speech"}
    golden(listed, run("job", "list", "dev"))


def test_why_reads_worker_clusters_that_have_a_context(dispatched: Any, farm: ApiServer, run: Any, golden: Any) -> None:
    read, there = run("job", "why", "dev", ASKED), run("job", "why", "dev", THERE)
    farm.forbidden = {"workloads", "workloads@speech"}
    unread = run("job", "why", "dev", ASKED)
    assert "no copy" not in unread.words
    dispatched.edit(("context: farm-dev", "context: nobody"))
    golden(read, there, unread, run("job", "why", "dev", ASKED))


def test_a_worker_cluster_removed_from_the_stack_has_its_kueue_name(dispatched: Any, run: Any, golden: Any) -> None:
    before = run("job", "why", "dev", BEYOND)
    dispatched.edit((CLUSTERS, "\n"), ("clusters: [farm, cloud], ", ""))
    there = run("job", "why", "dev", THERE)
    assert "knows no" not in there.words
    golden(before, there, run("job", "why", "dev", BEYOND))


def test_logs_of_a_run_are_read_in_its_worker_cluster(dispatched: Any, run: Any, golden: Any) -> None:
    assert run("job", "logs", "dev", THERE).out == "epoch 1\n"
    missing = [run("job", "logs", "dev", name) for name in (BEYOND, ENDED, ASKED)]
    assert [one.code for one in missing] == [1, 1, 1]
    golden(*missing)
    dispatched.edit(("context: farm-dev", "context: nobody"))
    lost = run("job", "logs", "dev", THERE)
    assert lost.code == 3
    assert "workerClusters[0].context" in lost.words


def test_a_search_in_several_clusters_has_the_logs_of_those_with_a_context(
    dispatched: Any, cluster: ApiServer, farm: ApiServer, run: Any, golden: Any
) -> None:
    for at, where in enumerate(("farm", "cloud")):
        trial = job(f"far-klm12-{at}", run="far-klm12", queue="speech", namespace="speech", active=1, ready=1)
        trial["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
        work = workload(trial, queue="team-speech")
        work["status"]["clusterName"] = f"cluster-{where}"
        cluster.objects["jobs"].append(trial)
        cluster.objects["workloads"].append(work)
    one = pod("far-klm12-0-x", "far-1", run="far-klm12", namespace="speech", owner=("Job", "far-klm12-0", "u"))
    farm.objects["pods"].append(one)
    farm.logs["far-klm12-0-x"] = [b"trial 0\n"]
    logs = run("job", "logs", "dev", "far-klm12")
    assert logs.out == "trial 0\n"
    golden(run("job", "list", "dev"), logs)


def test_stages_in_two_clusters_are_both_read(
    dispatched: Any, cluster: ApiServer, farm: ApiServer, run: Any, golden: Any
) -> None:
    name = "nightly-lmn23"
    for stage, where in (("", ""), ("clean", ""), ("fit", "farm")):
        part = job(f"{name}-{stage}".rstrip("-"), run="", queue="speech", namespace="speech", active=1, ready=1)
        part["metadata"]["labels"] |= {
            "modelyard.dev/pipeline": "nightly",
            "modelyard.dev/pipeline-run": name,
            **({"modelyard.dev/stage": stage} if stage else {}),
        }
        cluster.objects["jobs"].append(part)
        made = pod(f"{part['metadata']['name']}-x", "n1", spec(0), namespace="speech", owner=("Job", "j", "u"))
        made["metadata"]["labels"]["batch.kubernetes.io/job-name"] = part["metadata"]["name"]
        server = farm if where else cluster
        server.objects["pods"].append(made)
        server.logs[made["metadata"]["name"]] = [f"{stage or 'starter'}\n".encode()]
        if where:
            part["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
            work = workload(part, queue="team-speech")
            work["status"]["clusterName"] = f"cluster-{where}"
            cluster.objects["workloads"].append(work)
    golden(run("job", "why", "dev", name))
    lines = run("job", "logs", "dev", name).out.splitlines()
    assert sorted(lines) == ["[clean] clean", "[fit] fit", "[stages] starter"]


def test_a_destroy_names_the_setting_of_a_context_that_is_missing(
    cluster: ApiServer, farm: ApiServer, project: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FAR.format(controller="10.8.0.5").replace("farm-dev", "nobody")
    project.edit(("config:\n", f"config:{text}"))
    applied = AppliedStack(None, (), remotes={"far": AppliedStack(None, ())})
    monkeypatch.setattr("modelyard.cli.destroy.need_engine", lambda: None)
    monkeypatch.setattr("modelyard.engine.applied.applied_stack", lambda *_: applied)
    monkeypatch.setattr("modelyard.cluster.present.present", lambda *_: ("home", {}))
    monkeypatch.setattr("modelyard.cluster.live.server_version", lambda *_: "1.30")
    stopped = run("destroy", "dev", "--yes")
    assert stopped.code == 3
    assert "resources[0].remote.cluster.context" in stopped.words
    project.edit(("kubernetes:context: dev", "kubernetes:context: none"))
    assert "kubernetes:context" in run("destroy", "dev", "--yes").words


def test_a_remote_cluster_that_cannot_be_read_is_named(
    cluster: ApiServer, farm: ApiServer, project: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A destroy stops there; a drift reports the other clusters too."""
    project.edit(("config:\n", f"config:{FAR.format(controller='10.8.0.5')}"))
    target = AppliedObject(ObjectKey("v1", "Namespace", "", "far-jobs"), Confidential(None), True)
    there = AppliedStack("last", (target,))
    applied = AppliedStack(None, (), remotes={"far": there, "gone": there})
    for verb in ("destroy", "drift"):
        monkeypatch.setattr(f"modelyard.cli.{verb}.need_engine", lambda: None)
    monkeypatch.setattr("modelyard.engine.applied.applied_stack", lambda *_, **__: applied)
    monkeypatch.setattr("modelyard.cluster.present.present", lambda *_: ("home", {}))
    monkeypatch.setattr("modelyard.cluster.live.server_version", lambda *_: "1.30")
    error = other_cluster("dev", remote="far", context="farm-dev", applied_to="last", points_to="home")
    stopped, compared = run("destroy", "dev", "--yes"), run("drift", "dev", "--json")
    assert (stopped.code, compared.code) == (4, 3)
    assert error.summary in stopped.words
    assert error.remedy in stopped.words
    home, far, gone = json.loads(compared.out)["stacks"]
    assert [one["state"] for one in (home, far, gone)] == ["nothing", "unknown", "unknown"]
    assert (far["remote"], far["reason"], far["remedy"]) == ("far", error.summary, error.remedy)
    assert (gone["remote"], gone["context"], gone["cluster"]) == ("gone", None, "last")
    project.edit(("context: farm-dev", "context: nobody"))
    _, far, gone = json.loads(run("drift", "dev", "--json").out)["stacks"]
    assert (far["cluster"], "resources[0].remote.cluster.context" in far["remedy"]) == (None, True)
    assert gone["state"] == "unknown"


def test_destroy_lists_the_runs_that_keep_queues_in_each_cluster(
    cluster: ApiServer, farm: ApiServer, project: Any, golden: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    (server,) = yaml.safe_load(farm.kubeconfig.read_text())["clusters"]
    quota = "namespace: far-jobs, quota: {cpu: 8, memory: 32Gi, gpus: 1}"
    text = FAR.format(controller=server["cluster"]["server"]).replace("namespace: far-jobs", quota)
    project.edit(("config:\n", f"config:{text}"))
    stack, _ = load(project.root / "stacks/Pulumi.dev.yaml", "stacks/Pulumi.dev.yaml")
    assert stack is not None

    def said(*sides: str) -> str:
        report_runs(stack, sides)
        return capsys.readouterr().err

    everywhere = said("", "far")
    assert "churn-fgh56" not in said("")
    # Who may not list jobs may destroy all the same.
    cluster.forbidden = {"jobs"}
    golden(everywhere, said("", "far"))


@pytest.mark.parametrize(
    ("settings", "suspended", "lost"),
    [
        ("", False, True),
        ("", True, True),
        (", createNamespace: false", False, False),
        # The queue goes only when what runs has ended; what waits in it goes with the namespace.
        (", quota: {cpu: 8, memory: 32Gi, gpus: 1}", False, False),
        (", quota: {cpu: 8, memory: 32Gi, gpus: 1}", True, True),
    ],
    ids=["runs", "waits", "runs-in-their-namespace", "runs-in-a-queue", "waits-in-a-queue"],
)
def test_destroy_lists_the_runs_deleted_with_their_namespace(
    farm: ApiServer,
    project: Any,
    golden: Any,
    capsys: pytest.CaptureFixture[str],
    settings: str,
    suspended: bool,
    lost: bool,
) -> None:
    (server,) = yaml.safe_load(farm.kubeconfig.read_text())["clusters"]
    text = FAR.format(controller=server["cluster"]["server"])
    text = text.replace("namespace: far-jobs", f"namespace: far-jobs{settings}")
    project.edit(("config:\n", f"config:{text}"))
    stack, _ = load(project.root / "stacks/Pulumi.dev.yaml", "stacks/Pulumi.dev.yaml")
    assert stack is not None
    (body,) = farm.objects["jobs"]
    if suspended:
        body["spec"]["suspend"], body["status"] = True, {}
        farm.objects["pods"].clear()
    assert report_runs(stack, ["", "far"]) is lost
    said = capsys.readouterr().err
    assert ("Deleted" in said) is lost
    golden(said)
    body["status"] = {"conditions": [condition("Complete")]}
    body["spec"]["suspend"] = False
    assert report_runs(stack, ["", "far"]) is False


def test_destroy_lists_the_runs_that_it_does_not_stop(
    cluster: ApiServer, project: Any, golden: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    stack, _ = load(project.root / "stacks/Pulumi.dev.yaml", "stacks/Pulumi.dev.yaml")
    assert stack is not None
    space = stack.config.platform.namespace
    alone = job("alone-abc12", queue="", namespace=space, active=1, ready=1)
    assert "kueue.x-k8s.io/queue-name" not in alone["metadata"]["labels"]
    cluster.objects["jobs"].append(alone)
    assert report_runs(stack, [""]) is False
    golden(capsys.readouterr().err)
    alone["status"] = {"conditions": [condition("Complete")]}
    report_runs(stack, [""])
    assert "Not stopped" not in capsys.readouterr().err


def test_a_team_with_the_name_of_a_remote_resource_is_not_its_team(
    cluster: ApiServer, farm: ApiServer, project: Any, run: Any, golden: Any
) -> None:
    (server,) = yaml.safe_load(farm.kubeconfig.read_text())["clusters"]
    text = FAR.format(controller=server["cluster"]["server"])
    project.edit(
        ("config:\n", f"config:{CLUSTERS}{text}"), ("name: speech, quotas", "name: far, clusters: [farm], quotas")
    )
    waiting = job("churn-pqr78", queue="far", namespace="far-jobs", suspend=True)
    farm.objects |= {
        "jobs": [waiting],
        "workloads": [workload(waiting, waits("1 more needed"))],
        "clusterqueues": [cluster_queue("remote-far", 1, 1)],
        "localqueues": [local_queue("far", "far-jobs", "remote-far")],
    }
    why = run("job", "why", "dev", "churn-pqr78", "--remote", "far")
    assert "worker cluster" not in why.words
    golden(why)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("job", "list", "dev", "--all"), 0),
        *((("job", "why", "dev", name), 0) for name in (RUNNING, WAITING, TRIALS, "old-cde34")),
        (("job", "why", "dev", "theirs-def45"), 2),
        (("job", "cancel", "dev", RUNNING), 2),
        (("job", "choices", "dev", "--live"), 0),
        (("gpus", "--live", "dev"), 0),
    ],
    ids=str,
)
def test_no_line_is_wider_than_the_terminal(cluster: ApiServer, fits: Any, words: tuple[str, ...], code: int) -> None:
    fits(*words, code=code)
