"""The sandbox of templates: no access to Python internals, nothing random, and a limit on what they create.

A patch must render equally in every run. So only plain data becomes text: the text of a method or a generator contains
a memory address. Everything that a template creates counts, whether it is printed or kept in a variable: texts, lists,
and what macros and ``{% set %}`` blocks collect.
"""

import json
from collections.abc import Callable, Iterable
from functools import cache, wraps
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.filters import make_attrgetter
from jinja2.sandbox import ImmutableSandboxedEnvironment

from modelyard.catalog.bounds import MAKERS, MAX_MADE, MAX_TEXT, TooLarge, room, size_of, weight

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


class Environment(ImmutableSandboxedEnvironment):
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
            raise jinja2.exceptions.SecurityError("a format may not reach into its values")

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
def environment() -> Environment:
    """Returns the one environment of this process."""
    return Environment()


@jinja2.pass_environment
def _join(env: Environment, value: Any, d: Any = "", attribute: str | int | None = None) -> str:
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
