"""Writes ``precompiled.py``: the built-in patches in a form that needs no YAML, JSON Schema or Jinja2.

It translates simple templates to Python, and leaves out those that use more of Jinja2. Where Jinja2 would report an
error, the Python raises an exception. In both cases, Jinja2 renders the template.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from pprint import pformat
from typing import Final

from jinja2 import nodes

from modelyard.catalog.library import BASE, TEMPLATE, Meta, built_in_versions, check_schema, read_meta
from modelyard.catalog.sandbox import environment

FILE: Final = Path(__file__).with_name("precompiled.py")
_HEADER = '''"""The built-in patches, by the SHA-256 of their files. Written by ``make golden``; do not edit."""

# ruff: noqa
# fmt: off

from collections.abc import Callable, Mapping
from json import JSONEncoder
from typing import Any, Final

tojson = JSONEncoder(ensure_ascii=False).encode


def items(value: Any) -> Any:
    if type(value) is dict:
        return value.items()
    raise TypeError


'''
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "lteq": "<=", "gt": ">", "gteq": ">=", "in": "in", "notin": "not in"}
_GLOBALS = frozenset(environment().globals)
LoopVariables = Mapping[str, str]
"""The Python variables of the loop variables that an expression may use, by name."""


class Untranslated(Exception):
    """A part of Jinja2 that is not translated."""


def precompiled_text() -> str:
    """Returns the content of ``precompiled.py`` for the built-in patches."""
    metas: list[str] = []
    functions: list[str] = []
    table: list[str] = []
    for patch in built_in_versions().values():
        # Its own meta may come from the file that is about to be replaced.
        meta = read_meta(patch.meta_text.encode(), patch.file, [])
        check_schema(patch)
        if meta is None:
            continue
        given = {key: value for key, value in meta._asdict().items() if value != Meta._field_defaults[key]}
        metas.append(f"    {patch.sha256!r}: {pformat(given, width=140, sort_dicts=False)},\n")
        for file, source in patch.files.items():
            if file not in (TEMPLATE, BASE):
                continue
            name = f"{patch.name}_{patch.version}_{file.partition('.')[0]}".replace("-", "_")
            try:
                body = "".join(f"    {line}\n" for line in _lines(environment().parse(source).body, {}))
            except Untranslated:
                continue
            functions.append(f'def {name}(p: Any) -> str:\n    w: list[str] = []\n{body}    return "".join(w)\n\n\n')
            table.append(f"    ({patch.sha256!r}, {file!r}): {name},\n")
    return (
        f"{_HEADER}{''.join(functions)}METAS: Final[Mapping[str, Mapping[str, Any]]] = {{\n{''.join(metas)}}}\n"
        f"TEMPLATES: Final[Mapping[tuple[str, str], Callable[[Mapping[str, Any]], str]]] = {{\n{''.join(table)}}}\n"
    )


def _lines(body: list[nodes.Node], scope: LoopVariables) -> Iterator[str]:
    """Yields the Python lines of statements."""
    for node in body:
        match node:
            case nodes.Output():
                yield from (f"w.append({_written(part, scope)})" for part in node.nodes)
            case nodes.If():
                yield from _if(node, scope)
            case nodes.For() if not (node.else_ or node.test or node.recursive):
                variables = node.target.items if isinstance(node.target, nodes.Tuple) else [node.target]
                names = [one.name for one in variables if isinstance(one, nodes.Name)]
                if len(names) != len(variables) or "loop" in scope:
                    raise Untranslated
                inner = {**scope, **{name: f"{name}_{len(scope)}" for name in names}}
                yield f"for {', '.join(inner[name] for name in names)} in {_expression(node.iter, scope)}:"
                yield from (f"    {line}" for line in _lines(node.body, inner))
            case _:
                raise Untranslated
    if not body:
        yield "pass"


def _if(node: nodes.If, scope: LoopVariables) -> Iterator[str]:
    for word, branch in (("if", node), *(("elif", branch) for branch in node.elif_)):
        yield f"{word} {_expression(branch.test, scope)}:"
        yield from (f"    {line}" for line in _lines(branch.body, scope))
    if node.else_:
        yield "else:"
        yield from (f"    {line}" for line in _lines(node.else_, scope))


def _written(node: nodes.Expr, scope: LoopVariables) -> str:
    return repr(node.data) if isinstance(node, nodes.TemplateData) else f"str({_expression(node, scope)})"


def _expression(node: nodes.Node, scope: LoopVariables) -> str:
    """Returns the Python expression of an expression."""

    def python(inner: nodes.Node) -> str:
        return _expression(inner, scope)

    match node:
        case nodes.Name() if node.name in scope:
            return scope[node.name]
        case nodes.Name() if node.name != "loop":
            return f"p[{node.name!r}]"
        case nodes.Const():
            return repr(node.value)
        case nodes.Getattr() if not hasattr(dict, node.attr):
            return f"{python(node.node)}[{node.attr!r}]"
        case nodes.Getitem(arg=nodes.Const(value=str() as key)):
            return f"{python(node.node)}[{key!r}]"
        case nodes.Call(node=nodes.Getattr(attr="items") as method, args=[], kwargs=[], dyn_args=None, dyn_kwargs=None):
            return f"items({python(method.node)})"
        case nodes.Filter(node=nodes.Expr() as value, kwargs=[], dyn_args=None, dyn_kwargs=None):
            return _filtered(node, python(value))
        case nodes.Test(name="none", args=[]):
            return f"({python(node.node)} is None)"
        case nodes.Test(name="defined", args=[], node=nodes.Name() as variable) if variable.name not in scope:
            if variable.name in _GLOBALS:
                raise Untranslated
            return f"({variable.name!r} in p)"
        case nodes.Not():
            return f"(not {python(node.node)})"
        case nodes.And() | nodes.Or():
            return f"({python(node.left)} {type(node).__name__.lower()} {python(node.right)})"
        case nodes.Compare():
            rest = (f"{_COMPARED[part.op]} {python(part.expr)}" for part in node.ops)
            return f"({python(node.expr)} {' '.join(rest)})"
        case nodes.CondExpr(expr2=nodes.Expr() as other):
            return f"({python(node.expr1)} if {python(node.test)} else {python(other)})"
        case nodes.List():
            return f"[{', '.join(map(python, node.items))}]"
        case nodes.Tuple():
            return f"({''.join(f'{python(one)}, ' for one in node.items)})"
        case nodes.Concat():
            return f"({' + '.join(f'str({python(part)})' for part in node.nodes)})"
        case _:
            raise Untranslated


def _filtered(node: nodes.Filter, value: str) -> str:
    match node.name, node.args:
        case "tojson", []:
            return f"tojson({value})"
        case "string", []:
            return f"str({value})"
        case "join", [nodes.Const(value=str() as between)]:
            return f"{between!r}.join(map(str, {value}))"
        case "replace", [nodes.Const(value=str() as old), nodes.Const(value=str() as new)]:
            return f"str({value}).replace({old!r}, {new!r})"
        case _:
            raise Untranslated
