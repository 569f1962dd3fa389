"""What a preview of live clusters says about them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from modelyard.preview import Preview
from modelyard.preview.values import Offline, Pending, Unlisted
from modelyard.report.values import NAMES
from modelyard.stack.words import few, plural


def live_lines(preview: Preview) -> Iterator[str]:
    """What already differs from the clusters before the change, and which clusters or lists were not read, and why."""
    pending = {one.stack: one.pending for one in preview.stacks if one.pending is not None}
    return _lines(preview.base.name, pending, preview.offline, preview.unlisted)


def lines_of(document: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a preview in its JSON form."""
    pending = {one["stack"]: Pending(**one["pending"]) for one in document["stacks"] if one.get("pending") is not None}
    offline = (Offline(**one) for one in document.get("offline", ()))
    unlisted = (Unlisted(**{**one, "lists": tuple(one["lists"])}) for one in document.get("unlisted", ()))
    return _lines(document["base"]["name"], pending, offline, unlisted)


def _lines(
    base: str, pending: Mapping[str, Pending], offline: Iterable[Offline], unlisted: Iterable[Unlisted]
) -> Iterator[str]:
    differing = {stack: one for stack, one in pending.items() if one.objects}
    if differing:
        fields = plural(sum(one.fields for one in differing.values()), "field")
        objects = plural(sum(one.objects for one in differing.values()), "object")
        yield (
            f"already different from the cluster before this branch: {fields} in {objects} of {few(differing, NAMES)} "
            f"(see modelyard plan {next(iter(differing))} --live at {base})"
        )
    stacks: dict[str, list[str]] = {}
    for one in offline:
        stacks.setdefault(one.why, []).append(one.stack)
    for why, names in stacks.items():
        yield f"compared with the recorded platform, not with the cluster: {few(names, NAMES)} ({why})"
    lacking: dict[str, list[str]] = {}
    for lists in unlisted:
        where = f" in remote cluster {lists.cluster}" if lists.cluster else ""
        lacking.setdefault(f"{' or '.join(lists.lists)}{where}", []).append(lists.stack)
    for what, names in lacking.items():
        yield (
            f"these credentials may not list {what}, so the preview of {few(names, NAMES)} leaves them out "
            "(modelyard explain OWN017)"
        )
