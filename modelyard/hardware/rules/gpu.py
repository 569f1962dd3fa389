"""Rules for the stack's GPU: known, supported, and with fast links between GPUs."""

from modelyard.findings import Finding, Severity
from modelyard.hardware.gpu_models import Ambiguous, GpuModel, Unknown, find, near_gpus
from modelyard.hardware.verdict import Use, verdict
from modelyard.stack.config import Stack
from modelyard.stack.words import plain

_MODEL = ("gpu", "model")


def gpu_findings(stack: Stack) -> list[Finding]:
    """Returns what is wrong with ``gpu.model``."""
    match find(stack.config.gpu.model):
        case Unknown(name, _):
            return [_unknown(stack, name)]
        case Ambiguous(name, gpus):
            return [_ambiguous(stack, name, gpus)]
        case GpuModel() as gpu:
            return _verdict(stack, gpu)


def _unknown(stack: Stack, name: str) -> Finding:
    return stack.finding(
        "GPU002",
        Severity.ERROR,
        _MODEL,
        f"unknown GPU {plain(name)!r}",
        detail="Names must match exactly, except for letter case, because an A10G is not an A10.",
        remedy=near_gpus(name),
    )


def _ambiguous(stack: Stack, name: str, gpus: tuple[GpuModel, ...]) -> Finding:
    ids = ", ".join(gpu.id for gpu in gpus)
    return stack.finding(
        "GPU003",
        Severity.ERROR,
        _MODEL,
        f"{plain(name)!r} is the name of {len(gpus)} GPUs: {ids}",
        detail="They differ in throughput, memory or NVLink, and so do the rules.",
        remedy=near_gpus(name),
    )


def _verdict(stack: Stack, gpu: GpuModel) -> list[Finding]:
    platform = stack.config.platform
    found = verdict(gpu, Use(platform.cuda, platform.images_embed_ptx))
    detail = f"Rule {found.rule}: {found.reason}."
    return [
        stack.finding(problem.code, problem.severity, _MODEL, problem.summary, detail=detail, remedy=problem.remedy)
        for problem in found.problems
    ]
