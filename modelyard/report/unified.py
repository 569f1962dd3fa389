"""Targets before and after as a unified diff of YAML."""

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any

import yaml

from modelyard.plan import Plan, TargetPlan
from modelyard.plan.secrets import hidden_objects
from modelyard.report.style import PLAIN, Style, safe, shorten


def yaml_text(value: Any) -> str:
    """A value as YAML in block style, keys in their own order."""
    return str(yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=10_000))


def titles(targets: Sequence[TargetPlan]) -> list[str]:
    """A unique title for each target: a Deployment's name, for others the name with the kind before it.

    Objects with equal kinds and names have their namespace in between.
    """
    short = [one.name if one.key.kind == "Deployment" else f"{one.key.kind}/{one.name}" for one in targets]
    known = Counter(short)
    return [
        title if known[title] == 1 else f"{one.key.kind}/{one.key.namespace}/{one.name}"
        for title, one in zip(short, targets, strict=True)
    ]


def target_diff(target: TargetPlan, title: str, context: int = 3) -> list[str]:
    """The lines of a unified diff of one target, without what ``hidden_objects`` leaves out."""
    was, now = hidden_objects(target)
    return list(
        unified_diff(
            _lines(was),
            _lines(now),
            f"before/{title}",
            f"after/{title}",
            n=context,
            lineterm="",
        )
    )


def diff_text(targets: Sequence[TargetPlan], style: Style = PLAIN, context: int = 3) -> list[str]:
    """Coloured lines of all diffs: a long unchanged line is cut, a long changed line continues below."""
    return [
        _paint(part, style)
        for target, title in zip(targets, titles(targets), strict=True)
        for line in target_diff(target, title, context)
        for part in folded(safe(line), style.columns)
    ]


def diff_document(plan: Plan, targets: Sequence[TargetPlan]) -> dict[str, Any]:
    """The diffs by target."""
    named = zip(targets, titles(targets), strict=True)
    return {
        "formatVersion": 1,
        "stack": plan.stack,
        "diffs": {title: "\n".join(target_diff(target, title)) + "\n" for target, title in named},
    }


def _lines(body: Mapping[str, Any]) -> list[str]:
    return yaml_text(body).splitlines() if body else []


def folded(line: str, width: int) -> list[str]:
    """A line of a unified diff in several that fit the width; a long unchanged line is cut."""
    if len(line) <= width:
        return [line]
    if line.startswith(" "):
        return [shorten(line, width)]
    room = width - 2
    rest = [f"{line[0]}…{line[at : at + room]}" for at in range(width, len(line), room)]
    return [line[:width], *rest]


def _paint(text: str, style: Style) -> str:
    if text.startswith(("+++", "---")):
        return style.bold(text)
    if text.startswith("@@"):
        return style.link(text)
    if text.startswith("+"):
        return style.added(text)
    return style.removed(text) if text.startswith("-") else text
