"""GPUs that a project defines in hardware.yaml are known to every verb, in this project only."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from modelyard.cli import fleet
from modelyard.hardware import resolve

L20 = """\
gpus:
  - name: L20
    labels: [NVIDIA-L20]
    tflops: 130
    memoryGb: 48
    compute: "8.9"
    nvlink: false
    source: made-up data sheet, page 3
"""


@pytest.fixture
def owner(project: Any) -> Any:
    """The project, which defines an L20."""
    write(project, L20)
    return project


def write(project: Any, text: str) -> None:
    (project.root / "hardware.yaml").write_text(text)


def findings(run: Any, *words: str) -> dict[str, Any]:
    """The findings of a check by code; the last one of each."""
    return {one["code"]: one for one in json.loads(run("check", "dev", "--json", *words).out)["findings"]}


def relabel(project: Any, **labels: str | None) -> None:
    """Changes labels of dev's GPU nodes: those of GPU feature discovery, None removes one."""
    path = project.root / "stacks/recorded/dev/cluster.json"
    cluster = json.loads(path.read_text())
    nodes = [one for one in cluster["nodes"] if "nvidia.com/gpu.product" in one["metadata"]["labels"]]
    assert nodes
    for node in nodes:
        for name, value in labels.items():
            node["metadata"]["labels"].pop(f"nvidia.com/gpu.{name}", None)
            if value is not None:
                node["metadata"]["labels"][f"nvidia.com/gpu.{name}"] = value
    path.write_text(json.dumps(cluster))


def worker_nodes(run: Any) -> list[str]:
    """The product labels that Ray's workers are pinned to."""
    targets = json.loads(run("plan", "dev", "--json").out)["targets"]
    (worker,) = [one for one in targets if one["name"] == "deployment-ray-model-training-worker"]
    affinity = worker["after"]["spec"]["template"]["spec"].get("affinity", {})
    terms = affinity.get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    rules = [rule for term in terms.get("nodeSelectorTerms", ()) for rule in term["matchExpressions"]]
    return [value for rule in rules if rule["key"] == "nvidia.com/gpu.product" for value in rule["values"]]


def test_a_defined_gpu_is_shown_with_its_source(owner: Any, run: Any, valid: Any, golden: Any) -> None:
    golden(run("gpus", "nvidia-l20"))
    (row,) = [line for line in run("gpus", "--supported").out.splitlines() if line.split()[1:2] == ["l20"]]
    assert row.endswith("(hardware.yaml)")
    document = json.loads(run("gpus", "L20", "--json").out)
    assert [(one["id"], one["products"]) for one in document["cards"]] == [("l20", ["NVIDIA-L20"])]
    assert valid(document, "outputs", "gpus") == []


def test_a_defined_gpu_is_known_in_its_project_only(owner: Any, run: Any, tmp_path: Path) -> None:
    assert run("gpus", "L20").code == 0
    assert resolve("L20") is None
    (tmp_path / "other").mkdir()
    outside = run("-C", str(tmp_path / "other"), "gpus", "L20")
    assert outside.code == 2
    assert "hardware.yaml" in outside.words
    owner.edit(("model: A10", "model: L20"))
    assert "GPU002" not in findings(run)
    (owner.root / "hardware.yaml").unlink()
    assert "GPU002" in findings(run)


def test_a_near_name_is_suggested(owner: Any, run: Any) -> None:
    owner.edit(("model: A10", "model: L21"))
    assert "l20" in findings(run)["GPU002"]["remedy"]


def test_the_training_gpu(owner: Any, run: Any) -> None:
    owner.edit(("model: A10", "model: L20"))
    found = findings(run)
    assert "48 GB" in found["RES001"]["summary"]
    assert not {"GPU001", "GPU002", "GPU005"} & found.keys()
    assert worker_nodes(run) == ["NVIDIA-L20"]
    assert found["RES101"]["severity"] == "error"
    relabel(owner, product="NVIDIA-L20", memory="46068")
    owner.edit(("memory: 32Gi", "memory: 48Gi"))
    assert run("check", "dev").errors == []


@pytest.mark.parametrize(
    ("old", "new", "code", "fact"),
    [
        ("tflops: 130", "tflops: 119.5", "GPU001", "119.5 FP16"),
        ('compute: "8.9"', 'compute: "9.0"', "GPU005", "CUDA 11.8"),
        ('compute: "8.9"', 'compute: "14.0"\n    cuda: {first: "13.0"}', "GPU005", "CUDA 13.0"),
        ('compute: "8.9"', 'compute: "8.9"\n    cuda: {first: "11.0", last: "11.6"}', "GPU005", "CUDA 11.6"),
    ],
)
def test_its_numbers_decide(owner: Any, run: Any, old: str, new: str, code: str, fact: str) -> None:
    owner.edit(("model: A10", "model: L20"))
    write(owner, L20.replace(old, new))
    found = findings(run)[code]
    assert (found["severity"], found["line"]) == ("error", 11)
    assert fact in found["summary"] + found["remedy"]


def test_several_per_worker_need_nvlink(owner: Any, run: Any) -> None:
    owner.edit(("model: A10", "model: L20"), ("perWorker: 1", "perWorker: 2"))
    assert findings(run)["GPU008"]["summary"].startswith("L20 ")
    write(owner, L20.replace("nvlink: false", "nvlink: true"))
    assert "GPU008" not in findings(run)
    assert json.loads(run("gpus", "L20", "--json").out)["cards"][0]["nvlink"] == "yes"


def test_a_resource(owner: Any, run: Any) -> None:
    owner.add("modelyard:resources: [{name: own, type: training, workers: 1, gpus: 1, gpu: L20, image: 'train:1'}]")
    owner.add("modelyard:jobs: [{name: fit, type: training, resource: own}]")
    assert not {"RES208", "GPU001"} & findings(run).keys()
    assert "NVIDIA-L20" in run("plan", "dev", "--json").out
    write(owner, L20.replace("tflops: 130", "tflops: 12"))
    assert findings(run)["GPU001"]["field"] == "resources[0].gpu"


def test_a_flavor(owner: Any, run: Any) -> None:
    owner.add("modelyard:flavors: [{name: own, gpu: L20}]")
    shown = run("show", "dev")
    assert shown.code == 0, shown.text
    assert "nvidia.com/gpu.product=NVIDIA-L20" in shown.words
    (owner.root / "hardware.yaml").unlink()
    assert findings(run)["QUE002"]["field"] == "flavors[0].gpu"


def test_a_node_pool_names_its_machine_types(owner: Any, run: Any) -> None:
    pool = "modelyard:nodePools: [{name: own, cloud: aws, gpu: L20, gpus: 8, nodeClass: gpu%s}]"
    owner.add(pool % "")
    assert "types" in findings(run)["QUE020"]["remedy"]
    owner.edit((pool % "", pool % ", types: [g99.xlarge]"))
    assert "QUE020" not in findings(run)
    owner.edit(("g99.xlarge", "g5.xlarge"))
    assert "QUE020" in findings(run)


def test_a_price_file(owner: Any, run: Any) -> None:
    owner.edit(("model: A10", "model: L20"), ("memory: 32Gi", "memory: 48Gi"))
    relabel(owner, product="NVIDIA-L20", memory="46068")
    owner.add("modelyard:prices: prices.yaml")
    price = "cards: [{model: L20, usdPerGpuHour: 1.25, date: 2026-10-01, source: contract}]\n"
    (owner.root / "prices.yaml").write_text(price)
    assert run("check", "dev").errors == []
    prices = json.loads(run("plan", "dev", "--json").out)["cost"]["targets"]
    assert {(one["name"], one["usd"]) for target in prices for one in target["prices"]} == {("L20", 1.25)}
    # The same bytes mean something else in a project that does not define the GPU.
    (owner.root / "hardware.yaml").unlink()
    assert "CFG011" in run("check", "dev").errors


def test_a_saved_plan_is_stale_after_an_edit(owner: Any, run: Any) -> None:
    first = json.loads(run("plan", "dev", "--json").out)["inputs"]
    write(owner, "# only a comment\n" + L20)
    assert json.loads(run("plan", "dev", "--json").out)["inputs"] == first
    write(owner, L20.replace("memoryGb: 48", "memoryGb: 40"))
    second = json.loads(run("plan", "dev", "--json").out)["inputs"]
    assert {name for name in first if first[name] != second[name]} == {"hardware.yaml"}
    (owner.root / "hardware.yaml").unlink()
    assert "hardware.yaml" not in json.loads(run("plan", "dev", "--json").out)["inputs"]


def test_the_gpu_is_known_in_every_process(owner: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "WORTH_A_POOL", 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    owner.edit(("model: A10", "model: L20"))
    names = [f"s{number}" for number in range(4)]
    for name in names:
        owner.stack_file(name).write_bytes(owner.stack_file().read_bytes())
        (owner.root / "stacks/recorded" / name).symlink_to("dev")
    found = json.loads(run("check", *names, "--json").out)["findings"]
    assert {one["stack"] for one in found if one["code"] == "RES001" and "48 GB" in one["summary"]} == set(names)
    assert "GPU002" not in {one["code"] for one in found}


WRONG = """\
gpus:
  - name: A10
    labels: [NVIDIA-L20, nvidia-a10]
    tflops: -3
    memoryGb: 48.5
    compute: 8.9
    nvlink: maybe
    source: "  "
  - name: l20
    labels: [NVIDIA-L20, "bad label"]
    tflops: fast
    memoryGb: 48
    compute: "8.9"
    nvlink: true
    cuda: {first: "12.8", last: "12.4"}
    sauce: x
  - name: L30?
    labels: []
    tflops: 1
    memoryGb: 0
    compute: "14.0"
    nvlink: true
    source: s
  - name: L31
    labels: [NVIDIA-L31]
    tflops: 1
    memoryGb: 1
    compute: "89"
    nvlink: true
    source: s
cards: []
"""
LINES = {
    (2, "CFG011", "gpus[0].name"),
    (3, "CFG011", "gpus[0].labels[1]"),
    (4, "CFG012", "gpus[0].tflops"),
    (5, "CFG012", "gpus[0].memoryGb"),
    (6, "CFG015", "gpus[0].compute"),
    (7, "CFG010", "gpus[0].nvlink"),
    (8, "CFG018", "gpus[0].source"),
    (9, "CFG006", "gpus[1].name"),
    (10, "CFG006", "gpus[1].labels[0]"),
    (10, "CFG018", "gpus[1].labels[1]"),
    (11, "CFG010", "gpus[1].tflops"),
    (15, "CFG012", "gpus[1].cuda.last"),
    (16, "CFG008", "gpus[1].sauce"),
    (17, "CFG018", "gpus[2].name"),
    (17, "CFG009", "gpus[2]"),
    (18, "CFG012", "gpus[2].labels"),
    (20, "CFG012", "gpus[2].memoryGb"),
    (28, "CFG018", "gpus[3].compute"),
    (31, "CFG008", "cards"),
}


@pytest.mark.parametrize("words", [("check", "dev"), ("gpus",)])
def test_all_mistakes_are_reported_with_their_lines(project: Any, run: Any, words: tuple[str, ...]) -> None:
    write(project, WRONG)
    done = run(*words, "--json")
    found = [one for one in json.loads(done.out)["findings"] if one.get("file") == "hardware.yaml"]
    assert {(one["line"], one["code"], one["field"]) for one in found} == LINES
    assert all(one["remedy"] for one in found)
    assert done.code == 2


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "CFG007"), ("[]", "CFG007"), ("gpus: [", "CFG004"), ("gpus: 3", "CFG010"), ("gpus: !x []", "CFG005")],
)
def test_a_file_of_another_form(project: Any, refused: Any, text: str, code: str) -> None:
    write(project, text)
    assert code in refused("check", "dev", code=2).errors


def test_a_key_twice(project: Any, refused: Any) -> None:
    write(project, L20 + "    nvlink: true\n")
    assert "hardware.yaml:9" in refused("plan", "dev", code=2).text


@pytest.mark.parametrize("verb", [("show", "dev"), ("size", "dev"), ("job", "list", "dev")])
def test_every_verb_that_reads_a_stack_reports_mistakes(project: Any, run: Any, verb: tuple[str, ...]) -> None:
    write(project, WRONG)
    done = run(*verb)
    assert done.code == 2
    assert "hardware.yaml:4" in done.text


def test_a_link_out_of_the_project_is_refused(project: Any, refused: Any, tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").write_text(L20)
    (project.root / "hardware.yaml").symlink_to(tmp_path / "outside.yaml")
    assert refused("check", "dev", code=2).errors == ["CFG001"]


def test_an_output_never_replaces_the_file(owner: Any, refused: Any) -> None:
    refused("check", "dev", "--output", "hardware.yaml", code=2)


def test_a_secret_is_not_quoted(project: Any, run: Any) -> None:
    write(project, L20.replace("tflops: 130", "tflops: password=hunter2") + "password: hunter2\n")
    assert "hunter2" not in run("check", "dev").text


WAIVED = "modelyard:waivers: [{code: GPU002, reason: ordered, expires: 2099-05-01}]"


def test_a_waived_unknown_gpu_has_the_memory_of_its_nodes(project: Any, run: Any) -> None:
    project.edit(("model: A10", "model: nvidia-b77"))
    project.add(WAIVED)
    relabel(project, product="NVIDIA-B77", memory="49152")
    found = findings(run)
    assert worker_nodes(run) == ["NVIDIA-B77"]
    assert "51 GB" in found["RES001"]["summary"]
    assert "nvidia.com/gpu.memory" in found["RES001"]["detail"]
    assert found["GPU002"]["waived"]
    assert "GPU012" not in found


def test_a_waived_unknown_gpu_without_labels_is_one_finding(project: Any, run: Any) -> None:
    project.edit(("model: A10", "model: nvidia-b77"))
    project.add(WAIVED)
    found = findings(run)
    assert worker_nodes(run) == []
    assert found["GPU012"]["severity"] == "warning"
    assert "hardware.yaml" in found["GPU012"]["remedy"]
    assert "RES001" not in found
    # A similar name is another GPU.
    relabel(project, product="NVIDIA-B77-PCIe", memory="49152")
    assert "GPU012" in findings(run)
    assert worker_nodes(run) == []


def test_a_waived_unknown_gpu_whose_nodes_have_no_memory_label(project: Any, run: Any) -> None:
    project.edit(("model: A10", "model: nvidia-b77"))
    project.add(WAIVED)
    relabel(project, product="NVIDIA-B77", memory=None)
    found = findings(run)
    assert worker_nodes(run) == ["NVIDIA-B77"]
    assert "affinity" not in found["GPU012"]["summary"]
    assert "memory" in found["GPU012"]["summary"]


def test_a_definition_replaces_the_waiver(owner: Any, run: Any) -> None:
    owner.edit(("model: A10", "model: L20"))
    owner.add(WAIVED)
    found = findings(run)
    assert not {"GPU002", "GPU012"} & found.keys()
    assert "CFG022" in found


def test_a_waived_name_of_several_gpus_has_the_least_memory_of_them(project: Any, run: Any) -> None:
    project.edit(("model: A10", "model: H100"))
    project.add(WAIVED.replace("GPU002", "GPU003"))
    found = findings(run)
    pinned = worker_nodes(run)
    assert {"NVIDIA-H100-PCIe", "NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-NVL"} <= set(pinned)
    assert "80 GB" in found["RES001"]["summary"]
    project.edit(("memory: 32Gi", "memory: 80Gi"))
    assert "94 GB" in findings(run)["GPU010"]["summary"]
