"""Findings about patches that give one field different values."""

from collections.abc import Iterable, Iterator

from modelyard.catalog.library import TEMPLATE
from modelyard.findings import Finding, Severity
from modelyard.kube.state import ObjectKey
from modelyard.plan.compose import PatchConflict
from modelyard.plan.missing import shared_object, sharing
from modelyard.stack.config import Stack
from modelyard.workloads import Workload


def conflict_findings(
    conflicts: Iterable[PatchConflict], key: ObjectKey, workloads: tuple[Workload, ...], stack: Stack
) -> Iterator[Finding]:
    """The findings about the conflicts of one target, each at what the user can change: their own patch, else the
    stack file.
    """
    together = sharing(key, workloads)
    for conflict in conflicts:
        if not (conflict.earlier.from_modelyard and conflict.later.from_modelyard):
            yield _of_own(conflict, key.name)
        elif together:
            yield shared_object(together)
        else:
            yield _of_built_in(conflict, key.name, stack)


def _of_own(conflict: PatchConflict, target: str) -> Finding:
    """The finding about a conflict with a patch of the project."""
    if conflict.earlier.id == conflict.later.id:
        found = _finding(conflict, target, "keep one of the two values")
        summary = f"{conflict.later.id} sets {conflict.path} twice: {' and '.join(conflict.values)}"
        return found._replace(summary=summary, file=f"{conflict.later.file}/{TEMPLATE}")
    pair = conflict.earlier, conflict.later
    own, other = pair if conflict.later.from_modelyard else pair[::-1]
    where = f"the meta.yaml of {own.name}, in a new version if it is released"
    remedy = f"drop one of the patches, or add `overrides: [{other.name}]` to {where}"
    return _finding(conflict, target, remedy)._replace(file=f"{own.file}/{TEMPLATE}")


def _of_built_in(conflict: PatchConflict, target: str, stack: Stack) -> Finding:
    """The finding about a conflict of two built-in patches, which do not conflict unless a stack changes its choice."""
    names = conflict.later.name, conflict.earlier.name
    listed = {choice.name: index for index, choice in enumerate(stack.config.patches)}
    for name in names:
        if name in listed:
            found = _finding(conflict, target, f"remove {name} from modelyard:patches")
            return stack.place(found, "patches", listed[name])
    remedy = f"leave out {names[0]}: add {{name: {names[0]}, enabled: false}} to modelyard:patches"
    return stack.place(_finding(conflict, target, remedy), "patches")


def _finding(conflict: PatchConflict, target: str, remedy: str) -> Finding:
    first, second = conflict.values
    return Finding(
        "PAT010",
        Severity.ERROR,
        f"{conflict.earlier.id} and {conflict.later.id} set {conflict.path} differently: {first} and {second}",
        target=target,
        field=str(conflict.path),
        remedy=remedy,
    )
