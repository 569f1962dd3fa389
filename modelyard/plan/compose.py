"""All patches of one target as one partial object, with the patch that set each field."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from modelyard.catalog.library import TEMPLATE, PatchVersion, Phase
from modelyard.catalog.templates import Document
from modelyard.findings import MOST_COUNTED, Finding, Severity
from modelyard.hiding import words_without
from modelyard.kube import merge
from modelyard.kube.merge import Path
from modelyard.kube.merge.path import ROOT
from modelyard.kube.state import ObjectKey
from modelyard.plan.secrets import hidden_change

_PHASE_RANK: dict[Phase, int] = {"route": 0, "up": 1, "down": 2, "normal": 3}
_PODS = ("maxSurge", "maxUnavailable", "minAvailable")
"""Fields of several kinds that are a number of pods or a share of them."""
MISFIT = "PAT008"
"""Code of the finding about a request that no API server takes."""
PERCENTAGE = re.compile(r"[0-9]{1,5}%")


class Composed(NamedTuple):
    """One request for one target."""

    body: dict[str, Any]
    origins: Mapping[Path, str]
    """Leaf field to the ``name@version`` that set it."""
    unowned: frozenset[Path]
    """Fields that a patch left empty: they belong to somebody else."""
    patches: tuple[str, ...]
    phase: Phase
    fits: bool
    """Whether an API server would take every patch."""


def compose(
    parts: Iterable[tuple[PatchVersion, Document]], schema: merge.Type, target: str
) -> tuple[Composed, tuple[Finding, ...]]:
    """Merges a target's documents in order.

    Two patches that give one field different values are a finding, unless the later one names the earlier in its
    ``overrides``. Directives and nulls are what server-side apply cannot send: a null means that the field is left to
    its other owner, a directive is a finding.
    """
    body: dict[str, Any] = {}
    asked: dict[Path, tuple[str, Any]] = {}
    patches: list[str] = []
    phase: Phase = "normal"
    fits = True
    findings: list[Finding] = []
    for patch, document in parts:
        given = document.body.reveal()
        found = tuple(_directives(given, ""))
        for where, directive in found:
            findings.append(
                Finding(
                    "PAT015",
                    Severity.ERROR,
                    f"patch {patch.id} uses {directive} at {where or 'the top'}, which server-side apply cannot send",
                    target=target,
                    field=where,
                    file=f"{patch.file}/patch.yaml.j2",
                    remedy="write the value that the field should have, or drop the field from the patch",
                )
            )
        wrong = [] if found else misfits(patch, TEMPLATE, given, schema, target)
        findings += wrong
        fits = fits and not wrong
        if found or wrong:
            continue
        whole = given
        changes = merge.diff(None, whole, schema)
        if any(change.after is None for change in changes):
            given = _without_nulls(whole)
        for change in changes:
            earlier, wanted = asked.get(change.path, (patch.id, change.after))
            if wanted != change.after and earlier.partition("@")[0] not in patch.meta.overrides:
                findings.append(_clash(earlier, patch, document, change.path, wanted, change.after))
            elif wanted != change.after or change.path not in asked:
                asked[change.path] = patch.id, change.after
                if wanted is not None and change.after is None:
                    # Only with its null does the merge take out what the earlier patch gave.
                    given = whole
        try:
            body = merge.strategic(body, given, schema) if body else given
        except merge.MergeError as error:
            findings += unfit(patch, TEMPLATE, whole, error.errors, target)
            fits = False
            continue
        patches.append(patch.id)
        phase = first_phase((phase, document.phase))
    origins = {path: name for path, (name, value) in asked.items() if value is not None}
    unowned = frozenset(path for path, (_, value) in asked.items() if value is None)
    composed = Composed(
        body=body,
        origins=origins,
        unowned=unowned,
        patches=tuple(dict.fromkeys(patches)),
        phase=phase,
        fits=fits,
    )
    return composed, tuple(findings)


def misfits(patch: PatchVersion, file: str, body: dict[str, Any], schema: merge.Type, target: str) -> list[Finding]:
    """What of that which a file of a patch rendered to the API server would refuse."""
    return unfit(patch, file, body, (*merge.validate(body, schema), *_percentages(body, ROOT)), target)


def unfit(
    patch: PatchVersion, file: str, body: dict[str, Any], errors: Iterable[merge.SchemaError], target: str
) -> list[Finding]:
    """The findings about what is wrong with that which a file of a patch rendered to."""
    shown = words_without((body,))
    found = (
        Finding(
            MISFIT,
            Severity.ERROR,
            f"patch {patch.id} does not fit {body.get('kind')}: {shown(str(error))}",
            target=target,
            field=str(error.path),
            file=f"{patch.file}/{file}",
            remedy="correct the field in the template, or the parameter that fills it",
        )
        for error in errors
    )
    return [*islice(found, MOST_COUNTED + 1)]


def _percentages(value: Any, path: Path) -> Iterator[merge.SchemaError]:
    """What no API server takes where its type alone takes any text: a number of pods that is none."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _percentages(item, path / index)
    for name, inner in value.items() if isinstance(value, dict) else ():
        if name in _PODS and (
            (isinstance(inner, str) and not PERCENTAGE.fullmatch(inner)) or (isinstance(inner, int) and inner < 0)
        ):
            message = f"expected a whole number or a percentage such as 25%, found {inner!r}"
            yield merge.SchemaError(path / name, message)
        elif isinstance(name, str):
            yield from _percentages(inner, path / name)


def first_phase(phases: Iterable[Phase]) -> Phase:
    """The phase of several that has its turn first."""
    return min(phases, key=_PHASE_RANK.__getitem__)


def _clash(earlier: str, patch: PatchVersion, document: Document, path: Path, first: Any, second: Any) -> Finding:
    field, target = str(path), document.target
    body = document.body.reveal()
    key = ObjectKey(str(body.get("apiVersion")), str(body.get("kind")), "", target)
    shown = hidden_change(key, path, first, second)
    return Finding(
        "PAT010",
        Severity.ERROR,
        f"{earlier} and {patch.id} set {field} differently: {' and '.join(map(_words, shown))}",
        target=target,
        field=field,
        file=f"{patch.file}/patch.yaml.j2",
        remedy=f"drop one of the patches, or add to {patch.name}: overrides: [{earlier.partition('@')[0]}]",
    )


def _words(value: Any) -> str:
    return "left to its owner" if value is None else repr(value)


def _directives(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str) and key.startswith("$"):
                yield where, key
            else:
                yield from _directives(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _directives(item, f"{where}[{index}]")


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_nulls(item) for key, item in value.items() if item is not None}
        # A mapping that held only nulls says nothing.
        return {key: item for key, item in kept.items() if item != {} or value[key] == {}}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
