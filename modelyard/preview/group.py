"""Alike changes of many stacks, told once."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from modelyard import merge
from modelyard.preview.values import StackDiff, TargetDiff


class Group(NamedTuple):
    """One change of one target, and every stack that it happens in."""

    change: TargetDiff
    """Of the first stack; numbers of pods and GPUs are that stack's own."""
    stacks: tuple[str, ...]
    replaces_pods: int
    """In all these stacks together."""
    gpus: tuple[int, int]
    """In all these stacks together."""


def grouped(stacks: Iterable[StackDiff]) -> tuple[Group, ...]:
    """The targets' changes, alike ones together: in the order of the first stack that has them."""
    found: dict[str, list[tuple[str, TargetDiff]]] = {}
    for stack in stacks:
        for target in stack.targets:
            found.setdefault(_likeness(target), []).append((stack.stack, target))
    return tuple(
        Group(
            members[0][1],
            tuple(name for name, _ in members),
            sum(target.replaces_pods for _, target in members),
            (sum(target.gpus[0] for _, target in members), sum(target.gpus[1] for _, target in members)),
        )
        for members in found.values()
    )


def _likeness(target: TargetDiff) -> str:
    """The same text for changes that read the same, however many pods they concern."""
    fields = [(str(field.path), _plain(field.before), _plain(field.after), field.patch) for field in target.fields]
    return json.dumps([target.kind, target.name, target.status, fields, target.versions], sort_keys=True)


def _plain(value: Any) -> Any:
    return [] if value is merge.ABSENT else [value]
