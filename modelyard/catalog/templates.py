"""Renders a patch version and its parameters to documents: sandboxed, strict, limited in time and size, and cached.

A process renders each distinct (version, parameters) once, for any number of stacks.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, NamedTuple

import jinja2

from modelyard.catalog.bounds import MAX_TEXT, NotPlain, TooLarge
from modelyard.catalog.library import BASE, PHASES, TEMPLATE, PatchVersion, Phase
from modelyard.catalog.places import Origins, line_of
from modelyard.catalog.sandbox import MAX_MADE, environment
from modelyard.findings import Finding, Severity, first
from modelyard.hiding import Confidential
from modelyard.stack.words import plain
from modelyard.stack.yaml.document import parse_plain
from modelyard.timelimit import TimeBudget, TimeUp

SECONDS = 5.0
"""Maximum processor time for one template, which cannot wait for anything."""
BUDGET = TimeBudget(total=20.0, refill=0.02, of_cpu=True)
"""Shared limit for all templates of a run, and the schemas of their parameters."""
_MANY = 1000
"""Number of items in a parameter at which even a correct template may become too large."""
_FEWER = "let jobs share a resource, split the stack, or render less per item"
_HEADER = re.compile(r"^#[ \t]*+(target|phase):[ \t]*+(\S*+)[ \t\r]*+$", re.MULTILINE)
_SEPARATOR = re.compile(r"^---[ \t]*$", re.MULTILINE)

_KINDS = {
    "str": "text",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "dict": "a mapping",
    "NoneType": "null",
    "None": "null",
}
"""Python's types, as the author of a template calls them."""
_WORDS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"'(\w+)(?: object)?' has no attribute ('.*')", "{0} has no key {1}"),
        (r"('.*') is undefined", "{0} is not defined"),
        (r"access to attribute ('.*') of '.*' object is unsafe\.", "{0} is not available in templates"),
        (r"bad operand type for unary (.): '(\w+)'", "{0} does not work with {1}"),
        (r"(%\w) format: .* is required, not (\w+)", "{0} cannot format {1}"),
        (r"(\w+) object has no element (.*)", "{0} has no item {1}"),
        (
            r"can only concatenate (\w+) \(not \"(\w+)\"\) to \w+",
            "+ does not work with {0} and {1}; ~ joins them as text",
        ),
        (r"unsupported operand type\(s\) for ([^ :]+).*: '(\w+)' and '(\w+)'", "{0} does not work with {1} and {2}"),
        (r"'(.+)' not supported between instances of '(\w+)' and '(\w+)'", "{0} cannot compare {1} with {2}"),
        (r"'(\w+)' object is not iterable", "{0} is used where a list is needed"),
        (r"'(\w+)' object is not callable", "{0} is called like a function"),
        (r"maximum recursion depth exceeded.*", "endless recursion of a macro"),
        (r"object of type '(\w+)' has no len\(\)", "{0} has no length"),
    )
)
"""Messages of Python and Jinja2, and the same in words."""


class Document(NamedTuple):
    """One partial object of a rendered patch."""

    target: str
    """Name of the object, from the ``# target:`` line; for a base, from ``metadata.name``."""
    phase: Phase
    text: Confidential[str]
    """The vendor's form: the target line, then YAML."""
    body: Confidential[dict[str, Any]]


class Rendered(NamedTuple):
    """The result of rendering a patch version; no documents if a finding says why."""

    documents: tuple[Document, ...]
    findings: tuple[Finding, ...]


@cache
def _compiled(source: str) -> jinja2.Template:
    return environment().from_string(source)


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
    path: tuple[str, ...] = ()
    """The field that is wrong; empty if it is the whole document."""


_Maker = Callable[[PatchVersion, str, dict[str, Any], str], Document | _Wrong]


def _render(patch: PatchVersion, name: str, source: str, params: Mapping[str, Any], make: _Maker) -> Rendered:
    key = (patch, name, repr(sorted(params.items())))
    found = _rendered.get(key)
    if found is None:
        found = _rendered[key] = _documents(patch, f"{patch.file}/{name}", source, params, make)
    return found


def _documents(patch: PatchVersion, file: str, source: str, params: Mapping[str, Any], make: _Maker) -> Rendered:
    try:
        with in_time():
            text = _text(patch, file, source, params)
            return Rendered((), (text,)) if isinstance(text, Finding) else _read(patch, file, source, text, make)
    except TimeUp:
        remedy = _FEWER if _long(params) else "look for an endless loop"
        finding = _error("PAT006", patch, file, f"was still rendering {time_up()}{_long(params)}", 0, remedy)
        return Rendered((), (finding,))


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
    documents: list[Document] = []
    findings = first(
        _error("PAT007", patch, file, what, at, remedy)
        for what, at, remedy in _problems(patch, file, source, text, make, documents)
    )
    return Rendered((), tuple(findings)) if findings else Rendered(tuple(documents), ())


def _problems(
    patch: PatchVersion, file: str, source: str, text: str, make: _Maker, documents: list[Document]
) -> Iterator[tuple[str, int, str]]:
    """Yields what is wrong with a template's output, its template line, and what to do; ``documents`` gets the rest."""
    origins: Origins | None = None
    line = 1
    for part in _SEPARATOR.split(text):
        # A template can create half of a surrogate pair, which is reported as invalid UTF-8.
        value, problem = parse_plain(part.encode(errors="surrogatepass"))
        wrong: tuple[str, int, str] | None = None
        if problem is not None:
            wrong = f"does not render to YAML: {problem.message}", line + problem.line - 1, "correct the YAML here"
        elif isinstance(value, dict):
            made = make(patch, part.strip() + "\n", value, file)
            if isinstance(made, Document):
                documents.append(made)
            else:
                at = line + max(line_of(part, made.path) - 1, 0)
                wrong = made.what, at, "modelyard explain PAT007 shows the form"
        elif value is not None:
            wrong = "renders to something other than a mapping", line, "write fields"
        if wrong is not None:
            origins = origins or Origins(source, text)
            yield wrong[0], origins.line(wrong[1]), wrong[2]
        line += part.count("\n")


def _patch_document(patch: PatchVersion, text: str, body: dict[str, Any], _file: str) -> Document | _Wrong:
    headers = dict(_HEADER.findall(text))
    if not headers.get("target"):
        return _Wrong("has no `# target: NAME` line before its YAML")
    phase = headers.get("phase", patch.meta.phase)
    if phase not in PHASES:
        return _Wrong(f"has the unknown phase {plain(phase)!r}; the phases are {', '.join(PHASES)}")
    metadata = body.get("metadata")
    name = metadata.get("name", headers["target"]) if isinstance(metadata, dict) else headers["target"]
    if name != headers["target"]:
        return _Wrong(f"is for target {headers['target']} but names {name}", ("metadata", "name"))
    for key in ("apiVersion", "kind"):
        if not isinstance(body.get(key), str):
            return _Wrong(f"has no {key}", (key,))
    return Document(headers["target"], phase, Confidential(text), Confidential(body))


def _base_document(_patch: PatchVersion, text: str, body: dict[str, Any], _file: str) -> Document | _Wrong:
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if (
        not (isinstance(name, str) and name)
        or not isinstance(body.get("kind"), str)
        or not isinstance(body.get("apiVersion"), str)
    ):
        return _Wrong("has no apiVersion, kind or metadata.name")
    if "namespace" in metadata and not (isinstance(namespace, str) and namespace):
        what = "empty" if namespace in (None, "") else "not text"
        return _Wrong(f"has a metadata.namespace that is {what}", ("metadata", "namespace"))
    return Document(name, "normal", Confidential(text), Confidential(body))


def _text(patch: PatchVersion, file: str, source: str, params: Mapping[str, Any]) -> str | Finding:
    """Returns the rendered text, or the finding that says why there is none."""
    pieces: list[str] = []
    size = 0
    try:
        environment().left = MAX_MADE
        for piece in _compiled(source).generate(params):
            pieces.append(piece)
            size += len(piece)
            if size > MAX_MADE:
                raise TooLarge
        return "".join(pieces)
    except NotPlain as error:
        line = _template_line(error)
        remedy = "print text, numbers, lists or mappings; a method needs its parentheses"
        return _error("PAT005", patch, file, f"cannot be rendered: {error}", line, remedy)
    except OverflowError as error:
        return _error("PAT006", patch, file, f"exceeds a limit: {error}", _template_line(error), "use a smaller number")
    except (TooLarge, MemoryError):
        # If one operation is too large, the template is at fault, however small its input is.
        given = _long(params) if environment().left < 0 or size > MAX_MADE else ""
        most = f"produces more than {MAX_MADE:,} characters" + (given or f", printed or not, or {MAX_TEXT:,} at once")
        return _error("PAT006", patch, file, most, 0, _FEWER if given else "look for a loop that grows")
    except jinja2.TemplateSyntaxError as error:
        return _error(
            "PAT005", patch, file, f"is not a Jinja2 template: {error.message}", error.lineno, "correct the template"
        )
    except jinja2.UndefinedError as error:
        line = _template_line(error)
        known = ", ".join(sorted(params)) or "none"
        return _error(
            "PAT005",
            patch,
            file,
            f"cannot be rendered: {_in_words(error)}",
            line,
            f"correct the name; the parameters in schema.json are {known}",
        )
    except Exception as error:
        # A template is foreign code: any exception is a finding about the template, never a crash of modelyard.
        line = _template_line(error)
        return _error("PAT005", patch, file, f"cannot be rendered: {_in_words(error)}", line, "correct the template")


def _in_words(error: Exception) -> str:
    """An error of Python or Jinja2 in the words of a template's author; unchanged if it is none of the usual ones."""
    said = str(error) or type(error).__name__
    for pattern, words in _WORDS:
        if found := pattern.fullmatch(said):
            return words.format(*(_KINDS.get(part, part) for part in found.groups()))
    return said


def _long(params: Mapping[str, Any]) -> str:
    """Describes the longest parameter, if it is so long that the template may be correct."""
    count, name = max(
        ((len(value), name) for name, value in params.items() if isinstance(value, list)), default=(0, "")
    )
    return f": its parameter {name} has {count:,} items" if count >= _MANY else ""


def _template_line(error: BaseException) -> int:
    trace, line = error.__traceback__, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _error(code: str, patch: PatchVersion, file: str, what: str, line: int, remedy: str) -> Finding:
    return Finding(code, Severity.ERROR, f"patch {patch.id} {what}", file=file, line=line, remedy=remedy)
