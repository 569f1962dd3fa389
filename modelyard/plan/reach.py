"""Orders Kueue's objects after those that they need, so that Kueue reaches worker clusters while jobs run there.

A ClusterQueue refers to an AdmissionCheck, that to a MultiKueueConfig, and that to MultiKueueClusters. When a run ends
or is cancelled, Kueue deletes its copy in the worker cluster only while all four exist (Kueue 0.19.2,
pkg/controller/admissionchecks/multikueue). Without them, the copy continues, and the home cluster does not show it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from modelyard.findings import Finding, Severity
from modelyard.plan.values import TargetPlan
from modelyard.stack.config import Stack
from modelyard.stack.words import plural

_CLUSTER: Final = "MultiKueueCluster"
_KINDS: Final = (_CLUSTER, "MultiKueueConfig", "AdmissionCheck", "ClusterQueue")
"""The kinds in order: objects of each kind are named by objects of the next."""
_ORDER: Final = ("Namespace", "Topology", "ResourceFlavor", *_KINDS, "LocalQueue")
"""The kinds in the order of a plan's steps: objects of each kind may need those of the kinds before it."""


def kind_rank(target: TargetPlan) -> int:
    """Sorts an object after those that it may need, and before those that may need it."""
    return _ORDER.index(target.key.kind) if target.key.kind in _ORDER else len(_ORDER)


def in_turn(targets: Iterable[TargetPlan]) -> list[tuple[TargetPlan, tuple[str, ...]]]:
    """Targets in the order in which they are created and deleted, each with the names of the targets that it waits for.

    An object that stays waits for the objects that it names. An object to delete waits until no object names it. All
    other objects come first, in their previous order, and wait for none.
    """
    ordered = sorted(targets, key=_turn)
    there = {(one.key.kind, one.key.name): one.name for one in ordered if _turn(one) and not one.dropped}
    namers: dict[tuple[str, str], list[str]] = {}
    found = []
    for target in ordered:
        waits: list[str] = []
        if target.dropped and _turn(target):
            waits = namers.get((target.key.kind, target.key.name), [])
        elif _turn(target):
            waits = [there[named] for named in _named(target.key.kind, target.after.reveal()) if named in there]
        found.append((target, tuple(waits)))
        for named in _named(target.key.kind, target.before.reveal() or {}):
            namers.setdefault(named, []).append(target.name)
    return found


def check_reach(stack: Stack, targets: Sequence[TargetPlan]) -> Iterator[Finding]:
    """The findings about worker clusters that an apply drops while runs may be active there, known only to a live plan.

    A queue that the same plan deletes is deleted first, and exists until its runs have ended.
    """
    before = {(one.key.kind, one.key.name): body for one in targets if _turn(one) and (body := one.before.reveal())}
    queues: dict[str, list[tuple[str, int]]] = {}
    for target in targets:
        jobs = int(((target.before.reveal() or {}).get("status") or {}).get("reservingWorkloads") or 0)
        if target.key.kind == "ClusterQueue" and not target.dropped and jobs:
            for kind, name in _all_named("ClusterQueue", target.before.reveal() or {}, before):
                if kind == _CLUSTER:
                    queues.setdefault(name, []).append((target.name, jobs))
    for target in targets:
        if target.key.kind == _CLUSTER and target.action == "delete" and target.key.name in queues:
            holding = dict(sorted(queues[target.key.name]))
            runs = sum(holding.values())
            yield Finding(
                "QUE014",
                Severity.WARNING,
                f"{target.name} is dropped, and {plural(runs, 'run')} of {', '.join(holding)} may be active there",
                target=target.name,
                detail="They continue in the worker cluster, even after you cancel them in the home cluster or start "
                "them again in another.",
                remedy=f"wait until these runs have ended, or cancel them first: modelyard job list {stack.name}",
            )


def _turn(target: TargetPlan) -> int:
    """The place of an object's kind in ``_KINDS``, from 1; 0 for other kinds."""
    if target.key.kind not in _KINDS:
        return 0
    place = 1 + _KINDS.index(target.key.kind)
    return 2 * len(_KINDS) + 1 - place if target.dropped else place


def _named(kind: str, body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Kind and name of the objects that an object names."""
    spec = body.get("spec") or {}
    if kind == "ClusterQueue":
        checks = (spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or ()
        return [("AdmissionCheck", str(check.get("name"))) for check in checks]
    if kind == "AdmissionCheck":
        given = spec.get("parameters") or {}
        return [(str(given.get("kind")), str(given.get("name")))]
    if kind == "MultiKueueConfig":
        return [(_CLUSTER, str(name)) for name in spec.get("clusters") or ()]
    return []


def _all_named(
    kind: str, body: Mapping[str, Any], there: Mapping[tuple[str, str], Mapping[str, Any]]
) -> set[tuple[str, str]]:
    """Kind and name of the objects that an object names, directly or through others."""
    found = set(_named(kind, body))
    for named in list(found):
        if named in there:
            found |= _all_named(named[0], there[named], there)
    return found
