"""``modelyard job submit NOTEBOOK``, and ``modelyard job choices``.

``tests/golden/test_cli_job_notebook.txt`` has what they print.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_server import ApiServer, api_server, status
from tests.support.cli_project import Result
from tests.support.pool_objects import NOTEBOOK_POOL, local_queue, node, pod, spec
from tests.support.setting_errors import setting_errors

CELL: dict[str, Any] = {
    "cell_type": "code",
    "metadata": {},
    "source": "print(1)",
    "outputs": [],
    "execution_count": None,
}
NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 4,
    "metadata": {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python"}},
    "cells": [CELL],
}


@pytest.fixture
def notebook(project: Any) -> Path:
    """A notebook in a workspace, and the project with a pool."""
    project.edit(("config:\n", f"config:{NOTEBOOK_POOL}"))
    file: Path = project.root / "work" / "train.ipynb"
    file.parent.mkdir()
    file.write_text(json.dumps(NOTEBOOK))
    return file


def submit(refused: Any, *words: str, code: int = 2, file: str = "train.ipynb") -> Result:
    result: Result = refused("job", "submit", f"work/{file}", "--workspace", "work", *words, code=code)
    return result


def findings(result: Result) -> list[Any]:
    """The findings of a JSON document that are no notes."""
    return [one for one in json.loads(result.out)["findings"] if one["severity"] != "advice"]


A10 = ("--stack", "dev", "--flavor", "a10")
WRONG = (
    (),
    ("--stack", "dve"),
    ("--stack", "dev"),
    ("--stack", "dev", "--device", "A40"),
    ("--stack", "dev", "--device", "A300"),
    (*A10, "--allocation", "partial"),
    (*A10, "--allocation", "multi_gpu"),
    (*A10, "--allocation", "half"),
    (*A10, "-p", "a=1"),
    (*A10, "--priority", "high"),
    ("--stack", "dev", "--flavor", "a11", "--device", "A99", "--team", "visoin", "--allocation", "partial", "-p", "x"),
)


def test_wrong_arguments(notebook: Path, refused: Any, golden: Callable[..., None]) -> None:
    swapped = refused("job", "submit", "work/train.ipynb", "dev", code=2)
    golden(*(submit(refused, *words) for words in WRONG), refused("job", "choices", code=2), swapped)


def test_wrong_notebooks(notebook: Path, refused: Any, golden: Callable[..., None]) -> None:
    outside = notebook.parent.parent / "other.ipynb"
    outside.write_text(notebook.read_text())
    (notebook.parent / "link.ipynb").symlink_to(outside)
    results = [submit(refused, *A10, file=name).words for name in ("link.ipynb", "../other.ipynb")]
    # papermill would accept the parameter, and the job would run with the default values.
    cell = {**CELL, "source": "epochs = 1\nrate = 0.1", "metadata": {"tags": ["parameters"]}}
    notebook.write_text(json.dumps({**NOTEBOOK, "cells": [cell, CELL]}))
    unknown = submit(refused, *A10, "-p", "epoch=20")
    # Every error is reported, not only the first.
    notebook.write_text("[]")
    damaged = submit(refused, *A10, "--team", "visoin", "-p", "x")
    golden(*(words.replace(str(outside), "/outside/other.ipynb") for words in results), "", unknown, damaged)


def test_a_stack_without_an_image(notebook: Path, refused: Any, project: Any) -> None:
    project.edit(("{image: images.example.com/notebook:1}", "{claim: work}"))
    (found,) = findings(submit(refused, *A10, "--json", code=1))
    assert (found["code"], found["field"], found["line"]) == ("CFG009", "notebooks.image", 4)


def test_check_and_submit_compare_sizes_with_the_gpu(notebook: Path, run: Any, refused: Any, project: Any) -> None:
    project.edit(("notebook:1}", "notebook:1, memory: 20Gi, cpu: 2}"))
    lines = project.stack_file().read_text().splitlines()
    (line,) = [at for at, text in enumerate(lines, 1) if text.startswith("  modelyard:notebooks:")]
    checked = run("check", "dev", "--json")
    assert checked.code == 1
    for result in (checked, submit(refused, "--stack", "dev", "--flavor", "a30", "--json", code=1)):
        found = {(one["code"], one["field"], one["line"], one["severity"]) for one in findings(result)}
        assert found >= {("RES001", "notebooks.memory", line, "error"), ("RES002", "notebooks.cpu", line, "error")}
    (memory,) = [one for one in findings(result) if one["code"] == "RES001"]
    assert "24 GB" in memory["summary"]
    assert "A30" in memory["detail"]


def test_a_missing_cluster(notebook: Path, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "nowhere")
    assert "kubeconfig" in submit(refused, *A10, code=3).err


def test_an_error_as_json(notebook: Path, refused: Any) -> None:
    document = json.loads(submit(refused, "--stack", "dev", "--json").out)
    assert document["error"]["remedy"] == "use --flavor a10 or a30"


def test_choices(notebook: Path, run: Any, golden: Callable[..., None]) -> None:
    golden(run("job", "choices", "dev"))
    document = json.loads(run("job", "choices", "dev", "--json").out)
    assert (document["image"], document["environment"]) == ("images.example.com/notebook:1", None)
    assert [(one["name"], one["card"]) for one in document["flavors"]] == [("a10", "A10"), ("a30", "A30")]
    (team,) = document["teams"]
    assert (team["name"], team["flavors"]) == ("vision", ["a10", "a30"])
    assert [(one["flavor"], one["resource"]) for one in team["holds"]] == [
        ("a10", "nvidia.com/gpu"),
        ("a30", "nvidia.com/gpu"),
    ]


@pytest.fixture
def shared(notebook: Path, project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """Two nodes of A10 with five GPUs, of which two are taken and two are cordoned, and one of A30 with slices."""
    partition = "{name: small, mode: mig, flavor: a30, layout: {2g.12gb: 1, 1g.6gb: 2}}"
    project.edit(("config:\n", f"config:\n  modelyard:partitions: [{partition}]\n"))
    cordoned = node("n1", gpus=2)
    cordoned["spec"]["unschedulable"] = True
    sliced = node("n2", "NVIDIA-A30", 0)
    sliced["status"]["allocatable"]["nvidia.com/mig-1g.6gb"] = "2"
    sliced["metadata"]["labels"]["nvidia.com/device-plugin.config"] = "small"
    queue = local_queue()
    reserved = {"name": "a10", "resources": [{"name": "nvidia.com/gpu", "total": "1"}]}
    queue["status"] = {"flavorsReservation": [reserved]}
    with api_server(tmp_path) as server:
        server.objects |= {
            "nodes": [node("n0", gpus=3), cordoned, sliced],
            "pods": [pod("one", "n0", spec(2))],
            "localqueues": [queue],
            "clusterqueues": [],
            "workloads": [],
            "resourceflavors": [],
        }
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
        monkeypatch.setenv("no_proxy", "*")
        yield server


def test_live_choices(shared: ApiServer, run: Any, valid: Any, golden: Callable[..., None]) -> None:
    golden(run("job", "choices", "dev", "--live"))
    document = json.loads(run("job", "choices", "dev", "--live", "--json").out)
    assert valid(document, "outputs", "jobChoices") == []
    (a10, a30), ((team),) = document["flavors"], document["teams"]
    assert (a10["free"], a30["free"]) == (1, 0)
    assert {one["slice"]: one["free"] for one in a30["parts"]} == {"2g.12gb": 0, "1g.6gb": 2}
    most = {one["flavor"]: one["most"] for one in team["holds"]}
    assert {one["flavor"]: one["left"] for one in team["holds"]} == {"a10": most["a10"] - 1, "a30": most["a30"]}
    assert document["unknownFree"] is None


def test_live_choices_without_the_right_to_list_nodes(
    shared: ApiServer, run: Any, valid: Any, golden: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.forbidden = {"nodes", "pods"}
    document = json.loads(run("job", "choices", "dev", "--live", "--json").out)
    assert valid(document, "outputs", "jobChoices") == []
    assert {one["free"] for one in document["flavors"]} == {None}
    # An account may read its own team's queue and no nodes.
    assert None not in {one["left"] for one in document["teams"][0]["holds"]}
    forbidden = run("job", "choices", "dev", "--live")
    assert document["unknownFree"] in forbidden.words
    monkeypatch.setenv("KUBECONFIG", "nowhere")
    golden(forbidden, run("job", "choices", "dev", "--live"))


def test_choices_with_the_image_of_a_python_environment(project: Any, run: Any) -> None:
    environments = (
        "[{name: tabular, python: '3.11', requirements: environments/tabular.txt, image: images.example.com/python:1}]"
    )
    project.edit(("config:\n", f"config:\n  modelyard:environments: {environments}\n"))
    project.edit(("config:\n", "config:\n  modelyard:notebooks: {environment: tabular}\n"))
    (project.root / "environments").mkdir(exist_ok=True)
    (project.root / "environments" / "tabular.txt").write_text("pandas\n")
    assert run("job", "choices", "dev").words.startswith("dev images.example.com/python:1 with tabular ")
    project.edit(("notebooks: {environment: tabular}", "notebooks: {environment: tabluar}"))
    words = run("job", "choices", "dev").out.splitlines()[0]
    assert ("tabluar" in words, "notebooks." in words) == (True, False)
    document = json.loads(run("job", "choices", "dev", "--json").out)
    assert (document["image"], document["environment"]) == (None, "tabluar")


def test_choices_of_partitioned_nodes(notebook: Path, project: Any, run: Any, golden: Callable[..., None]) -> None:
    partition = "{name: small, mode: mig, flavor: a30, layout: {2g.12gb: 1, 1g.6gb: 2}}"
    project.edit(("config:\n", f"config:\n  modelyard:partitions: [{partition}]\n"))
    golden(run("job", "choices", "dev"))
    document = json.loads(run("job", "choices", "dev", "--json").out)
    assert document["flavors"][0]["parts"] == []
    assert document["flavors"][1]["parts"][1] == {
        "partition": "small",
        "slice": "1g.6gb",
        "resource": "nvidia.com/mig-1g.6gb",
        "memoryGb": 6,
        "free": None,
    }


@pytest.mark.parametrize(
    ("servers", "code", "fields"),
    [
        ("{}", "CFG009", ("image", "login", "users")),
        ("{image: a/b:1, login: l, users: []}", "CFG012", ("users",)),
        ("{image: a/b:1, login: l, users: [ada]}", "CFG010", ("users[0]",)),
        ("{image: a/b:1, login: l, users: [{team: vision}]}", "CFG009", ("users[0].name",)),
        ("{image: a/b:1, login: My_Login, users: [{name: Ada}]}", "CFG018", ("login", "users[0].name")),
        (f"{{image: a/b:1, login: l, users: [{{name: {'a' * 47}}}]}}", "CFG018", ("users[0].name",)),
        ("{image: a/b:1, login: l, users: [{name: ada, gpu: A10}]}", "CFG008", ("users[0].gpu",)),
        ("{image: a/b:1, login: l, gpu: 1, users: [{name: ada}]}", "CFG008", ("gpu",)),
        ("{image: a/b:1, login: l, memory: 4, users: [{name: ada}]}", "CFG013", ("memory",)),
        ("{image: a/b:1, login: l, project: ../platform, users: [{name: ada}]}", "CFG018", ("project",)),
    ],
)
def test_wrong_notebook_servers(
    notebook: Path, run: Any, project: Any, servers: str, code: str, fields: tuple[str, ...]
) -> None:
    project.edit(("notebook:1}", f"notebook:1, servers: {servers}}}"))
    assert setting_errors(run) == [(code, f"notebooks.servers.{field}") for field in fields]


def test_users_of_notebook_servers_are_checked(notebook: Path, refused: Any, project: Any) -> None:
    users = "{name: ada}, {name: ada}, {name: bob, team: visoin}"
    project.edit(("notebook:1}", f"notebook:1, servers: {{image: a/b:1, login: l, users: [{users}]}}}}"))
    found = findings(refused("check", "dev", "--json", code=1))
    summaries = {one["code"]: one["summary"] for one in found}
    assert "ada twice" in summaries["RES222"]
    assert "bob" in summaries["RES210"]
    assert "visoin" in summaries["RES210"]


def test_show_lists_notebook_servers(notebook: Path, project: Any, run: Any) -> None:
    servers = "{image: a/b:1, login: l, memory: 8Gi, users: [{name: ada}]}"
    project.edit(("notebook:1}", f"notebook:1, servers: {servers}}}"))
    rows = [line.split() for line in run("show", "dev").out.splitlines()]
    assert rows[rows.index(["NOTEBOOK", "SERVER", "NAMESPACE", "CPU", "MEMORY"]) + 1] == ["ada", "vision", "1", "8Gi"]
    document = json.loads(run("show", "dev", "--json").out)
    assert document["notebookServers"] == [{"name": "ada", "team": None, "namespace": "vision"}]


def large(name: str, gpus: int) -> Any:
    """A node with more memory than any pod needs."""
    made = node(name, gpus=gpus)
    made["status"]["allocatable"]["memory"] = "512Gi"
    return made


@pytest.fixture
def cluster(notebook: Path, project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A cluster whose nodes have at most two A10, for a stack whose team may have four and whose pods take three."""
    project.edit(("gpu: A10}", "gpu: A10}"), ("gpus: 1}, {flavor: a30", "gpus: 4}, {flavor: a30"))
    project.edit(("perWorker: 1", "perWorker: 3"))
    with api_server(tmp_path) as made:
        made.objects["nodes"] = [large("n0", 1), large("n1", 2), node("cpu", "", 0)]
        made.created = lambda *_: (422, status(REFUSED, 422))
        monkeypatch.setenv("KUBECONFIG", str(made.kubeconfig))
        monkeypatch.setenv("no_proxy", "*")
        yield made


REFUSED = "there is no creating here"
MULTI = ("--stack", "dev", "--flavor", "a10", "--allocation", "multi_gpu")


def sent(result: Result) -> bool:
    """Whether a submission without errors reached the API server, which accepts none here."""
    return result.errors == [] and REFUSED in result.words


def test_a_notebook_that_fits_no_node_is_not_submitted(
    notebook: Path, cluster: ApiServer, refused: Any, golden: Callable[..., None]
) -> None:
    result = submit(refused, *MULTI, code=1)
    assert not [path for path in cluster.asked if not path.startswith("/api/v1/nodes?")]
    cluster.objects["nodes"].append(large("n2", 4))
    assert sent(submit(refused, *MULTI, code=1))
    # In Jupyter, the account may create Jobs and nothing else: then the recorded nodes count.
    cluster.forbidden.add("nodes")
    recorded = submit(refused, *MULTI, code=1)
    assert result.errors == recorded.errors == ["RES212"]
    golden(result, recorded)


def test_a_warning_about_a_notebook_is_printed(notebook: Path, cluster: ApiServer, project: Any, refused: Any) -> None:
    project.edit(("notebook:1}", "notebook:1, memory: 20Gi}"))
    cluster.objects["nodes"].append(large("n2", 4))
    result = submit(refused, *MULTI, code=1)
    assert (sent(result), "RES001" in result.err) == (True, True), result.err


def test_a_waiver_for_an_unknown_autoscaler(notebook: Path, cluster: ApiServer, project: Any, refused: Any) -> None:
    waiver = "  modelyard:waivers:\n    - {code: RES212, reason: nodes come, expires: 2099-01-01, by: ada}\n"
    project.edit(("config:\n", f"config:\n{waiver}"))
    assert sent(submit(refused, *MULTI, code=1))


def test_a_notebook_that_exceeds_its_quota_is_not_submitted(
    notebook: Path, cluster: ApiServer, project: Any, refused: Any
) -> None:
    project.edit(("notebook:1}", "notebook:1, memory: 60Gi}"))
    result = submit(refused, *MULTI, code=1)
    assert "RES213" in result.errors
    # Three times 60Gi.
    assert "180Gi" in result.err


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one["spec"].update(unschedulable=True, taints=[{"key": "node.kubernetes.io/unschedulable"}]),
        lambda one: one["status"]["allocatable"].pop("nvidia.com/gpu"),
        lambda one: one["metadata"]["labels"].clear(),
    ],
    ids=["cordoned", "without its device plugin", "gone"],
)
def test_a_temporary_lack_of_nodes_stops_no_submission(
    notebook: Path, cluster: ApiServer, refused: Any, change: Any
) -> None:
    cluster.objects["nodes"] = [large("n2", 4)]
    change(cluster.objects["nodes"][0])
    assert sent(submit(refused, *MULTI, code=1))


def test_a_refusal_of_the_cluster_has_the_form_of_every_submission(
    notebook: Path, cluster: ApiServer, refused: Any, golden: Callable[..., None]
) -> None:
    cluster.objects["nodes"].append(large("n2", 4))
    rejected = submit(refused, *MULTI, code=1)
    cluster.created = lambda *_: (403, status('jobs.batch is forbidden: User "ada" cannot create resource "jobs"', 403))
    denied = submit(refused, *MULTI, code=1)
    golden(*(re.sub(r"Job train-\w{5}", "Job train-x7k2p", str(one)) for one in (rejected, denied)))


@pytest.mark.parametrize(
    ("condition", "words", "state", "code"),
    [
        ("Complete", ("--wait",), "complete", 0),
        ("Failed", ("--wait",), "failed", 1),
        ("Failed", (), "submitted", 0),
        ("Failed", ("--wait", "--dry-run"), "checked", 0),
    ],
)
def test_a_submitted_notebook_as_json(
    notebook: Path,
    cluster: ApiServer,
    run: Any,
    valid: Any,
    condition: str,
    words: tuple[str, ...],
    state: str,
    code: int,
) -> None:
    cluster.objects["nodes"].append(large("n2", 4))

    def created(plural: str, body: Any, dry: bool) -> tuple[int, Any]:
        made = {**body, "metadata": {**body["metadata"], "uid": "u"}}
        made["status"] = {"conditions": [{"type": condition, "status": "True"}]}
        if not dry:
            cluster.objects[plural].append(made)
        return 201, made

    cluster.created = created
    result = run("job", "submit", "work/train.ipynb", "--workspace", "work", *MULTI, *words, "--json")
    document = json.loads(result.out)
    assert valid(document, "outputs", "submitNotebook") == []
    assert (result.code, document["state"], document["gpus"]) == (code, state, 3)
    names = [job["metadata"]["name"] for job in cluster.objects["jobs"]]
    assert names == ([] if state == "checked" else [document["job"]])
