"""What several rules have in common: a finding at its place, quantities against minima, the release."""

from collections.abc import Iterable
from functools import lru_cache

from modelyard.findings import Finding, Severity
from modelyard.hardware.cards import Card, Version, resolve, version
from modelyard.hardware.limits import RAY_PREVIEW, TRAINING_CPU
from modelyard.quantity import GB, GI, cpu, parse
from modelyard.stack.config import Config, Stack


def release(config: Config) -> Version | None:
    """The platform's release as ``(year, month)``, None where it has no such form."""
    try:
        return version(config.platform.release)
    except ValueError:
        return None


def has_ray(config: Config) -> bool:
    """Whether the platform's release has Ray training at all; one that nobody can read is taken to have it."""
    return (release(config) or RAY_PREVIEW) >= RAY_PREVIEW


def card_of(config: Config) -> Card | None:
    """The stack's GPU, None where its name means none or several."""
    return resolve(config.gpu.model)


def memory_finding(
    stack: Stack,
    code: str,
    path: tuple[str, str],
    text: str,
    minimum_gb: int,
    *,
    what: str,
    detail: str,
    target: str,
) -> list[Finding]:
    """A finding where ``text`` is less than ``minimum_gb`` GB of 10^9 bytes."""
    if not falls_short(text, minimum_gb):
        return []
    return [
        stack.finding(
            code,
            Severity.ERROR,
            path,
            f"{'.'.join(path)} is {spelled(text)}{what}, at least {minimum_gb} GB are needed",
            detail=f"{detail} GB are 10^9 bytes here, Gi are 2^30: {minimum_gb} GB are {_in_gi(minimum_gb)}Gi.",
            remedy=f"set {'.'.join(path)} to {least_gi(minimum_gb)}Gi ({minimum_gb}G) or more",
            target=target,
        )
    ]


def cpu_finding(
    stack: Stack, code: str, path: tuple[str, str], text: str, minimum: int, *, detail: str, target: str
) -> list[Finding]:
    """A finding where ``text`` is fewer cores than ``minimum``."""
    if value(text) >= minimum:
        return []
    return [
        stack.finding(
            code,
            Severity.ERROR,
            path,
            f"{'.'.join(path)} is {cpu(value(text))}, at least {minimum} cores are needed",
            detail=detail,
            remedy=f"set {'.'.join(path)} to {minimum} or more",
            target=target,
        )
    ]


def training_cpu(gpus: int) -> int:
    """Least cores of a training pod with ``gpus`` GPUs."""
    return max(TRAINING_CPU, gpus)


value = lru_cache(maxsize=1024)(parse)
"""A quantity in its base unit; stacks repeat the same few, so each is parsed once."""


def falls_short(text: str, minimum_gb: int) -> bool:
    """Whether a memory quantity is less than that many GB of 10^9 bytes."""
    return value(text) < minimum_gb * GB


def spelled(text: str) -> str:
    """A memory quantity with its GB, rounded down so that too little never looks like enough: ``12Gi (12.88 GB)``."""
    return f"{text} ({int(value(text) * 100 // GB) / 100:g} GB)"


def least_gi(gb: int) -> int:
    """The least whole number of Gi that is at least ``gb`` GB."""
    return -(-gb * GB // GI)


def _in_gi(gb: int) -> str:
    """Rounded up, so that writing just that much is enough."""
    return f"{-(-gb * GB * 100 // GI) / 100:.2f}"


# The training backend that is switched off: it has no pods, but flipping the stack flag would start them.
def idle(findings: Iterable[Finding], side: str) -> list[Finding]:
    """The errors of the idle backend as advice that says when they will count; all else is left out."""
    return [
        finding._replace(
            severity=Severity.ADVICE, summary=f"{finding.summary} (idle now, an error once training is {side})"
        )
        for finding in findings
        if finding.severity is Severity.ERROR
    ]
