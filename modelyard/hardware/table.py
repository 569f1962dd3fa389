"""The table of GPUs with the verdict on each, as plain data for reports."""

from typing import NamedTuple

from modelyard.hardware.gpu_models import GpuModel, gpu_models, own_gpus, products
from modelyard.hardware.limits import DEFAULT_CUDA, FLOOR_TFLOPS
from modelyard.hardware.verdict import GpuUse, Verdict, VerdictRule, verdict


class JudgedGpu(NamedTuple):
    """One GPU and the rules' verdict on it."""

    id: str
    name: str
    arch: str
    tflops: float | None
    """Dense FP16 tensor TFLOPS, None if unknown."""
    tflops_mark: str
    """``unverified``, ``weak source`` or empty; likewise the other marks."""
    memory_gb: int
    memory_mark: str
    nvlink: str
    """``built in``, ``bridge``, ``depends`` (on the variant), ``yes`` or ``no``."""
    nvlink_mark: str
    compute: str
    """Compute capability, such as ``8.6``."""
    compute_mark: str
    supported: str
    """``yes``, ``no`` or ``unknown``."""
    rule: VerdictRule
    brief: str
    """The reason in a few words: what decides the verdict."""
    why: str
    """Everything that was compared."""
    note: str
    """What else is known about the GPU's numbers."""
    products: tuple[str, ...]
    """Values of the node label ``nvidia.com/gpu.product``."""
    source: str
    """Where the numbers of a GPU that the project defines come from; empty for the others."""


def table(cuda: str = DEFAULT_CUDA, embeds_ptx: bool = False) -> tuple[JudgedGpu, ...]:
    """Returns every GPU, a project's own too: supported ones first, listed ones first among them, then by falling
    throughput and by id.

    Raises:
        ValueError: ``cuda`` is not a version.
    """
    return tuple(sorted((_row(gpu, cuda, embeds_ptx) for gpu in (*gpu_models().values(), *own_gpus())), key=_order))


_LINKS = {"built_in": "built in", "bridge": "bridge", "mixed": "depends", "": "yes"}
"""Forms of NVLink in words; a project's own GPU states none."""


def _row(gpu: GpuModel, cuda: str, embeds_ptx: bool) -> JudgedGpu:
    found = verdict(gpu, GpuUse(cuda, embeds_ptx))
    return JudgedGpu(
        id=gpu.id,
        name=gpu.name,
        arch=gpu.arch,
        tflops=gpu.tflops,
        tflops_mark=gpu.mark("fp16_tensor_dense_tflops"),
        memory_gb=gpu.memory_gb,
        memory_mark=gpu.mark("vram_gb"),
        nvlink=_LINKS[gpu.link] if gpu.nvlink else "no",
        nvlink_mark=gpu.mark("nvlink") or (gpu.mark("nvlink_link") if gpu.nvlink else ""),
        compute=f"{gpu.compute[0]}.{gpu.compute[1]}",
        compute_mark=gpu.mark("compute_capability"),
        supported={True: "yes", False: "no", None: "unknown"}[found.supported],
        rule=found.rule,
        brief=_brief(found),
        why=found.reason,
        note=gpu.note,
        products=products(gpu),
        source=gpu.source,
    )


def _brief(found: Verdict) -> str:
    gpu = found.gpu
    known = gpu.tflops is not None
    speed = f"{gpu.tflops:g} {'<' if (gpu.tflops or 0) < FLOOR_TFLOPS else '>='} {FLOOR_TFLOPS}" if known else ""
    if found.refusals:
        return ", ".join(problem.brief for problem in found.refusals)
    if found.rule == "table":
        return "listed" if (gpu.tflops or 0) >= FLOOR_TFLOPS else f"listed, though {speed}"
    how = {"native": "native code", "compatible": f"runs {found.code.sm} code"}.get(found.code.mode, "by PTX")
    return f"{speed}, {how}"


def _order(row: JudgedGpu) -> tuple[int, bool, float, str]:
    return ("yes", "unknown", "no").index(row.supported), row.rule != "table", -(row.tflops or 0.0), row.id
