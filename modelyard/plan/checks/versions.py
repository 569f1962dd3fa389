"""Whether the Kubernetes version in a stack file matches the version that its plan starts from.

The schema of the version in the stack file validates objects and controls how fields are merged.
"""

from collections.abc import Iterator

from modelyard.findings import Finding, Severity
from modelyard.kube import merge
from modelyard.kube.state import ClusterState
from modelyard.patterns import regex
from modelyard.stack.config import Stack

_MINOR = regex(r"v?(\d+)\.(\d+)")
_KEY = "kubernetesVersion"


def check_version(stack: Stack, state: ClusterState) -> Iterator[Finding]:
    """A finding if a shipped schema fits the cluster better than that of the version in the stack file."""
    runs, named = _minor(state.version), _minor(stack.config.kubernetes_version)
    if runs is None or named is None or runs == named:
        return
    shipped = [minor for text in merge.supported_versions() if (minor := _minor(text)) is not None]
    nearest = min(shipped, key=lambda minor: (abs(minor[0] - runs[0]), abs(minor[1] - runs[1])))
    best = ".".join(map(str, nearest))
    where = "the cluster runs" if state.source == "live" else "the recorded platform runs"
    summary = f"{_KEY} is {stack.config.kubernetes_version}, and {where} {state.version}"
    detail = "modelyard checks and merges objects with the schema of the version in the stack file"
    if nearest != runs:
        detail += f"; modelyard has no schema of {runs[0]}.{runs[1]}; {best} is the nearest"
    if nearest == named:
        yield stack.finding("CFG105", Severity.ADVICE, (_KEY,), summary, "no action needed", detail=detail)
    else:
        again = "" if state.source == "live" else f", or record the platform again: modelyard record {stack.name}"
        remedy = f'set modelyard:{_KEY}: "{best}"{again}'
        yield stack.finding("CFG105", Severity.WARNING, (_KEY,), summary, remedy, detail=detail)


def _minor(version: str) -> tuple[int, int] | None:
    found = _MINOR.match(version)
    return (int(found[1]), int(found[2])) if found is not None else None
