"""The GPUs of a project's hardware file do not affect other projects in the same process."""

import threading
from fractions import Fraction
from pathlib import Path

import pytest

from modelyard.hardware import find, near_gpus, resolve, verdict
from modelyard.hardware.gpu_models import UnknownGpu, by_id, own_gpus, products
from modelyard.hardware.nodes import node_gpus
from modelyard.hardware.own import in_project, load_gpus, of_project
from modelyard.hardware.table import table
from modelyard.kube.state import Node
from modelyard.plan.cost.file import load_text

ENTRY = """\
gpus:
  - name: {name}
    labels: [NVIDIA-{name}, {name}-PCIE]
    tflops: {tflops}
    memoryGb: 48
    compute: "8.9"
    nvlink: false
    source: made up
"""


def project(folder: Path, name: str = "L20", tflops: float = 130) -> Path:
    folder.mkdir()
    (folder / "hardware.yaml").write_text(ENTRY.format(name=name, tflops=tflops))
    return folder


@pytest.fixture
def fast(tmp_path):
    return project(tmp_path / "fast")


@pytest.fixture
def slow(tmp_path):
    return project(tmp_path / "slow", tflops=12)


def test_each_project_has_its_own_gpus(fast, slow):
    for _ in range(2):
        with in_project(fast):
            assert verdict(resolve("L20")).supported is True
        with in_project(slow):
            assert verdict(resolve("L20")).supported is False
            with in_project(fast):
                assert by_id("l20").tflops == 130
            with in_project(None):
                assert resolve("L20") is None
            assert by_id("l20").tflops == 12
    assert resolve("L20") is None
    assert own_gpus() == ()


def test_a_blank_source_is_an_error(tmp_path):
    path = project(tmp_path / "blank") / "hardware.yaml"
    path.write_text(path.read_text().replace("made up", '" "'))
    (found,) = load_gpus(path.parent).findings
    assert (found.summary, found.line) == ("gpus[0].source is blank", 8)


def test_an_exception_ends_the_context_too(fast):
    with pytest.raises(ZeroDivisionError), in_project(fast):
        _ = 1 / 0
    assert resolve("L20") is None


def test_a_project_function_uses_the_gpus_of_its_project(fast, slow):
    @of_project
    def tflops(root, name, *, scale=1):
        return resolve(name).tflops * scale

    assert (tflops(fast, "L20"), tflops(slow, "L20", scale=2)) == (130, 24)


def test_another_thread_has_no_project(fast):
    found = []
    with in_project(fast):
        thread = threading.Thread(target=lambda: found.append(resolve("L20")))
        thread.start()
        thread.join()
    assert found == [None]


def test_a_price_file_is_read_again_for_other_gpus(fast):
    text = b"cards: [{model: L20, usdPerGpuHour: 1, date: 2026-10-01, source: contract}]\n"
    assert load_text(text, "prices.yaml")[0] is None
    prices, findings = load_text(text, "prices.yaml", load_gpus(fast).gpus)
    assert (list(prices.gpus), findings) == (["l20"], ())
    assert load_text(text, "prices.yaml")[0] is None


@pytest.mark.parametrize("name", ["L20", "l20", " L20 ", "NVIDIA-L20", "nvidia-l20", "L20-PCIE"])
def test_each_name_of_a_defined_gpu_resolves(fast, name):
    with in_project(fast):
        assert resolve(name) is by_id("l20")
    assert isinstance(find(name), UnknownGpu)


def test_an_unknown_key_names_the_only_one(tmp_path):
    (tmp_path / "hardware.yaml").write_text("nodes: []\ngpus: []\n")
    (finding,) = load_gpus(tmp_path).findings
    assert finding.remedy == "the only key is gpus"


def test_a_gpu_name_may_have_spaces(tmp_path):
    root = project(tmp_path / "other", name="My GPU 2")
    assert [one.code for one in load_gpus(root).findings] == ["CFG018", "CFG018"]  # labels have no spaces
    path = root / "hardware.yaml"
    path.write_text(path.read_text().replace("NVIDIA-My GPU 2, My GPU 2-PCIE", "MINE"))
    with in_project(root):
        assert {resolve(name).id for name in ("My GPU 2", "my-gpu-2", "mine")} == {"my-gpu-2"}


def test_nodes_with_a_defined_gpu_have_whole_gpus(fast):
    labels = {"nvidia.com/gpu.product": "NVIDIA-L20", "nvidia.com/gpu.memory": "46068"}
    node = Node("gpu-1", labels, (), {"nvidia.com/gpu": Fraction(4)})
    with in_project(fast):
        found = node_gpus(node)
        assert (found.gpu.id, found.whole, found.kind) == ("l20", 4, "whole")
        half = node._replace(labels={**labels, "nvidia.com/gpu.memory": "23034"})
        assert node_gpus(half).kind == "fraction"
        assert products(found.gpu) == ("NVIDIA-L20", "L20-PCIE")
    assert node_gpus(node).kind == "unknown"


def test_a_defined_gpu_is_in_the_table_and_suggested(fast):
    with in_project(fast):
        assert "l20" in {row.id for row in table()}
        assert "l20" in near_gpus("L21")
    assert "l20" not in {row.id for row in table()}


def test_the_default_cuda_range_is_that_of_the_compute_capability(fast):
    (gpu,) = load_gpus(fast).gpus
    known = by_id("l40")
    assert (gpu.compute, gpu.cuda_first, gpu.ongoing) == (known.compute, known.cuda_first, True)


def test_a_compute_capability_that_cuda_dropped_stays_dropped(fast):
    path = fast / "hardware.yaml"
    path.write_text(path.read_text().replace('"8.9"', '"3.7"'))
    (gpu,) = load_gpus(fast).gpus
    known = by_id("k80")
    assert (gpu.cuda_first, gpu.cuda_last, gpu.ongoing) == (known.cuda_first, known.cuda_last, False)
