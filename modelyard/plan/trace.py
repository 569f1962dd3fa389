"""Traces a field back to what set it: patches, owners, and the line of the stack file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from modelyard.catalog import Selected, render, render_base
from modelyard.catalog.library import BASE, TEMPLATE, PatchVersion
from modelyard.catalog.places import line_of
from modelyard.findings import Finding
from modelyard.hiding import HIDDEN, hidden_at
from modelyard.kube import merge
from modelyard.kube.merge import Owner, Path
from modelyard.kube.merge.path import ROOT
from modelyard.kube.state import essence
from modelyard.plan.secrets import hidden_change, hidden_field
from modelyard.plan.values import TargetPlan, names_its_item
from modelyard.stack.config import Stack, StackPath

_Name = str | tuple[str, str, str]
"""A target's name in templates; or API version, kind and name of an object in a base."""


class ParameterSource(NamedTuple):
    """A parameter that decides a field, and the place of its value."""

    param: str
    value: Any
    path: StackPath
    """The path in the stack file; empty if the value is the patch's default."""
    line: int
    """Line of the stack file, from 1, of the value or of the nearest section; 0 if the file has neither."""
    written: bool
    """Whether the value itself is in the stack file."""


class Setting(NamedTuple):
    """One patch that sets the field, and the parameters that decide its value."""

    patch: str
    file: str
    value: Any
    sources: tuple[ParameterSource, ...]


class Renderings:
    """What the patches of one cluster set: as the stack uses them, and with another value for one parameter.

    Renders each patch once, on first use: keep this object to trace the fields of many objects.
    """

    def __init__(self) -> None:
        self._bodies: dict[tuple[str, str, str | None], Mapping[_Name, dict[str, Any]]] = {}
        self._shown: dict[tuple[str, str], Any] = {}

    def of(self, selected: Selected, file: str, other: str | None = None) -> Mapping[_Name, dict[str, Any]]:
        """A patch's output, by target for its template, or by API version, kind and name for its base.

        ``file`` is ``TEMPLATE`` or ``BASE``; ``other`` is the parameter to give another value, if any.
        """
        key = (selected.patch.id, file, other)
        if key not in self._bodies:
            params = selected.params.reveal()
            if other is not None:
                params = {**params, other: _another(params[other])}
            self._bodies[key] = _patched(selected, params) if file == TEMPLATE else _owned(selected, params)
        return self._bodies[key]

    def shown(self, selected: Selected, param: str) -> Any:
        """The value of a parameter without anything that looks like a secret."""
        key = (selected.patch.id, param)
        if key not in self._shown:
            self._shown[key] = hidden_at(param, selected.params.reveal()[param])
        return self._shown[key]


class Trace(NamedTuple):
    """Everything that gave one field its value."""

    target: TargetPlan
    path: Path
    before: Any
    after: Any
    owners: tuple[Owner, ...]
    settings: tuple[Setting, ...]


def place_field(finding: Finding, stack: Stack) -> Finding:
    """The finding with its stack, and if it has no file yet, the line of the stack file that its field names.

    A field of the target, or a section that the stack file leaves out, has no line in the stack file.
    """
    if finding.file:
        return finding._replace(stack=stack.name)
    parts = finding.field.replace("[", ".").replace("]", "").split(".")
    path = tuple(int(part) if part.isdecimal() else part for part in parts)
    if path[:1] not in stack.positions:
        return finding._replace(stack=stack.name, file=stack.file)
    return stack.place(finding, *path)


def trace(
    target: TargetPlan,
    path: Path,
    schema: merge.Type,
    stack: Stack,
    chosen: tuple[Selected, ...],
    *,
    renderings: Renderings | None = None,
) -> Trace:
    """What gives a field its value: templates, or if no template sets it, the bases of objects that patches own.

    A parameter decides a field if another value for it makes the patch render another value there. This works
    for any template, with conditions and arithmetic, without help from the patch's author. Anything that looks like a
    secret is hidden, as in plans. Pass ``renderings`` of ``chosen``, the stack's patches, to trace more than one field.
    """
    known = Renderings() if renderings is None else renderings
    settings = tuple(_settings(target, path, schema, stack=stack, chosen=chosen, known=known, file=TEMPLATE))
    if not settings and target.managed:
        settings = tuple(_settings(target, path, schema, stack=stack, chosen=chosen, known=known, file=BASE))
    bodies = (target.before.reveal(), target.after.reveal())
    was, now = (_value_at(body, path, schema) for body in bodies)
    before, after = hidden_change(target.key, path, was, now, bodies)
    return Trace(
        target=target,
        path=path,
        before=before,
        after=after,
        owners=merge.owners(bodies[0], path) if bodies[0] is not None else (),
        settings=tuple(_without_secrets(target, path, setting) for setting in settings),
    )


def written_at(file: str, path: Path, chosen: Iterable[Selected]) -> int:
    """The line of a field in a :class:`Setting`'s file, template or base; 0 if the field is not written literally.

    ``chosen`` are the stack's patches.
    """
    for one in chosen:
        for text, name in ((one.patch.template, TEMPLATE), (one.patch.base or "", BASE)):
            if file == f"{one.patch.file}/{name}":
                return line_of(text, path)
    return 0


def _without_secrets(target: TargetPlan, path: Path, setting: Setting) -> Setting:
    """The setting without a secret, or the parameter that it came from."""
    shown = hidden_field(target.key, path, setting.value, target.after.reveal())
    if shown == setting.value:
        return setting
    return setting._replace(value=shown, sources=tuple(one._replace(value=HIDDEN) for one in setting.sources))


def _settings(
    target: TargetPlan,
    path: Path,
    schema: merge.Type,
    *,
    stack: Stack,
    chosen: tuple[Selected, ...],
    known: Renderings,
    file: str,
) -> Iterator[Setting]:
    name: _Name = target.local_name if file == TEMPLATE else (target.key.api_version, target.key.kind, target.key.name)
    for one in chosen:
        if one.patch.id not in target.patches:
            continue
        body = known.of(one, file).get(name)
        value = _value_at(body, path, schema)
        if body is None or value is merge.ABSENT:
            continue
        sources = []
        for param, given in sorted(one.params.reveal().items(), key=lambda pair: pair[0]):
            other = known.of(one, file, param).get(name)
            # Another name makes another object, and an object disappears without its source value. An empty list is no
            # source: that template only took no item of another kind.
            gone = file == BASE and isinstance(given, list) and given != []
            if gone if other is None else _value_at(other, path, schema) != value:
                where = one.sources.get(param, ())
                sources.append(_source(param, known.shown(one, param), where, stack))
        yield Setting(one.patch.id, f"{one.patch.file}/{file}", value, tuple(sources))


def _source(param: str, value: Any, where: StackPath, stack: Stack) -> ParameterSource:
    if not where or where[:1] not in stack.positions:
        return ParameterSource(param, value, where, 0, False)
    # A section that is JSON text has one position for all of its values.
    whole = not any(path[:1] == where[:1] for path in stack.positions if len(path) > 1)
    return ParameterSource(param, value, where, stack.position(where)[0], whole or where in stack.positions)


def _patched(one: Selected, params: Mapping[str, Any]) -> Mapping[_Name, dict[str, Any]]:
    """What the patch sets on each of its targets; the first of several documents counts."""
    return {each.target: each.body.reveal() for each in reversed(render(one.patch, params).documents)}


def _owned(one: Selected, params: Mapping[str, Any]) -> Mapping[_Name, dict[str, Any]]:
    """The objects in the patch's base; the first of several with one name counts."""
    bodies = [each.body.reveal() for each in reversed(render_base(one.patch, params).documents)]
    return {(body["apiVersion"], body["kind"], body["metadata"]["name"]): body for body in bodies}


def _value_at(body: dict[str, Any] | None, path: Path, schema: merge.Type) -> Any:
    """The value of a field or of the atomic field around it."""
    if body is None:
        return merge.ABSENT
    leaves = merge.diff(None, body, schema)
    for leaf in leaves:
        if path[: len(leaf.path)] == leaf.path:
            return leaf.after
    return {str(leaf.path): leaf.after for leaf in leaves if leaf.path[: len(path)] == path} or merge.ABSENT


def _another(value: Any) -> Any:
    """A different value of the same kind."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value + 1.0
        case str():
            return f"{value}x"
        case [dict(), *_]:
            return []
        case list():
            return [*value, "x"]
        case dict():
            return {**value, "x": "x"}
        case _:
            return "x"


def kind_of(target: TargetPlan, chosen: Iterable[Selected], version: str) -> merge.Type:
    """The type of a target's object, in which lists merge by item if the target's patches name their items.

    Raises:
        LookupError: this Kubernetes version is not known to have the kind.
    """
    schema = merge.MergeSchema.kubernetes(version).of(target.key.api_version, target.key.kind)
    return with_items(schema, (one.patch for one in chosen if one.patch.id in target.patches))


def with_items(schema: merge.Type, patches: Iterable[PatchVersion]) -> merge.Type:
    """The type in which lists merge by item if patches name their items."""
    for patch in patches:
        for text, key in patch.meta.items.items():
            # Another patch may name it too, or it is a list of another object.
            with suppress(LookupError, ValueError):
                schema = merge.keyed(schema, Path.parse(text), key)
    return schema


def fields_of(target: TargetPlan, schema: merge.Type, part: Path = ROOT) -> list[Path]:
    """The paths of a target's fields after the change, below ``part``."""
    paths = (change.path for change in merge.diff(None, target.after.reveal(), schema))
    return [path for path in paths if path[: len(part)] == part]


def own_fields(target: TargetPlan, schema: merge.Type) -> list[Path]:
    """The fields that are the target's own: not set by the API server, not a name that paths use for a list item."""
    fields = merge.diff(None, essence(target.after.reveal()), schema)
    return [one.path for one in fields if not names_its_item(one.path, one.after)]


def find_fields(target: TargetPlan, text: str, schema: merge.Type, part: Path = ROOT) -> tuple[Path, ...]:
    """The fields of a target, below ``part``, that a user's text names: a whole path, the end of a path, or the name of
    a list item, such as an environment variable.

    Raises:
        ValueError: the text is no path.
    """
    leaves = fields_of(target, schema, part)
    try:
        wanted = Path.parse(text)
    except ValueError:
        # Names with slashes and dots need quotes in a path, which few users write at first.
        plain = tuple(leaf for leaf in leaves if f".{_plain(leaf)}".endswith(f".{text}"))
        if plain:
            return plain
        raise
    whole = {Path(leaf[: len(wanted)]) for leaf in leaves if leaf[: len(wanted)] == wanted}
    if whole:
        return tuple(whole)
    ends = tuple(leaf for leaf in leaves if leaf[-len(wanted) :] == wanted)
    # No patch sets a field of the status: it is meant only by its whole path, or where nothing else has the name.
    ours = tuple(leaf for leaf in ends if leaf[0] != "status")
    return ours or ends or tuple(dict.fromkeys(_items(leaves, text)))


def distinct_ends(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The shortest end of each path that no other one has: of fields with the same name, what a user may write."""

    def end(path: Path) -> Path:
        others = [other for other in paths if other != path]
        lengths = (
            at
            for at in range(1, len(path))
            if isinstance(path[-at], str) and all(other[-at:] != path[-at:] for other in others)
        )
        return Path(path[-next(lengths, len(path)) :])

    return tuple(map(end, paths))


def _items(leaves: Iterable[Path], name: str) -> Iterator[Path]:
    for leaf in leaves:
        for at, element in enumerate(leaf):
            if isinstance(element, merge.Key) and ("name", name) in element.fields:
                yield Path(leaf[: at + 1])


def _plain(path: Path) -> str:
    """A path without brackets and quotes: ``metadata.annotations.autoscaling/queries``."""
    return ".".join(
        ",".join(str(value) for _, value in element.fields) if isinstance(element, merge.Key) else str(element)
        for element in path
    )
