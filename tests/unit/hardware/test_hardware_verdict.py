"""The verdict on each GPU, in a golden file for review and compared with an independent table."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from modelyard.findings import Severity
from modelyard.hardware import resolve, verdict
from modelyard.hardware.cuda import code
from modelyard.hardware.gpu_models import GpuModel, families, gpu_models
from modelyard.hardware.limits import FLOOR_TFLOPS, LISTED
from modelyard.hardware.table import table
from modelyard.hardware.verdict import GpuUse

HERE = Path(__file__).parent
ANSWER = {True: "yes", False: "no", None: "unknown"}

EXPLAINED = {
    ("v100-sxm2-16gb", "meets_a10_compute"): "memory is no part of the compute rule: 125 TFLOPS are enough",
    ("v100-sxm2-16gb", "alternative_sass_only"): "the same",
    ("v100-sxm2-16gb", "alternative_with_ptx"): "the same",
    ("rtx-pro-4500-bw", "alternative_sass_only"): "throughput is unknown, but CUDA 11.7 surely has no code for it",
    ("v100s-pcie-32gb", "listed"): "the V100S is a GPU of its own, and supported by the alternative",
}
"""Where the rules and the independent table differ, and why the rules are right."""


def test_verdicts_equal_the_reviewed_ones(golden: Callable[..., None]) -> None:
    blocks = []
    for cuda, ptx in (("11.7", False), ("11.7", True), ("12.4", False), ("13.0", False)):
        lines = [f"CUDA {cuda}{', images embed PTX' if ptx else ''}", ""]
        lines += [f"{row.id:<17} {row.supported:<8} {row.rule:<12} {row.why}" for row in table(cuda, ptx)]
        for family in families().values():
            found = verdict(family, GpuUse(cuda, ptx))
            lines.append(f"{family.id:<17} {ANSWER[found.supported]:<8} {found.rule:<12} {found.reason}")
        blocks.append("\n".join(lines) + "\n")
    golden(*blocks)


def test_the_rules_agree_with_an_independent_table():
    differing = set()
    with (HERE / "data" / "independent_verdicts.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        gpu = gpu_models()[row["gpu_id"]]
        unlisted = gpu._replace(family="")
        ours = {
            "cuda_11_7_mode": {"native": "native_sass", "compatible": "sass_compat_8x", "ptx": "ptx_jit_only"}[
                code(gpu, (11, 7)).mode
            ],
            "listed": "yes" if gpu.family in LISTED else "no",
            "meets_a10_compute": "unknown" if gpu.tflops is None else "yes" if gpu.tflops >= FLOOR_TFLOPS else "no",
            "alternative_sass_only": ANSWER[verdict(unlisted).supported],
            "alternative_with_ptx": ANSWER[verdict(unlisted, GpuUse(embeds_ptx=True)).supported],
        }
        # Partial answers of that table: a variant of a listed GPU is listed, memory alone does not meet a compute rule.
        theirs = {"variant": "yes", "vram_only": "no", "fp16_only": "no"}
        differing |= {(gpu.id, key) for key, mine in ours.items() if mine != theirs.get(row[key], row[key])}
    assert differing == set(EXPLAINED)
    assert {row["gpu_id"] for row in rows} == set(gpu_models()) - {"h20-3e-141gb"}


@pytest.mark.parametrize(
    ("name", "cuda", "ptx", "supported", "rule", "severity"),
    [
        ("A10", "11.7", False, True, "table", None),
        ("V100", "11.7", False, True, "table", None),
        ("v100-pcie-32gb", "11.7", False, True, "table", None),
        ("v100-pcie-16gb", "11.7", False, True, "table", Severity.WARNING),
        ("V100", "13.0", False, False, "table", Severity.ERROR),
        ("A10G", "11.7", False, False, "alternative", Severity.ERROR),
        ("L4", "11.7", False, False, "alternative", Severity.ERROR),
        ("L40S", "11.7", False, True, "alternative", None),
        ("L40S", "11.8", False, True, "alternative", None),
        ("h100-sxm5-80gb", "11.7", False, False, "alternative", Severity.ERROR),
        ("h100-sxm5-80gb", "11.7", True, True, "alternative", Severity.WARNING),
        ("h100-sxm5-80gb", "11.8", False, True, "alternative", None),
        ("h100-sxm5-80gb", "12.4", False, True, "alternative", None),
        ("B200", "12.4", False, False, "alternative", Severity.ERROR),
        ("rtx-pro-4500-bw", "12.8", False, None, "alternative", Severity.ERROR),
        ("rtx-4090", "11.7", False, True, "alternative", Severity.ADVICE),
        ("T4", "13.0", False, False, "alternative", Severity.ERROR),
        ("A100", "13.9", False, True, "table", Severity.ADVICE),
    ],
)
def test_a_verdict_names_the_deciding_rule(name, cuda, ptx, supported, rule, severity):
    gpu = resolve(name)
    assert isinstance(gpu, GpuModel)
    found = verdict(gpu, GpuUse(cuda, ptx))
    assert (found.supported, found.rule, found.severity) == (supported, rule, severity)


@pytest.mark.parametrize(
    ("cuda", "card", "brief"),
    [
        ("11.7", "a10", "listed"),
        ("11.7", "v100-pcie-32gb", "listed, though 112 < 125"),
        ("11.7", "l40s", "362 >= 125, runs sm_86 code"),
        ("11.7", "v100s-pcie-32gb", "130 >= 125, native code"),
        ("11.7", "l4", "121 < 125 TFLOPS"),
        ("11.7", "p40", "no tensor cores"),
        ("11.7", "rtx-pro-4500-bw", "no code in CUDA 11.7, throughput unknown"),
        ("13.0", "p40", "dropped by CUDA 13.0, no tensor cores"),
    ],
)
def test_the_table_has_the_reason_in_brief(cuda, card, brief):
    (row,) = [row for row in table(cuda, False) if row.id == card]
    assert row.brief == brief


@pytest.mark.parametrize(("tflops", "supported"), [(125.0, True), (124.9, False), (0.0, False), (None, None)])
def test_the_minimum_is_125_tflops(tflops, supported):
    gpu = gpu_models()["l40s"]._replace(tflops=tflops)
    assert verdict(gpu).supported is supported


@pytest.mark.parametrize(
    ("gpu", "asked", "mode", "sm"),
    [
        ("l4", (11, 7), "compatible", "sm_86"),
        ("l4", (11, 0), "compatible", "sm_80"),
        ("l4", (11, 8), "native", "sm_89"),
        ("l4", (10, 2), "ptx", ""),
        ("t4", (9, 2), "compatible", "sm_70"),
        ("h100-sxm5-80gb", (11, 7), "ptx", ""),
        ("b300", (12, 8), "compatible", "sm_100"),
        ("b300", (12, 9), "native", "sm_103"),
        ("rtx-pro-6000-bw", (12, 6), "ptx", ""),
        ("k80", (11, 8), "native", "sm_37"),
        ("k80", (12, 0), "dropped", ""),
        ("v100-sxm2-32gb", (12, 9), "native", "sm_70"),
        ("v100-sxm2-32gb", (13, 0), "dropped", ""),
    ],
)
def test_code_for_a_gpu_is_native_compatible_ptx_or_dropped(gpu, asked, mode, sm):
    found = code(gpu_models()[gpu], asked)
    assert (found.mode, found.sm) == (mode, sm)


def test_an_unchecked_cuda_version_is_uncertain():
    found = verdict(gpu_models()["l40s"], GpuUse("13.6"))
    assert found.supported is True
    assert found.uncertain == ("cuda_last_native (checked up to 13.5)",)
    assert verdict(gpu_models()["l40s"], GpuUse("13.5")).uncertain == ()


def test_a_verdict_lists_its_uncertain_numbers():
    assert verdict(gpu_models()["rtx-a6000"]).uncertain == ("cuda_first_native (unverified)",)
    assert verdict(gpu_models()["a10"]).uncertain == ()


def test_an_unverified_label_is_reported():
    (problem,) = [
        problem
        for problem in verdict(
            gpu_models()["v100s-pcie-32gb"]._replace(weak=frozenset({"fp16_tensor_dense_tflops"}))
        ).problems
        if problem.code == "GPU007"
    ]
    assert "Tesla-V100S-PCIE-32GB" in problem.summary


def test_a_gpu_that_the_device_plugin_does_not_support_is_reported():
    found = verdict(gpu_models()["k80"]._replace(name="M2090", compute=(2, 0)))
    assert "the NVIDIA device plugin does not run on M2090 (compute capability 2.0)" in [
        problem.summary for problem in found.problems if problem.code == "GPU006"
    ]
    at_the_edge = verdict(gpu_models()["k80"]._replace(compute=(3, 0)))
    assert "GPU006" not in [problem.code for problem in at_the_edge.problems]


def test_the_table_is_sorted_and_has_plain_values():
    rows = table()
    assert len(rows) == len(gpu_models())
    assert [row.supported for row in rows] == sorted(
        (row.supported for row in rows), key=("yes", "unknown", "no").index
    )
    by_id = {row.id: row for row in rows}
    assert by_id["a10"].products == ("NVIDIA-A10",)
    assert by_id["rtx-pro-4500-bw"].tflops is None
    assert (by_id["rtx-4090"].tflops, by_id["rtx-4090"].tflops_mark) == (165.2, "weak source")
    assert (by_id["a30"].nvlink, by_id["a30"].nvlink_mark) == ("bridge", "unverified")
    assert (by_id["a10"].nvlink, by_id["a10"].nvlink_mark) == ("no", "")
    assert {row.id for row in table("12.4") if row.supported == "yes"} >= {"h100-sxm5-80gb", "a10", "l40s"}
