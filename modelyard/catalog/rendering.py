"""Renders a template with Jinja2, and says in the words of its author why that fails."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import jinja2

from modelyard.catalog.bounds import FEWER, MAX_MADE, MAX_TEXT, NotPlain, TooLarge, longest
from modelyard.catalog.sandbox import environment

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


class Failed(NamedTuple):
    """Why a template cannot be rendered."""

    code: str
    what: str
    line: int
    """Of the template; 0 if unknown."""
    remedy: str


@cache
def _compiled(source: str) -> jinja2.Template:
    return environment().from_string(source)


def rendered(source: str, params: Mapping[str, Any]) -> str | Failed:
    """Returns the text of a template, or why there is none."""
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
        return Failed("PAT005", f"cannot be rendered: {error}", line, remedy)
    except OverflowError as error:
        return Failed("PAT006", f"exceeds a limit: {error}", _template_line(error), "use a smaller number")
    except (TooLarge, MemoryError):
        # If one operation is too large, the template is at fault, however small its input is.
        given = longest(params) if environment().left < 0 or size > MAX_MADE else ""
        most = f"produces more than {MAX_MADE:,} characters" + (given or f", printed or not, or {MAX_TEXT:,} at once")
        return Failed("PAT006", most, 0, FEWER if given else "look for a loop that grows")
    except jinja2.TemplateSyntaxError as error:
        return Failed("PAT005", f"is not a Jinja2 template: {error.message}", error.lineno, "correct the template")
    except jinja2.UndefinedError as error:
        line = _template_line(error)
        known = ", ".join(sorted(params)) or "none"
        remedy = f"correct the name; the parameters in schema.json are {known}"
        return Failed("PAT005", f"cannot be rendered: {_in_words(error)}", line, remedy)
    except Exception as error:
        # A template is foreign code: any exception is a finding about the template, never a crash of modelyard.
        line = _template_line(error)
        return Failed("PAT005", f"cannot be rendered: {_in_words(error)}", line, "correct the template")


def _in_words(error: Exception) -> str:
    """An error of Python or Jinja2 in the words of a template's author; unchanged if it is none of the usual ones."""
    said = str(error) or type(error).__name__
    for pattern, words in _WORDS:
        if found := pattern.fullmatch(said):
            return words.format(*(_KINDS.get(part, part) for part in found.groups()))
    return said


def _template_line(error: BaseException) -> int:
    trace, line = error.__traceback__, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
