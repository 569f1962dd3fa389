"""Rules for the stack's GPU: known, supported, and with fast links between GPUs."""

from modelyard.findings import Finding, Severity
from modelyard.hardware.cards import Ambiguous, Card, Unknown, find, near_cards
from modelyard.hardware.verdict import verdict
from modelyard.stack.config import Stack

_MODEL = ("gpu", "model")


def card_findings(stack: Stack) -> list[Finding]:
    """Returns what is wrong with ``gpu.model``."""
    match find(stack.config.gpu.model):
        case Unknown(name, _):
            return [_unknown(stack, name)]
        case Ambiguous(name, cards):
            return [_ambiguous(stack, name, cards)]
        case Card() as card:
            return [*_verdict(stack, card), *_interconnect(stack, card)]


def _unknown(stack: Stack, name: str) -> Finding:
    return stack.finding(
        "GPU002",
        Severity.ERROR,
        _MODEL,
        f"unknown GPU {name!r}",
        detail="Names are compared exactly, letter case aside, so that an A10G is never taken for an A10.",
        remedy=near_cards(name),
    )


def _ambiguous(stack: Stack, name: str, cards: tuple[Card, ...]) -> Finding:
    ids = ", ".join(card.id for card in cards)
    return stack.finding(
        "GPU003",
        Severity.ERROR,
        _MODEL,
        f"{name!r} is the name of {len(cards)} GPUs: {ids}",
        detail="They differ in throughput, memory or NVLink, and so do the rules.",
        remedy=near_cards(name),
    )


def _verdict(stack: Stack, card: Card) -> list[Finding]:
    platform = stack.config.platform
    found = verdict(card, platform.cuda, platform.images_embed_ptx)
    detail = f"Rule: {found.rule}. {found.reason}."
    return [
        stack.finding(problem.code, problem.severity, _MODEL, problem.summary, detail=detail, remedy=problem.remedy)
        for problem in found.problems
    ]


def _interconnect(stack: Stack, card: Card) -> list[Finding]:
    """Checks the links between GPUs: on Ray, every task of a pod with several GPUs may choose multi-GPU training."""
    gpu = stack.config.gpu
    if stack.config.training != "ray" or gpu.per_worker < 2:
        return []
    default = gpu.allocation == "multi_gpu"
    marked = card.mark("nvlink") or (card.mark("nvlink_link") if card.nvlink else "")
    mark = f" ({marked})" if marked else ""
    detail = "Without NVLink the GPUs of a worker exchange gradients over PCIe, and training waits for it."
    if not card.nvlink:
        return [
            stack.finding(
                "GPU008",
                Severity.WARNING if default else Severity.ADVICE,
                _MODEL,
                f"{gpu.per_worker} GPUs a worker without NVLink: {card.short} has none{mark}",
                detail=detail,
                remedy="choose a GPU with NVLink for multi-GPU training, or workers of one GPU (gpu.perWorker: 1)",
            )
        ]
    if card.link == "built_in" or not default:
        return []
    how = "needs a bridge between the GPUs" if card.link == "bridge" else "depends on the variant of the GPU"
    return [
        stack.finding(
            "GPU008",
            Severity.ADVICE,
            _MODEL,
            f"NVLink on {card.short} {how}{mark}",
            detail=detail,
            remedy="check the nodes with `nvidia-smi topo -m`: NV# between GPUs is NVLink, PHB or SYS is not",
        )
    ]
