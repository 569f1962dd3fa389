"""Names of GPUs resolve exactly and never by similarity."""

import csv
import re
from pathlib import Path

import pytest

from modelyard.hardware import Ambiguous, GpuModel, find, near_gpus, products, resolve
from modelyard.hardware.gpu_models import UnknownGpu, families, gpu_models, labels, version
from modelyard.hardware.instances import by_type, instances
from modelyard.hardware.limits import LISTED

DATA = Path(__file__).parents[3] / "modelyard" / "hardware" / "data"


def read(name):
    with (DATA / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("a10", "a10"),
        ("A10", "a10"),
        (" A10 ", "a10"),
        ("NVIDIA A10", "a10"),
        ("NVIDIA-A10", "a10"),
        ("A10G", "a10g"),
        ("nvidia-a10g", "a10g"),
        ("A100", "a100"),
        ("V100", "v100"),
        ("A30", "a30"),
        ("A40", "a40"),
        ("V100S", "v100s-pcie-32gb"),
        ("NVIDIA-A100-SXM4-80GB", "a100-80gb"),
        ("NVIDIA-A100-80GB-PCIe", "a100-80gb"),
        ("nvidia-tesla-a100", "a100-40gb"),
        ("nvidia-a100-80gb", "a100-80gb"),
        ("A100-SXM4-40GB", "a100-40gb"),
        ("Tesla V100-SXM2-32GB", "v100-sxm2-32gb"),
        ("Tesla V100 SXM2 32GB", "v100-sxm2-32gb"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("RTX 4090", "rtx-4090"),
        ("NVIDIA-H100-80GB-HBM3", "h100-sxm5-80gb"),
        ("nvidia-h100-mega-80gb", "h100-sxm5-80gb"),
        ("RTXPRO6000BSE", "rtx-pro-6000-bw"),
        ("H200", "h200-sxm-141gb"),
        ("NVIDIA-H20", "h20-96gb"),
        ("NVIDIA-H20-3e", "h20-3e-141gb"),
        ("L40S", "l40s"),
        ("L40", "l40"),
    ],
)
def test_gpu_names_resolve_exactly(name, gpu):
    found = find(name)
    assert isinstance(found, GpuModel)
    assert found.id == gpu
    assert resolve(name) is found
    assert near_gpus(name) == ""


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("H100", ("h100-nvl-94gb", "h100-pcie-80gb", "h100-sxm5-80gb")),
        ("P100", ("p100-pcie-16gb", "p100-sxm2-16gb")),
        ("a800", ("a800-40gb", "a800-80gb")),
        ("GH200", ("gh200-144gb", "gh200-96gb")),
    ],
)
def test_a_name_of_several_gpus_is_ambiguous(name, ids):
    found = find(name)
    assert resolve(name) is None
    assert near_gpus(name) == f"name one of them: {', '.join(ids)}"
    assert isinstance(found, Ambiguous)
    assert tuple(gpu.id for gpu in found.gpus) == ids


@pytest.mark.parametrize(
    ("name", "gpu"), [("NVIDIA A100", "a100"), ("Tesla V100", "v100"), ("NVIDIA-A10", "a10"), ("NVIDIA A10G", "a10g")]
)
def test_a_brand_before_a_family_changes_nothing(name, gpu):
    assert resolve(name) is not None
    assert resolve(name).id == gpu


@pytest.mark.parametrize(
    ("name", "suggestions"),
    [
        ("A10 24GB", ("a10",)),
        ("A10G-24GB", ("a10g",)),
        ("A100 80G", ("a100-80gb",)),
        ("NVIDIA H100 SXM", ("h100-sxm5-80gb",)),
        ("T4 16 GB", ("t4",)),
        ("A10 48GB", ("a10",)),
        ("A10G 48GB", ("a10g",)),
        ("A100 48GB", ("a100-40gb", "a100-80gb")),
        ("A100-PCIE-80GB", ("a100-80gb",)),
        ("H100 PCIe 40 GB", ("h100-pcie-80gb",)),
        ("V100 32GB", ("v100-pcie-32gb", "v100-sxm2-32gb")),
        ("GeForce 3090", ("rtx-3090",)),
        ("H1OO", ("h100-pcie-80gb", "h100-sxm5-80gb", "h100-nvl-94gb")),
        ("a1oo-8Ogb", ("a100-80gb",)),
        ("RTX", ("rtx-3090", "rtx-4090", "rtx-a4000")),
    ],
)
def test_suggestions_match_the_number_memory_and_form_of_the_name(name, suggestions):
    assert resolve(name) is None
    assert find(name) == UnknownGpu(name, suggestions)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("A10X", "a10"),
        ("A-100", "a100"),
        ("NVIDIA A10 G", "a10g"),
        ("L40 S", "l40s"),
        ("RTX4090", "rtx-4090"),
        ("V1000", "v100"),
        ("T40", "t4"),
        ("RTX6000", "rtx-6000-ada"),
        ("B5000", "rtx-pro-4500-bw"),
        ("B6000", "rtx-pro-6000-bw"),
    ],
)
def test_a_misspelled_name_gets_suggestions_that_resolve(name, suggestion):
    found = find(name)
    assert resolve(name) is None
    assert suggestion in near_gpus(name)
    assert isinstance(found, UnknownGpu)
    assert suggestion in found.suggestions
    assert all(not isinstance(find(near), UnknownGpu) for near in found.suggestions)


@pytest.mark.parametrize("name", ["B9000", "P5000", "Quadro"])
def test_an_unlike_name_gets_no_suggestion(name):
    found = find(name)
    assert isinstance(found, UnknownGpu)
    assert found.suggestions == ()
    assert not [gpu for gpu in gpu_models() if gpu in near_gpus(name)]


@pytest.mark.parametrize("name", ["B5000", "B6000"])
def test_a_blackwell_workstation_gpu_is_not_suggested_as_data_center_gpu(name):
    assert not {"b300", "b200", "gb300", "gb200"} & set(find(name).suggestions)


@pytest.mark.parametrize("name", ["", "GPU", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "NVIDIA-A10-SHARED", "NVIDIA-A10-24Q"])
def test_slices_shares_and_nonsense_are_not_gpus(name):
    assert isinstance(find(name), UnknownGpu)


def test_a_listed_family_has_the_products_of_its_variants():
    a100, v100 = families()["a100"], families()["v100"]
    assert (a100.memory_gb, a100.tflops) == (40, 312)
    assert (v100.memory_gb, v100.tflops) == (32, 112)
    assert products(a100) == (
        "NVIDIA-A100-80GB-PCIe",
        "NVIDIA-A100-PCIE-40GB",
        "NVIDIA-A100-SXM4-40GB",
        "NVIDIA-A100-SXM4-80GB",
    )
    assert "Tesla-V100S-PCIE-32GB" not in products(v100)
    assert len(products(v100)) == 4
    assert set(families()) == {"a100", "v100"}


def test_the_list_of_supported_gpus_agrees_with_the_gpu_table():
    differing = {}
    for name, row in LISTED.items():
        for gpu in (gpu for gpu in gpu_models().values() if gpu.family == name):
            if (round(gpu.tflops or 0), gpu.memory_gb, gpu.nvlink) != (row.tflops, row.memory_gb, row.nvlink):
                differing[gpu.id] = (gpu.tflops, gpu.memory_gb, gpu.nvlink)
    # Variants that the list does not describe; its V100 row mixes the PCIe GPU's 112 with the SXM2 GPU's NVLink.
    assert differing == {
        "a100-80gb": (312, 80, True),
        "v100-pcie-16gb": (112, 16, False),
        "v100-pcie-32gb": (112, 32, False),
        "v100-sxm2-16gb": (125, 16, True),
        "v100-sxm2-32gb": (125, 32, True),
    }


def test_each_row_is_complete_and_has_a_source():
    rows = read("gpus.csv")
    assert len({row["gpu_id"] for row in rows}) == len(rows) == len(gpu_models())
    for row in rows:
        assert row["source"]
        assert row["compute_capability"]
        assert set(row["unverified"].split()) | set(row["weak_source"].split()) <= set(row)
        assert (row["nvlink"] == "yes") == bool(row["nvlink_link"])
        assert row["fp16_tensor_dense_tflops"] or "fp16_tensor_dense_tflops" in row["unverified"]


def test_unverified_values_are_marked():
    column = {
        "fp16": "fp16_tensor_dense_tflops",
        "vram": "vram_gb",
        "cc": "compute_capability",
        "cuda_first": "cuda_first_native",
    }
    for row in read("gpus.csv"):
        for part in row["source"].split("; "):
            name, _, source = part.partition("=")
            if source.startswith(("unverified", "several public", "hmc-tech", "waredb", "ecer")):
                marks = (row["unverified"] + " " + row["weak_source"]).split()
                marked = column.get(name, name)
                # A value from an unverified source is marked; the 16 GB of the reseller are the only exception.
                assert marked in marks or (row["gpu_id"], name) == ("rtx-a4000", "vram"), (row["gpu_id"], part)


def test_every_short_source_is_in_the_legend():
    rows = [line.split("|") for line in (DATA / "README.md").read_text(encoding="utf-8").splitlines() if "|" in line]
    own = {"SKU", "SXM", "NVIDIA"}
    legend = {name.strip() for row in rows for name in row[1].split(",")}
    for table in ("gpus.csv", "labels.csv", "instances.csv"):
        for row in read(table):
            for source in re.sub(r"\(.*?\)", "", row["source"]).split("; "):
                for word in re.split(r"[+ ]", source.partition("=")[2] or source):
                    # A word in capitals that is not a product name is an abbreviation.
                    assert word in legend or not re.fullmatch(r"[A-Z][A-Z0-9.]{2,}", word) or word in own, word


def test_labels_name_known_gpus():
    for row in read("labels.csv"):
        assert row["gpu_id"] in gpu_models()
        assert row["gfd_gpu_product"] == row["nvml_name"].replace(" ", "-")
    assert {gpu for gpu in gpu_models() if not products(gpu_models()[gpu])} == set()
    owners = [product for names in labels().products.values() for product in names]
    assert len(owners) == len(set(owners))


def test_a_version_has_a_major_and_a_minor_number():
    assert version("11.7") == (11, 7)
    assert version("12.4.1") == (12, 4)
    assert version("12") == (12, 0)
    with pytest.raises(ValueError):
        version("latest")


def test_machine_types_are_read_with_their_marks():
    assert len(instances()) == len(read("instances.csv")) == len(by_type())
    a10g = by_type()["g5.xlarge"]
    assert (a10g.gpu_id, a10g.gpus, a10g.usd_per_hour, a10g.whole_gpus) == ("a10g", 1, 1.006, True)
    assert a10g.gpu is gpu_models()["a10g"]
    assert by_type()["p5e.48xlarge"].usd_per_hour is None
    assert by_type()["g4-standard-6"].whole == "no"
    assert by_type()["Standard_NC8ads_A10_v4"].whole == "unknown"
    assert {one.gpu_id for one in instances() if one.gpu is None} == {"m60", "t4g", "rtx6000-turing"}
    for one in instances():
        if one.whole_gpus and one.gpu and one.gpu_memory_gb is not None:
            assert one.gpu_memory_gb == one.gpu.memory_gb, one.type


@pytest.mark.parametrize("name", ["MI300X", "AMD Instinct MI250", "Gaudi2", "TPU v4", "trn1", "Radeon Pro"])
def test_an_accelerator_of_another_maker_is_not_a_misspelled_gpu(name):
    assert "need CUDA" in near_gpus(name)
