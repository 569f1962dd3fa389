"""Renders a template with Jinja2 in a sandbox, and says in the words of its author why that fails.

A template has no access to Python internals, nothing random, and a limit on what it creates. A patch must render
equally in every run. So only plain data becomes text: the text of a method or a generator contains a memory address.
Everything that a template creates counts, whether it is printed or kept in a variable: texts, lists, and what macros
and ``{% set %}`` blocks collect.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from typing import Any, NamedTuple

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.filters import make_attrgetter
from jinja2.sandbox import ImmutableSandboxedEnvironment

from modelyard.catalog.bounds import (
    FEWER,
    MAKERS,
    MAX_MADE,
    MAX_TEXT,
    NotPlain,
    TooLarge,
    longest,
    room,
    size_of,
    weight,
)

_RANDOM = ("random", "lipsum")
_TAKE_ANYTHING = frozenset(
    {
        *("attr", "batch", "count", "d", "default", "dictsort", "first", "groupby", "items", "last", "length", "list"),
        *("map", "max", "min", "reject", "rejectattr", "reverse", "select", "selectattr", "slice", "sort", "sum"),
        "unique",
    }
)
"""Filters that pass on or order their input; all others turn it into text."""
_BYTES = ("encode", "to_bytes")
_MOST_DIGITS = 64
_MOST_BITS = 4096
_FEW = 1_000_000
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


class _Generator(CodeGenerator):
    """Jinja's code generator that also counts results created without a filter, a call or an operator."""

    _counted = False

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 - the name is Jinja's
        join = "markup_join" if frame.eval_ctx.autoescape else "str_join"
        if frame.eval_ctx.volatile:
            join = "(markup_join if context.eval_ctx.autoescape else str_join)"
        self.write(f"{join}(environment.weighed((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write(")))")

    def visit_List(self, node: nodes.List, frame: Frame) -> None:  # noqa: N802 - the name is Jinja's
        self._made(lambda: super(_Generator, self).visit_List(node, frame))

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:  # noqa: N802 - the name is Jinja's
        if node.ctx == "load":
            self._made(lambda: super(_Generator, self).visit_Tuple(node, frame))
        else:
            super().visit_Tuple(node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:  # noqa: N802 - the name is Jinja's
        self._made(lambda: super(_Generator, self).visit_Dict(node, frame))

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802 - the name is Jinja's
        if isinstance(node.arg, nodes.Slice):
            self._made(lambda: super(_Generator, self).visit_Getitem(node, frame))
        else:
            super().visit_Getitem(node, frame)

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:  # noqa: N802 - the name is Jinja's
        # The template's own text, outside of loops and macros, is at most as large as its file.
        outer, self._counted = self._counted, not (frame.toplevel and frame.buffer is None)
        super().visit_Output(node, frame)
        self._counted = outer

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo) -> str:
        # Constants that are folded at compile time are not counted.
        if not isinstance(node, nodes.TemplateData):
            raise nodes.Impossible
        return super()._output_child_to_const(node, frame, finalize)

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        text = super()._output_const_repr(group)
        return f"environment.printed({text})" if self._counted else text

    def _made(self, write: Callable[[], None]) -> None:
        self.write("environment.made(")
        write()
        self.write(")")


class SandboxEnvironment(ImmutableSandboxedEnvironment):
    """No access to Python internals, no undefined variables, no huge numbers or texts, nothing random."""

    code_generator_class = _Generator
    intercepted_binops = frozenset({"+", "*", "**", "%"})
    left = MAX_MADE
    """What the current rendering may still create."""

    def __init__(self) -> None:
        super().__init__(
            undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False, optimized=False
        )
        self.finalize = self.printed
        for name in _RANDOM:
            self.filters.pop(name, None)
            self.globals.pop(name, None)
        # Jinja's own tojson escapes for HTML; YAML reads plain JSON.
        self.filters["tojson"] = json.JSONEncoder(ensure_ascii=False).encode
        self.filters["join"] = _join
        for name, make in self.filters.items():
            self.filters[name] = self._counted(make, name)

    def spend(self, size: int) -> None:
        """Counts what is about to be created."""
        self.left -= size
        if self.left < 0:
            raise TooLarge

    def printed(self, value: Any) -> Any:
        """Counts a value that becomes output text."""
        kind = type(value)
        if kind is str:
            self.left -= len(value)
            if self.left < 0:
                raise TooLarge
        elif kind is not int or not -_FEW < value < _FEW:
            self.spend(weight(value))
        return value

    def weighed(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """Counts what ``~`` joins."""
        self.spend(weight(parts))
        return parts

    def made(self, value: Any) -> Any:
        """Counts a new value."""
        self.spend(room(value))
        return value

    def call_binop(self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any) -> Any:
        """Returns the value of ``left operator right``, unless it would be too large."""
        if operator == "**" and not (abs(left) < 1_000 and abs(right) < 64):
            raise TooLarge
        if operator == "%" and isinstance(left, str):
            self._bounded("format", left, (right,))
        if operator == "+" and not isinstance(left, int | float) and room(left) + room(right) > MAX_TEXT:
            raise TooLarge
        if operator == "*":
            for text, times in ((left, right), (right, left)):
                if isinstance(text, str | list | tuple) and isinstance(times, int) and len(text) * times > MAX_TEXT:
                    raise TooLarge
            numbers = isinstance(left, int) and isinstance(right, int)
            if numbers and left.bit_length() + right.bit_length() > _MOST_BITS:
                raise TooLarge
        return self.made(super().call_binop(context, operator, left, right))

    def call(self, context: jinja2.runtime.Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls a text method, or any other callable of a template."""
        method = getattr(obj, "__wrapped__", obj)  # the sandbox wraps str.format
        owner, name = getattr(method, "__self__", None), getattr(method, "__name__", "")
        if isinstance(owner, str):
            if name == "join":
                args = tuple(map(_listed, args))
            self._bounded(name, owner, (*args, *kwargs.values()))
        return self.made(super().call(context, obj, *args, **kwargs))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may use the attribute; not if it creates bytes, because their size is not counted."""
        return attr not in _BYTES and super().is_safe_attribute(obj, attr, value)

    def _bounded(self, name: str, value: Any, args: tuple[Any, ...]) -> None:
        weight(args)
        if size_of(name, value, args) > MAX_TEXT:
            raise TooLarge
        if name in ("format", "format_map") and _reaches_inside(value):
            raise jinja2.exceptions.SecurityError("a format cannot use attributes of its values")

    def _counted(self, make: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Wraps a filter, to reject results that are too large, or text of a value that is not data."""
        first = 1 if hasattr(make, "jinja_pass_arg") else 0
        simple = name not in _TAKE_ANYTHING and name not in MAKERS and not first

        @wraps(make)  # keeps Jinja's mark to pass an environment or a context first
        def counted(*args: Any, **kwargs: Any) -> Any:
            if simple and len(args) == 1 and not kwargs:
                self.left -= weight(args[0])
                return self.made(make(args[0]))
            given = (*args[first + 1 :], *kwargs.values())
            value = args[first] if len(args) > first else None
            if name in _TAKE_ANYTHING:
                if size_of(name, value, given) > MAX_TEXT:
                    raise TooLarge
                if name == "sum" and any(isinstance(one, list | tuple) for one in given):
                    raise TypeError("the filter sum adds only numbers")
            elif name != "join":
                self.spend(weight(value))
                self._bounded(name, value, given)
                if name == "round" and any(isinstance(one, int) and abs(one) > _MOST_DIGITS for one in given):
                    raise TooLarge
            return self.made(make(*args, **kwargs))

        return counted


@cache
def environment() -> SandboxEnvironment:
    """Returns the one environment of this process."""
    return SandboxEnvironment()


@jinja2.pass_environment
def _join(env: SandboxEnvironment, value: Any, d: Any = "", attribute: str | int | None = None) -> str:
    """Replaces Jinja's join; it counts the items themselves, not the objects that they are attributes of."""
    items = _listed(value if attribute is None else map(make_attrgetter(env, attribute), value))
    if size_of("join", items, (str(d),)) > MAX_TEXT:
        raise TooLarge
    weight(d)
    return str(d).join(map(str, items))


def _listed(value: Any) -> Any:
    return value if isinstance(value, str | list | tuple) else list(value)


def _reaches_inside(text: Any) -> bool:
    """Whether a format contains ``{0.upper}`` or similar, which would print a method."""
    return isinstance(text, str) and any(
        "." in field.partition(":")[0].partition("}")[0] for field in text.split("{")[1:]
    )


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
        return Failed("PAT006", most, 0, FEWER if given else "look for a loop that creates too much")
    except jinja2.UndefinedError as error:
        line = _template_line(error)
        known = f"the parameters with a value are {', '.join(sorted(params))}"
        remedy = f"correct the name, or give it a value; {known if params else 'no parameter has a value'}"
        return Failed("PAT005", f"cannot be rendered: {_in_words(error)}", line, remedy)
    except Exception as error:
        return _failed(error)


def syntax_error(source: str) -> Failed | None:
    """Returns why a text is not a template; None if it is one, whatever it renders to."""
    try:
        _compiled(source)
    except Exception as error:
        return _failed(error)
    return None


def _failed(error: Exception) -> Failed:
    """A template is foreign code: any exception is a finding about the template, never a crash of modelyard."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        message = error.message or ""
        what = f"is not a Jinja2 template: {message[:1].lower()}{message[1:]}"
        return Failed("PAT005", what, error.lineno, "correct the template")
    return Failed("PAT005", f"cannot be rendered: {_in_words(error)}", _template_line(error), "correct the template")


def _in_words(error: Exception) -> str:
    """An error of Python or Jinja2 in the words of a template's author; unchanged if it is none of the usual ones."""
    message = str(error) or type(error).__name__
    for pattern, words in _WORDS:
        if found := pattern.fullmatch(message):
            return words.format(*(_KINDS.get(part, part) for part in found.groups()))
    return message


def _template_line(error: BaseException) -> int:
    trace, line = error.__traceback__, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
