"""Rules for the stack's GPU: known, supported, and with fast links between GPUs."""

from collections.abc import Container

from modelyard.findings import Finding, Severity
from modelyard.hardware.gpu_models import Ambiguous, GpuModel, UnknownGpu, find, near_gpus, not_one_gpu, together
from modelyard.hardware.verdict import GpuUse, verdict
from modelyard.stack.config import Config, Stack, StackPath

_MODEL = ("gpu", "model")


def gpu_findings(stack: Stack) -> list[Finding]:
    """Returns what is wrong with ``gpu.model``."""
    name = stack.config.gpu.model
    match find(name):
        case GpuModel() as gpu:
            return use_findings(stack, _MODEL, gpu, training_use(stack.config))
        case UnknownGpu():
            why = "A name must match exactly, except for letter case and a brand such as NVIDIA: an A10G is not an A10."
            return [stack.finding("GPU002", Severity.ERROR, _MODEL, not_one_gpu(name), near_gpus(name), detail=why)]
        case Ambiguous(_, gpus):
            why = "They differ in throughput, memory or NVLink, which the rules depend on."
            found = [stack.finding("GPU003", Severity.ERROR, _MODEL, not_one_gpu(name), near_gpus(name), detail=why)]
            # What is wrong with each of them is wrong whichever is meant.
            use = training_use(stack.config)
            shared = set.intersection(*({one.code for one in verdict(gpu, use).problems} for gpu in gpus))
            return found + use_findings(stack, _MODEL, together(name, gpus), use, only=shared)


def training_use(config: Config) -> GpuUse:
    """Returns what the platform's training backends run."""
    return GpuUse(config.platform.cuda, config.platform.images_embed_ptx)


def use_findings(
    stack: Stack, where: StackPath, gpu: GpuModel, use: GpuUse, *, who: str = "", only: Container[str] | None = None
) -> list[Finding]:
    """Returns what keeps a GPU from being plainly supported for a use.

    Args:
        stack: the stack that names the GPU.
        where: the field that names it.
        gpu: the GPU.
        use: what runs on it.
        who: who uses it, to begin each summary with; empty for the stack itself.
        only: codes to leave out all others; None: all.
    """
    return [
        stack.finding(
            problem.code,
            problem.severity,
            where,
            f"{who}: {problem.summary}" if who else problem.summary,
            detail=problem.detail,
            remedy=problem.remedy,
        )
        for problem in verdict(gpu, use).problems
        if only is None or problem.code in only
    ]
