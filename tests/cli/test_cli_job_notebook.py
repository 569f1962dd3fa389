"""``modelyard job submit NOTEBOOK``: everything that is told before a cluster is asked."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_server import ApiServer, api_server
from tests.support.pool_objects import NOTEBOOK_POOL, local_queue, node, pod, spec

CELL = {"cell_type": "code", "metadata": {}, "source": "print(1)", "outputs": [], "execution_count": None}
NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 4,
    "metadata": {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python"}},
    "cells": [CELL],
}


@pytest.fixture
def notebook(project: Any, tmp_path: Path) -> Path:
    """A notebook in a workspace, and the project with a pool."""
    project.edit(("config:\n", f"config:{NOTEBOOK_POOL}"))
    file = tmp_path / "work" / "train.ipynb"
    file.parent.mkdir()
    file.write_text(json.dumps(NOTEBOOK))
    return file


def submit(refused: Any, file: Path, *words: str, code: int = 2) -> str:
    result = refused("job", "submit", str(file), "--workspace", str(file.parent), *words, code=code)
    found: str = result.words
    return found


def test_everything_wrong_is_told_at_once(notebook: Path, refused: Any) -> None:
    notebook.write_text("[]")
    said = submit(refused, notebook, "--stack", "dev", "--flavor", "a11", "--team", "visoin", "-p", "x")
    for words in ("it has no nbformat", "unknown flavor a11", "unknown team visoin", "'x' is not a parameter"):
        assert words in said
    assert "4 findings prevent the submission - " in said
    assert "- unknown team visoin → did you mean vision? - unknown flavor" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no stack was given"),
        (("--stack", "dve"), "did you mean dev?"),
        (("--stack", "dev"), "the stack has several flavors"),
        (("--stack", "dev", "--device", "A40"), "no nodes match the GPU A40 → the choices are a10 (A10), a30 (A30)"),
        (("--stack", "dev", "--device", "A300"), "A300 does not name exactly one GPU"),
        (("--stack", "dev", "--flavor", "a10", "--allocation", "partial"), "partial needs half a GPU"),
        (("--stack", "dev", "--flavor", "a10", "--allocation", "multi_gpu"), "multi_gpu uses gpu.perWorker GPUs"),
        (("--stack", "dev", "--flavor", "a10", "--allocation", "half"), "invalid choice"),
        (("--stack", "dev", "--flavor", "a10", "-p", "a=1"), "has no cell tagged parameters"),
        (("--stack", "dev", "--flavor", "a10", "--priority", "high"), "unknown priority high"),
    ],
)
def test_bad_input(notebook: Path, refused: Any, words: tuple[str, ...], said: str) -> None:
    assert said in submit(refused, notebook, *words)


def test_a_parameter_that_the_notebook_has_not(notebook: Path, refused: Any) -> None:
    """papermill takes it and nothing reads it: the job would run with the defaults."""
    cell = {**CELL, "source": "epochs = 1\nrate = 0.1", "metadata": {"tags": ["parameters"]}}
    notebook.write_text(json.dumps({**NOTEBOOK, "cells": [cell, CELL]}))
    said = submit(refused, notebook, "--stack", "dev", "--flavor", "a10", "-p", "epoch=20")
    assert (
        f"{notebook} has no parameter epoch: its cell tagged parameters sets epochs, rate → did you mean epochs?"
        in said
    )


def test_a_notebook_outside_the_workspace(notebook: Path, refused: Any) -> None:
    outside = notebook.parent.parent / "other.ipynb"
    outside.write_text(notebook.read_text())
    (notebook.parent / "link.ipynb").symlink_to(outside)
    words = ("--workspace", str(notebook.parent), "--stack", "dev", "--flavor", "a10")
    for name in ("link.ipynb", "../other.ipynb"):
        assert "is outside the workspace" in submit(refused, notebook.parent / name, *words)


def test_a_stack_without_an_image(notebook: Path, refused: Any, project: Any) -> None:
    project.edit(("{image: images.example.com/notebook:1}", "{claim: work}"))
    said = submit(refused, notebook, "--stack", "dev", "--flavor", "a10", code=1)
    assert "CFG009 notebooks.image is not set" in said
    assert "stacks/Pulumi.dev.yaml:4" in said


def test_sizes_are_held_against_the_chosen_gpu(notebook: Path, refused: Any, project: Any) -> None:
    project.edit(("notebook:1}", "notebook:1, memory: 20Gi, cpu: 2}"))
    said = submit(refused, notebook, "--stack", "dev", "--flavor", "a30", code=1)
    assert "RES001 notebooks.memory is 20Gi (21.47 GB) per GPU, but at least 24 GB are needed" in said
    assert "A30 has 24 GB" in said
    assert "RES002" in said


def test_check_finds_sizes_that_a_submission_would_refuse(notebook: Path, run: Any, project: Any) -> None:
    project.edit(("notebook:1}", "notebook:1, memory: 20Gi, cpu: 2}"))
    done = run("check", "dev")
    line = next(
        number
        for number, text in enumerate(project.stack_file().read_text().splitlines(), 1)
        if text.startswith("  modelyard:notebooks:")
    )
    assert done.code == 1
    for code, said in (("RES001", "notebooks.memory is 20Gi (21.47 GB) per GPU"), ("RES002", "notebooks.cpu is 2")):
        assert f"{code} {said}" in done.words
    assert f"stacks/Pulumi.dev.yaml:{line}:" in done.words
    findings = [one for one in json.loads(run("check", "dev", "--json").out)["findings"] if one["code"] == "RES001"]
    assert ("notebooks.memory", "error") in {(one["field"], one["severity"]) for one in findings}


def test_a_cluster_that_is_not_there(notebook: Path, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "nowhere")
    said = submit(refused, notebook, "--stack", "dev", "--flavor", "a10", code=3)
    assert "kubeconfig" in said


def test_errors_are_json_where_asked_for(notebook: Path, run: Any) -> None:
    result = run("job", "submit", str(notebook), "--stack", "dev", "--workspace", str(notebook.parent), "--json")
    document = json.loads(result.out)
    assert result.code == 2
    assert document["error"]["remedy"] == "--flavor a10 or a30"


def test_what_can_be_chosen(notebook: Path, run: Any) -> None:
    said = run("job", "choices", "dev").words
    assert "flavor a10 (A10), a30 (A30)" in said
    assert "device A10, A30 allocation single (1 GPU) team vision (a10, a30)" in said
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


def test_what_is_free_now(shared: ApiServer, run: Any, valid: Any) -> None:
    said = run("job", "choices", "dev", "--live").words
    document = json.loads(run("job", "choices", "dev", "--live", "--json").out)
    assert valid(document, "outputs", "jobChoices") == []
    (a10, a30), ((team),) = document["flavors"], document["teams"]
    assert (a10["free"], a30["free"]) == (1, 0)
    assert {one["slice"]: one["free"] for one in a30["parts"]} == {"2g.12gb": 0, "1g.6gb": 2}
    most = {one["flavor"]: one["most"] for one in team["holds"]}
    assert {one["flavor"]: one["left"] for one in team["holds"]} == {"a10": most["a10"] - 1, "a30": most["a30"]}
    assert document["unknownFree"] is None
    assert "flavor a10 (A10, 1 free), a30 (A30, 0 free) device A10 (1 free), A30 (0 free)" in said
    assert "small 1g.6gb (nvidia.com/mig-1g.6gb, 6 GB, 2 free)" in said
    assert f"team vision (a10: {most['a10'] - 1} left, a30: {most['a30']} left)" in said


def test_what_is_free_may_be_unknown(shared: ApiServer, run: Any, valid: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shared.forbidden = {"nodes", "pods"}
    document = json.loads(run("job", "choices", "dev", "--live", "--json").out)
    assert valid(document, "outputs", "jobChoices") == []
    assert {one["free"] for one in document["flavors"]} == {None}
    # An account may read its own team's queue and no nodes.
    assert None not in {one["left"] for one in document["teams"][0]["holds"]}
    why = "these credentials may not list the nodes and pods of the cluster"
    assert document["unknownFree"] == why
    assert f"free now unknown: {why}" in run("job", "choices", "dev", "--live").words
    monkeypatch.setenv("KUBECONFIG", "nowhere")
    done = run("job", "choices", "dev", "--live")
    assert (done.code, "flavor a10 (A10), a30 (A30)" in done.words) == (0, True)
    assert "free now unknown: " in done.words


def test_choices_of_no_stack(refused: Any) -> None:
    assert "no stack was given" in refused("job", "choices", code=2).words


def test_notebooks_may_run_in_an_environments_image(project: Any, run: Any) -> None:
    environments = (
        "[{name: tabular, python: '3.11', requirements: environments/tabular.txt, image: images.example.com/python:1}]"
    )
    project.edit(("config:\n", f"config:\n  modelyard:environments: {environments}\n"))
    project.edit(("config:\n", "config:\n  modelyard:notebooks: {environment: tabular}\n"))
    (project.root / "environments").mkdir(exist_ok=True)
    (project.root / "environments" / "tabular.txt").write_text("pandas\n")
    assert "dev images.example.com/python:1 with tabular" in run("job", "choices", "dev").words


def test_slices_can_be_chosen_where_a_partition_divides_the_nodes(notebook: Path, project: Any, run: Any) -> None:
    partition = "{name: small, mode: mig, flavor: a30, layout: {2g.12gb: 1, 1g.6gb: 2}}"
    project.edit(("config:\n", f"config:\n  modelyard:partitions: [{partition}]\n"))
    said = run("job", "choices", "dev").words
    assert "allocation single (1 GPU), partial" in said
    assert "small 2g.12gb (nvidia.com/mig-2g.12gb, 12 GB), small 1g.6gb (nvidia.com/mig-1g.6gb, 6 GB)" in said
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
    ("servers", "said"),
    [
        ("{}", ("servers.image is missing", "servers.login is missing", "servers.users is missing")),
        ("{image: a/b:1, login: l, users: []}", ("notebooks.servers.users is an empty list",)),
        ("{image: a/b:1, login: l, users: [ada]}", ('users[0] is "ada"',)),
        ("{image: a/b:1, login: l, users: [{team: vision}]}", ("users[0].name is missing",)),
        ("{image: a/b:1, login: My_Login, users: [{name: Ada}]}", ('login is "My_Login"', 'name is "Ada"')),
        (f"{{image: a/b:1, login: l, users: [{{name: {'a' * 47}}}]}}", ("users[0].name",)),
        ("{image: a/b:1, login: l, users: [{name: ada, gpu: A10}]}", ("unknown key notebooks.servers.users[0].gpu",)),
        ("{image: a/b:1, login: l, gpu: 1, users: [{name: ada}]}", ("unknown key notebooks.servers.gpu",)),
        ("{image: a/b:1, login: l, memory: 4, users: [{name: ada}]}", ("is 4: less than 1Mi", "write the unit")),
        ("{image: a/b:1, login: l, project: ../platform, users: [{name: ada}]}", ("servers.project",)),
        (
            "{image: a/b:1, login: l, users: [{name: ada}, {name: ada}, {name: bob, team: visoin}]}",
            ("RES222 notebooks.servers lists ada twice", "RES210 notebook server bob names the team visoin"),
        ),
    ],
)
def test_servers_that_cannot_be(
    notebook: Path, refused: Any, project: Any, servers: str, said: tuple[str, ...]
) -> None:
    project.edit(("notebook:1}", f"notebook:1, servers: {servers}}}"))
    told = refused("check", "dev", code=1 if "RES222" in said[0] else 2).words
    for words in said:
        assert words in told


def test_show_tells_who_has_a_server(notebook: Path, project: Any, run: Any) -> None:
    servers = "{image: a/b:1, login: l, memory: 8Gi, users: [{name: ada}]}"
    project.edit(("notebook:1}", f"notebook:1, servers: {servers}}}"))
    rows = [line.split() for line in run("show", "dev").out.splitlines()]
    assert rows[rows.index(["NOTEBOOK", "SERVER", "NAMESPACE", "CPU", "MEMORY"]) + 1] == ["ada", "vision", "1", "8Gi"]
    document = json.loads(run("show", "dev", "--json").out)
    assert document["notebookServers"] == [{"name": "ada", "team": None, "namespace": "vision"}]


def large(name: str, gpus: int) -> Any:
    """A node that is short of nothing but GPUs."""
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
        monkeypatch.setenv("KUBECONFIG", str(made.kubeconfig))
        monkeypatch.setenv("no_proxy", "*")
        yield made


MULTI = ("--stack", "dev", "--flavor", "a10", "--allocation", "multi_gpu")
NEVER = "RES212 notebook {} can never run: no node takes a worker"


def test_what_no_node_ever_holds_is_not_submitted(notebook: Path, cluster: ApiServer, run: Any, refused: Any) -> None:
    said = submit(refused, notebook, *MULTI, code=1)
    assert NEVER.format(notebook.name) in said
    assert "1 node: a pod needs 3 GPUs, a node has 1; 1 node: a pod needs 3 GPUs, a node has 2" in said
    assert "stacks/Pulumi.dev.yaml:4" in said
    assert not [path for path in cluster.asked if not path.startswith("/api/v1/nodes?")]
    cluster.objects["nodes"].append(large("n2", 4))
    assert "error: the API server rejects job" in submit(refused, notebook, *MULTI, code=1)


def test_nodes_that_may_not_be_read_are_taken_as_recorded(notebook: Path, cluster: ApiServer, refused: Any) -> None:
    """As in Jupyter, whose account may make Jobs and nothing else."""
    cluster.forbidden.add("nodes")
    said = submit(refused, notebook, *MULTI, code=1)
    assert NEVER.format(notebook.name) in said
    assert "2 nodes: a pod needs 3 GPUs, a node has 1; live nodes are not readable" in said


def test_an_autoscaler_of_which_nobody_knows_can_be_told_of(
    notebook: Path, cluster: ApiServer, project: Any, refused: Any
) -> None:
    waiver = "  modelyard:waivers:\n    - {code: RES212, reason: nodes come, expires: 2099-01-01, by: ada}\n"
    project.edit(("config:\n", f"config:\n{waiver}"))
    assert "error: the API server rejects job" in submit(refused, notebook, *MULTI, code=1)


def test_what_a_quota_never_holds_is_not_submitted(
    notebook: Path, cluster: ApiServer, project: Any, refused: Any
) -> None:
    project.edit(("notebook:1}", "notebook:1, memory: 60Gi}"))
    said = submit(refused, notebook, *MULTI, code=1)
    words = "asks for 180Gi of memory at once, but team vision never has more than"
    assert f"RES213 notebook {notebook.name} {words}" in said


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one["spec"].update(unschedulable=True, taints=[{"key": "node.kubernetes.io/unschedulable"}]),
        lambda one: one["status"]["allocatable"].pop("nvidia.com/gpu"),
        lambda one: one["metadata"]["labels"].clear(),
    ],
    ids=["cordoned", "without its device plugin", "gone"],
)
def test_what_passes_keeps_nothing_from_being_submitted(
    notebook: Path, cluster: ApiServer, refused: Any, change: Any
) -> None:
    cluster.objects["nodes"] = [large("n2", 4)]
    change(cluster.objects["nodes"][0])
    assert "error: the API server rejects job" in submit(refused, notebook, *MULTI, code=1)
