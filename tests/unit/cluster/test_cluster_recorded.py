"""Recorded platforms: written and read back, and what an object is without its noise."""

import json
from fractions import Fraction
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from modelyard.cli.exit import Stop
from modelyard.cli.record import _keep
from modelyard.cluster import load_recorded
from modelyard.cluster.live import Snapshot
from modelyard.cluster.recorded import forget_recorded, recorded_folder, recorded_name, write_recorded
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey, Quota, Waiting, essence, node_of
from modelyard.stack import load_text

ROOT = Path(__file__).parents[3]


def raw(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The documents of a recorded platform."""
    folder = recorded_folder(ROOT, name)
    cluster = json.loads((folder / "cluster.json").read_text())
    return cluster, [json.loads(path.read_text()) for path in sorted(folder.glob("deployment.*.json"))]


def write(
    root: Path, cluster: dict[str, Any], objects: list[dict[str, Any]], quotas: tuple[dict[str, Any], ...] = ()
) -> tuple[Path, ...]:
    taken = Snapshot(
        identity=cluster["identity"],
        version=cluster["version"],
        nodes=Confidential(tuple(cluster["nodes"])),
        pods=Confidential(tuple(cluster["pods"])),
        objects=Confidential(tuple(objects)),
        quotas=Confidential(quotas),
    )
    return write_recorded(root, "dev", taken, cluster["schemaSha256"])


def test_a_recording_is_read_back_as_written(tmp_path: Path) -> None:
    cluster, objects = raw("dev")
    cluster["nodes"].reverse()
    objects.reverse()
    written = write(tmp_path, cluster, objects)
    for path in written:
        assert path.read_bytes() == (recorded_folder(ROOT, "dev") / path.name).read_bytes()
    assert load_recorded(tmp_path, "dev") == load_recorded(ROOT, "dev")


@pytest.mark.parametrize(
    "waiting", [None, (), (Waiting("train-x", "vision", "train", Confidential({"tolerations": []})),)]
)
def test_waiting_pods_are_recorded_if_known(tmp_path: Path, waiting: tuple[Waiting, ...] | None) -> None:
    nothing = Confidential(())
    write_recorded(tmp_path, "dev", Snapshot("uid", "v1.35.4", nothing, nothing, nothing, nothing), "", waiting)
    state, _ = load_recorded(tmp_path, "dev")
    assert state is not None
    assert state.waiting == waiting


def test_pods_recorded_without_a_namespace_are_read(tmp_path: Path) -> None:
    cluster, objects = raw("dev")
    for pod in cluster["pods"]:
        assert pod.pop("namespace") == "ml-platform"
    write(tmp_path, cluster, objects)
    state, _ = load_recorded(tmp_path, "dev")
    assert state is not None
    assert {pod.namespace for pod in state.pods} == {""}


def test_quotas_are_recorded_if_there_are_any(tmp_path: Path) -> None:
    hard, used = {"requests.nvidia.com/gpu": "4"}, {"requests.nvidia.com/gpu": "1"}
    quota = {"metadata": {"namespace": "ml", "name": "team"}, "spec": {"hard": hard}}
    write(tmp_path, *raw("dev"), ({**quota, "status": {"hard": hard, "used": used}},))
    state, _ = load_recorded(tmp_path, "dev")
    assert state is not None
    one, four = Fraction(1), Fraction(4)
    assert state.quotas == (Quota("ml", "team", {"requests.nvidia.com/gpu": four}, {"requests.nvidia.com/gpu": one}),)


def test_an_object_without_a_namespace_has_a_file_of_its_name_alone(tmp_path: Path) -> None:
    cluster, objects = raw("dev")
    flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "a10"}}
    files = {path.name for path in write(tmp_path, cluster, [*objects, flavor])}
    assert "resourceflavor.a10.json" in files
    state, _ = load_recorded(tmp_path, "dev")
    assert state is not None
    assert state.objects.reveal()[ObjectKey("kueue.x-k8s.io/v1beta2", "ResourceFlavor", "", "a10")] == flavor


def test_recording_again_drops_what_is_gone(tmp_path: Path) -> None:
    cluster, objects = raw("dev")
    write(tmp_path, cluster, objects)
    write(tmp_path, cluster, objects[1:])
    state, _ = load_recorded(tmp_path, "dev")
    assert state is not None
    assert len(state.objects.reveal()) == 4


@pytest.mark.parametrize("content", ["mine", "[]", '{"kind": "Deployment"}', None])
@pytest.mark.parametrize("name", ["notes.json", "deployment.ml-platform.mine.json"])
def test_recording_and_deleting_leave_other_files(tmp_path: Path, name: str, content: str | None) -> None:
    """Of None: an object that is recorded, under another name than the recording gives it."""
    cluster, objects = raw("dev")
    write(tmp_path, cluster, objects)
    file = recorded_folder(tmp_path, "dev") / name
    file.write_text(json.dumps(objects[0]) if content is None else content)
    write(tmp_path, cluster, objects)
    forget_recorded(tmp_path, "dev")
    assert list(file.parent.iterdir()) == [file]


def test_objects_nodes_and_pods_are_found_by_their_identity() -> None:
    state, findings = load_recorded(ROOT, "dev")
    assert findings == ()
    assert state is not None
    assert ObjectKey("apps/v1", "Deployment", "ml-platform", "deployment-ray-head") in state.objects.reveal()
    gpu = next(node for node in state.nodes if node.name == "dev-gpu-1")
    assert gpu.allocatable["nvidia.com/gpu"] == 1
    assert gpu.schedulable
    assert {pod.owner for pod in state.pods} >= {"deployment-ray-head", "deployment-ray-model-training-worker"}


def test_a_node_from_what_the_api_server_returns() -> None:
    node = node_of(
        {
            "metadata": {"name": "n"},
            "spec": {"unschedulable": True},
            "status": {"allocatable": {"cpu": "3900m", "memory": "1Gi"}},
        }
    )
    assert (node.name, node.labels, node.taints, node.schedulable) == ("n", {}, (), False)
    assert node.allocatable == {"cpu": Fraction(39, 10), "memory": Fraction(2**30)}


@pytest.mark.parametrize("file", ["cluster.json", "deployment.ml-platform.deployment-ray-head.json"])
@pytest.mark.parametrize("content", ["", "{", "[]", "5", '{"formatVersion": 1}', "\x00"])
def test_a_damaged_recording_is_a_finding_with_its_file(tmp_path: Path, file: str, content: str) -> None:
    cluster, objects = raw("dev")
    write(tmp_path, cluster, objects)
    (recorded_folder(tmp_path, "dev") / file).write_text(content)
    state, findings = load_recorded(tmp_path, "dev")
    assert state is None
    assert {finding.code for finding in findings} == {"CFG102"}
    assert all(finding.file.startswith("stacks/recorded/dev/") for finding in findings)
    assert ("not JSON" in findings[0].summary) == (content in ("", "{", "\x00"))
    assert all("modelyard record dev" in finding.remedy for finding in findings)


@pytest.mark.parametrize("part", ["apiVersion", "kind", "metadata", "name", "namespace"])
@pytest.mark.parametrize("value", [1, True, [1], [[]], {"a": None}])
def test_a_part_of_an_objects_name_that_is_not_text_is_a_finding(tmp_path: Path, part: str, value: Any) -> None:
    cluster, objects = raw("dev")
    write(tmp_path, cluster, objects)
    file = recorded_folder(tmp_path, "dev") / "deployment.ml-platform.deployment-ray-head.json"
    body = json.loads(file.read_text())
    (body if part in body else body["metadata"])[part] = value
    file.write_text(json.dumps(body))
    state, findings = load_recorded(tmp_path, "dev")
    assert state is None
    assert [finding.code for finding in findings] == ["CFG102"]
    assert findings[0].file.endswith(file.name)


def test_an_object_in_two_files_is_a_finding_at_the_file_with_another_name(tmp_path: Path) -> None:
    cluster, objects = raw("dev")
    write(tmp_path, cluster, objects)
    head, server = (
        recorded_folder(tmp_path, "dev") / f"deployment.ml-platform.deployment-{name}.json"
        for name in ("ray-head", "api-server")
    )
    server.write_text(head.read_text())
    state, (finding,) = load_recorded(tmp_path, "dev")
    assert state is None
    assert (finding.code, finding.file) == ("CFG102", f"stacks/recorded/dev/{server.name}")


def test_a_damaged_recording_of_a_remote_cluster_is_a_finding_of_its_stack(tmp_path: Path) -> None:
    cluster, objects = raw("dev")
    write(tmp_path, cluster, objects)
    recorded_folder(tmp_path, "dev").rename(recorded_folder(tmp_path, recorded_name("dev", "far")))
    (recorded_folder(tmp_path, "dev@far") / "cluster.json").write_text("{")
    state, (finding,) = load_recorded(tmp_path, "dev@far")
    assert (state, finding.stack, finding.file) == (None, "dev", "stacks/recorded/dev@far/cluster.json")
    assert finding.remedy.endswith("modelyard record dev")


def test_nothing_recorded() -> None:
    state, (finding,) = load_recorded(ROOT, "nope")
    assert (state, finding.code, finding.file) == (None, "CFG101", "stacks/recorded/nope")


def test_the_essence_of_an_object_leaves_out_what_changes_by_itself() -> None:
    body = {
        "kind": "Deployment",
        "metadata": {
            "name": "d",
            "uid": "u",
            "generation": 3,
            "resourceVersion": "9",
            "managedFields": [],
            "creationTimestamp": "t",
            "annotations": {"deployment.kubernetes.io/revision": "4", "mine": "kept"},
        },
        "spec": {"replicas": 1},
        "status": {"replicas": 1},
    }
    assert essence(body) == {
        "kind": "Deployment",
        "metadata": {"name": "d", "annotations": {"mine": "kept"}},
        "spec": {"replicas": 1},
    }
    assert "status" in body


def test_a_misspelt_namespace_does_not_empty_a_recorded_platform(tmp_path: Path) -> None:
    copytree(ROOT / "stacks" / "recorded" / "dev", tmp_path / "stacks" / "recorded" / "dev")
    text = (ROOT / "stacks" / "Pulumi.dev.yaml").read_text()
    nothing = Snapshot("uid", "v1.35.0", *(Confidential(()) for _ in range(4)))

    def keep(text: str, taken: Snapshot) -> None:
        stack, _ = load_text(text, "dev", "stacks/Pulumi.dev.yaml")
        assert stack is not None
        _keep(tmp_path, stack, "dev", taken)

    wrong = text.replace("namespace: ml-platform", "namespace: ml-plattform")
    assert wrong != text
    with pytest.raises(Stop, match="has 5 objects in ml-platform, would be lost"):
        keep(wrong, nothing)
    # After the destroy of a platform that the stack made, its namespace is empty.
    keep(text, nothing)
    keep(wrong, nothing._replace(objects=Confidential(({"kind": "Deployment"},))))
