"""Renders a patch version and its parameters to documents: sandboxed, strict, limited in time and size, and cached.

A process renders each distinct (version, parameters) once, for any number of stacks.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from modelyard.catalog.bounds import FEWER, longest, weight
from modelyard.catalog.library import BASE, PHASES, TEMPLATE, PatchVersion, Phase
from modelyard.catalog.places import Origins, line_of
from modelyard.catalog.precompiled import TEMPLATES
from modelyard.findings import Finding, Severity, first
from modelyard.hiding import Confidential
from modelyard.patterns import regex
from modelyard.stack import codes
from modelyard.stack.words import plain
from modelyard.stack.yaml.document import parse_plain
from modelyard.stack.yaml.source import NOT_YAML
from modelyard.timelimit import TimeBudget, TimeUp

SECONDS = 5.0
"""Maximum processor time for one template, which cannot wait for anything."""
BUDGET = TimeBudget(total=20.0, refill=0.02, of_cpu=True)
"""Shared limit for all templates of a run, and the schemas of their parameters."""
_SMALL = 64 * 1024
"""Characters of parameters and output up to which rendering without Jinja2 cannot exceed a limit of the sandbox."""
_MARKS = ("{{", "{%", "{#")
"""What begins every part of a template that Jinja2 evaluates."""
_HEADER = regex(r"^#[ \t]*+(target|phase):[ \t]*+(\S*+)[ \t\r]*+$", re.MULTILINE)
_SEPARATOR = regex(r"^---[ \t]*$", re.MULTILINE)


class PatchDocument(NamedTuple):
    """One partial object of a rendered patch."""

    target: str
    """Name of the object, from the ``# target:`` line; for a base, from ``metadata.name``."""
    phase: Phase
    text: Confidential[str]
    """The vendor's form: the target line, then YAML."""
    body: Confidential[dict[str, Any]]


class Rendered(NamedTuple):
    """The result of rendering a patch version; no documents if a finding says why."""

    documents: tuple[PatchDocument, ...]
    findings: tuple[Finding, ...]
    failed: bool = False
    """Whether the template has no output for these parameters; otherwise the findings are about its output."""


_rendered: dict[tuple[PatchVersion, str, str], Rendered] = {}


def render(patch: PatchVersion, params: Mapping[str, Any]) -> Rendered:
    """Returns the patch's documents for parameters that the version's schema accepts."""
    return _render(patch, TEMPLATE, patch.template, params, _patch_document)


def render_base(patch: PatchVersion, params: Mapping[str, Any]) -> Rendered:
    """Returns the whole objects of the patch's base; none if the version has no base."""
    if patch.base is None:
        return Rendered((), ())
    return _render(patch, BASE, patch.base, params, _base_document)


class _Wrong(NamedTuple):
    """Why a document cannot be used."""

    what: str
    remedy: str
    path: tuple[str, ...] = ()
    """The field that is wrong; empty if it is the whole document."""
    header: str = ""
    """The comment that is wrong: ``phase`` of ``# phase: NAME``."""


_Maker = Callable[[PatchVersion, str, dict[str, Any]], PatchDocument | _Wrong]


def _render(patch: PatchVersion, name: str, source: str, params: Mapping[str, Any], make: _Maker) -> Rendered:
    key = (patch, name, repr(sorted(params.items())))
    found = _rendered.get(key)
    if found is None:
        found = _rendered[key] = _documents(patch, name, source, params, make)
    return found


def _documents(patch: PatchVersion, name: str, source: str, params: Mapping[str, Any], make: _Maker) -> Rendered:
    file = f"{patch.file}/{name}"
    try:
        with in_time():
            text = _text(patch, file, name, source, params)
            if isinstance(text, Finding):
                return Rendered((), (text,), failed=True)
            return _read(patch, file, source, text, make)
    except TimeUp:
        remedy = FEWER if longest(params) else "look for an endless loop"
        finding = _error(
            "PAT006", patch, file, what=f"was still rendering {time_up()}{longest(params)}", line=0, remedy=remedy
        )
        return Rendered((), (finding,), failed=True)


def in_time() -> AbstractContextManager[None]:
    """Interrupts the block with ``TimeUp`` when a patch has used its time."""
    return BUDGET.limit(SECONDS)


def time_up() -> str:
    """Describes when a patch was interrupted."""
    return (
        f"when all patches had taken {BUDGET.total:g} seconds together"
        if BUDGET.spent
        else f"after {SECONDS:g} seconds"
    )


def _read(patch: PatchVersion, file: str, source: str, text: str, make: _Maker) -> Rendered:
    """Returns the result of a template, from its text."""
    documents: list[PatchDocument] = []
    findings = first(
        _error("PAT007", patch, file, what=what, line=at, remedy=remedy)
        for what, at, remedy in _problems(patch, source, text, make, documents)
    )
    return Rendered((), tuple(findings)) if findings else Rendered(tuple(documents), ())


def _problems(
    patch: PatchVersion, source: str, text: str, make: _Maker, documents: list[PatchDocument]
) -> Iterator[tuple[str, int, str]]:
    """Yields what is wrong with a template's output, its template line, and what to do; ``documents`` gets the rest."""
    origins: Origins | None = None
    line = 1
    for part in _SEPARATOR.split(text):
        # A template can create half of a surrogate pair, which is reported as invalid UTF-8.
        value, problem = parse_plain(part.encode(errors="surrogatepass"))
        wrong: tuple[str, int, str] | None = None
        if problem is not None:
            what = f"does not render to YAML: {problem.message.removeprefix(NOT_YAML)}"
            remedy = "correct the YAML here or just above"
            if problem.code == codes.DUPLICATE_KEY:
                remedy = "keep one of them" + ", or write --- between two documents" * (problem.column == 1)
            wrong = what, line + problem.line - 1, remedy
        elif isinstance(value, dict):
            made = make(patch, part.strip() + "\n", value)
            if isinstance(made, PatchDocument):
                documents.append(made)
            else:
                wrong = made.what, line + _lines_before(part, made), made.remedy
        elif value is not None:
            remedy = "write the fields of an object, such as apiVersion and kind"
            wrong = "renders to something other than a mapping", line, remedy
        if wrong is not None:
            origins = origins or Origins(source, text)
            yield wrong[0], origins.line(wrong[1]), wrong[2]
        line += part.count("\n")


def _lines_before(part: str, wrong: _Wrong) -> int:
    """How many lines of a document are above what is wrong with it."""
    if wrong.header:
        # Of two lines, the last one counts.
        return part.count("\n", 0, max(found.start() for found in _HEADER.finditer(part) if found[1] == wrong.header))
    return max(line_of(part, wrong.path) - 1, 0)


def _patch_document(patch: PatchVersion, text: str, body: dict[str, Any]) -> PatchDocument | _Wrong:
    lines = _HEADER.findall(text)
    headers = dict(lines)
    if len({value for key, value in lines if key == "target"}) > 1:
        remedy = "keep one of them, or write --- between two documents"
        return _Wrong("has two `# target: NAME` lines for one document", remedy, header="target")
    if not headers.get("target"):
        return _Wrong("has no `# target: NAME` line before its YAML", "add this line, with the name of the object")
    phase = headers.get("phase", patch.meta.phase)
    if phase not in PHASES:
        return _Wrong(
            f"has the unknown phase {plain(phase)!r}; the phases are {', '.join(PHASES)}",
            "set one of these in the line `# phase: NAME`, or remove the line",
            header="phase",
        )
    metadata = body.get("metadata")
    name = metadata.get("name", headers["target"]) if isinstance(metadata, dict) else headers["target"]
    if name != headers["target"]:
        what = f"is for target {headers['target']} but names {plain(str(name))}"
        return _Wrong(what, "remove metadata.name, or write the same name in both places", ("metadata", "name"))
    for key in ("apiVersion", "kind"):
        if not isinstance(body.get(key), str):
            return _Wrong(f"has no {key}", f"add the {key} of {headers['target']}", (key,))
    return PatchDocument(headers["target"], phase, Confidential(text), Confidential(body))


def _base_document(_patch: PatchVersion, text: str, body: dict[str, Any]) -> PatchDocument | _Wrong:
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if (
        not (isinstance(name, str) and name)
        or not isinstance(body.get("kind"), str)
        or not isinstance(body.get("apiVersion"), str)
    ):
        return _Wrong("has no apiVersion, kind or metadata.name", "add all three")
    if "namespace" in metadata and not (isinstance(namespace, str) and namespace):
        what = "empty" if namespace in (None, "") else "not text"
        remedy = "remove metadata.namespace, or set it to the name of a namespace"
        return _Wrong(f"has a metadata.namespace that is {what}", remedy, ("metadata", "namespace"))
    return PatchDocument(name, "normal", Confidential(text), Confidential(body))


def _text(patch: PatchVersion, file: str, name: str, source: str, params: Mapping[str, Any]) -> str | Finding:
    """Returns the rendered text, or the finding that says why there is none."""
    text = _precompiled(patch, name, params)
    if text is None:
        text = _plain(source)
    if text is not None:
        return text
    from modelyard.catalog.sandbox import Failed, rendered  # importing Jinja2 takes as long as some plans

    result = rendered(source, params)
    if isinstance(result, Failed):
        return _error(result.code, patch, file, what=result.what, line=result.line, remedy=result.remedy)
    return result


def _precompiled(patch: PatchVersion, name: str, params: Mapping[str, Any]) -> str | None:
    """Returns the text of a built-in patch's template; None if only Jinja2 can say what it is."""
    template = TEMPLATES.get((patch.sha256, name))
    if template is None:
        return None
    try:
        if weight(dict(params)) > _SMALL:
            return None
        text = template(params)
    except Exception:
        return None
    return text if len(text) <= _SMALL else None


def _plain(source: str) -> str | None:
    """Returns the text of a template without expressions, as Jinja2 writes it; None if it has some, or is long."""
    if len(source) > _SMALL or any(mark in source for mark in _MARKS):
        return None
    return source.replace("\r\n", "\n").replace("\r", "\n")


def _error(code: str, patch: PatchVersion, file: str, *, what: str, line: int, remedy: str) -> Finding:
    return Finding(code, Severity.ERROR, f"patch {patch.id} {what}", file=file, line=line, remedy=remedy)
