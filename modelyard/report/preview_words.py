"""What all forms of a preview say in the same words."""

from collections.abc import Iterable

from modelyard import merge
from modelyard.cost.words import change
from modelyard.findings import loud
from modelyard.plan import FieldChange
from modelyard.plan.cost import stack_cost
from modelyard.preview import Group, Preview, StackDiff, TargetDiff
from modelyard.report.fields import Row, rows_of
from modelyard.report.finding import tally
from modelyard.report.values import count


def headline(preview: Preview) -> str:
    """``2 of 3 stacks change``."""
    total = len(preview.stacks) + len(preview.unchanged)
    if not preview.stacks:
        return f"no changes in {count(total, 'stack')}"
    return f"{len(preview.stacks)} of {count(total, 'stack')} change{'s' if len(preview.stacks) == 1 else ''}"


def span(preview: Preview) -> str:
    """Which commits were compared."""
    head = preview.head
    against = head.name if head.name != "working tree" else f"working tree on {head.commit[:8]}"
    return f"{against} against {preview.base.name} ({preview.base.commit[:8]})"


def effects(preview: Preview) -> list[str]:
    """What it comes to: stacks, pods, GPUs, findings."""
    stacks = preview.stacks
    known = [stack for stack in stacks if not stack.unplanned]
    before, after = sum(stack.gpus[0] for stack in known), sum(stack.gpus[1] for stack in known)
    pods = sum(stack.replaces_pods for stack in known)
    new = tally(loud(finding for stack in stacks for finding in stack.new))
    fixed = tally(loud(finding for stack in stacks for finding in stack.fixed))
    return [
        *(f"{number} {word}" for word, number in _statuses(stacks) if number),
        *([count(pods, "pod") + " replaced" if pods else "no pod replaced"] if known else []),
        *([f"GPUs {before} → {after}" if before != after else f"GPUs stay at {after}"] if known else []),
        *([f"cost {words}"] if (words := cost_words(known)) else []),
        *([f"new: {new}"] if new else []),
        *([f"fixed: {fixed}"] if fixed else []),
    ]


def cost_words(stacks: Iterable[StackDiff]) -> str:
    """What the changes cost an hour: ``+USD 3.67/h``; empty where no stack could be planned."""
    known = [stack.cost for stack in stacks if stack.cost is not None]
    return change(stack_cost(target for cost in known for target in cost.targets).delta) if known else ""


def _statuses(stacks: Iterable[StackDiff]) -> list[tuple[str, int]]:
    stacks = tuple(stacks)
    return [
        ("added", sum(stack.status == "added" for stack in stacks)),
        ("removed", sum(stack.status == "removed" for stack in stacks)),
        ("not planned (what changes there is unknown)", sum(stack.unplanned for stack in stacks)),
    ]


def version_words(change: TargetDiff) -> str:
    """``model-service v1 → v2, ray-worker v1 dropped``."""
    words = []
    for one in change.versions:
        if one.before is None:
            words.append(f"{one.name} {one.after} added")
        elif one.after is None:
            words.append(f"{one.name} {one.before} dropped")
        else:
            words.append(f"{one.name} {one.before} → {one.after}")
    return ", ".join(words)


def change_words(group: Group) -> str:
    """What a change means: pods and GPUs in all its stacks."""
    change = group.change
    words = {"added": ["new"], "removed": ["no longer patched"], "same": ["comes out alike"], "changed": []}[
        change.status
    ]
    if group.replaces_pods:
        words.append(f"replaces {count(group.replaces_pods, 'pod')}")
    if group.gpus[0] != group.gpus[1]:
        words.append(f"GPUs {group.gpus[0]} → {group.gpus[1]}")
    before, after = change.replicas
    if len(group.stacks) == 1 and change.status == "changed" and before != after and None not in (before, after):
        words.append(f"pods {before} → {after}")
    return " · ".join(words)


def rows_by_patch(change: TargetDiff) -> tuple[tuple[str, tuple[Row, ...]], ...]:
    """The changed fields in rows, by the patch at the head that asks for them."""
    found: dict[str, list[FieldChange]] = {}
    for field in change.fields:
        patch = field.patch or ("given up" if field.after is merge.ABSENT else "defaults")
        found.setdefault(patch, []).append(FieldChange(field.path, field.before, field.after, field.patch, (), False))
    return tuple((patch, rows_of(fields, one_container=True)) for patch, fields in sorted(found.items()))
