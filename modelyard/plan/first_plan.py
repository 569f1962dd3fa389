"""The first plan of a stack file that describes a platform as it is: which patches would change the platform."""

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import NamedTuple

from modelyard.hardware.nodes import with_nodes
from modelyard.hardware.own import of_project
from modelyard.kube.state import ClusterState, ObjectKey
from modelyard.plan.build import make_plan
from modelyard.plan.cluster_parts import objects_about
from modelyard.plan.project import chosen_patches, library_of
from modelyard.plan.values import FieldChange, Plan
from modelyard.stack import Stack


class Effect(NamedTuple):
    """What a patch would do to a platform."""

    patch: str
    """Name of the patch."""
    changes: Mapping[str, tuple[FieldChange, ...]]
    """Fields with another value by object, such as ``Deployment workers``."""
    creates: tuple[str, ...]
    """Objects that it creates."""
    missing: tuple[str, ...]
    """Objects that it needs and that could not be planned."""


@of_project
def first_plan(root: Path, stack: Stack, state: ClusterState, today: date) -> tuple[Plan, tuple[Effect, ...]]:
    """The plan of a stack against a state, and the effects of the patches that would write to the cluster.

    A patch whose objects stay exactly as they are, because it was applied before, has no effect.
    """
    plan = make_plan(with_nodes(stack, state.nodes), library_of(root), state, today=today)
    return plan, tuple(_effects(root, stack, plan))


def _effects(root: Path, stack: Stack, plan: Plan) -> Iterator[Effect]:
    targets = {target.key: target for target in plan.targets}
    wrong = {finding.target for finding in plan.findings if finding.blocks}
    for one in chosen_patches(root, stack):
        keys = tuple(objects_about((one,), stack.config.platform))
        pending = {key: targets[key] for key in keys if key in targets and targets[key].action != "none"}
        missing = tuple(_words(key) for key in keys if key not in targets and key.name in wrong)
        if not (pending or missing):
            continue
        updates = {key: target.changes for key, target in pending.items() if target.action != "create"}
        changes = {_words(key): tuple(c for c in some if c.patch == one.patch.id) for key, some in updates.items()}
        yield Effect(
            one.patch.name,
            {name: some for name, some in changes.items() if some},
            tuple(_words(key) for key, target in pending.items() if target.action == "create"),
            missing,
        )


def _words(key: ObjectKey) -> str:
    return f"{key.kind} {key.name}"
