"""The variables of a notebook's cells, by Python's own parser: which of them a value of a parameter would reach.

A cell may say things that only its kernel understands. What cannot be told is no mistake: then a name counts as known.
"""

import ast
import builtins
import re
import warnings
from collections.abc import Iterable, Iterator
from symtable import SymbolTable, symtable
from typing import Final, NamedTuple

LONGEST: Final = 1_000_000
"""Characters of a cell that is parsed."""
_LINE: Final = re.compile(r"^[ \t]*[%!?].*$|^[ \t]*[\w.]+\?{1,2}[ \t]*$", re.MULTILINE)
"""A line of IPython's own: a magic, a command of the shell, a question for help."""
_ASSIGNED: Final = re.compile(r"^([ \t]*[\w, \t]+=[ \t]*)([%!].*)$", re.MULTILINE)
"""A line that keeps what a magic or a command answers."""
_SETS_NOTHING: Final = re.compile(
    r"[ \t]*(?:!|\?|[\w.]+\?|%(?:autoreload|cd|conda|config|env|load_ext|ls|matplotlib|pip|pwd|reload_ext|set_env)\b)"
)
"""IPython's lines after which there are no other variables than before (IPython documentation, built-in magics)."""
_FILLED_IN: Final = re.compile(r"\{[^{}]*\}|[$@]\w+")
"""Where a line of IPython's own, or text such as a query of pandas, names variables."""
_OWN: Final = ("exec", "eval", "globals", "locals", "vars", "setattr", "get_ipython")
"""What may set variables whose names stand nowhere."""
_Place = tuple[int, int]
"""Line and column."""


class Names(NamedTuple):
    """Of some code."""

    set: frozenset[str]
    """Imports and functions included."""
    variables: tuple[str, ...]
    """Those that have a value assigned, in the order in which they stand there."""
    asked: frozenset[str]
    """Those that it reads and has not set before; functions read where they stand."""


def unreached(name: str, cell: str, behind: Iterable[str]) -> tuple[str, ...] | None:
    """The variables of the cell tagged ``parameters``, where a value for ``name`` would reach none; None where it does.

    papermill sets it behind that cell. So it is for a variable of the cell, or for one that the cells behind read
    before they set it.

    Args:
        name: of the parameter.
        cell: source of the cell.
        behind: sources of the code cells behind it.
    """
    known = names_in(cell)
    if known is None or name in known.set or _is_asked(name, behind):
        return None
    return tuple(one for one in known.variables if not one.startswith("_"))


def _is_asked(name: str, sources: Iterable[str]) -> bool:
    cells = [(source, names_in(source)) for source in sources]
    if any(found is None for _, found in cells):
        # What cannot be told may do anything with whatever is named.
        return any(re.search(rf"\b{re.escape(name)}\b", source) for source, _ in cells)
    for _, found in cells:
        if found is not None and (name in found.asked or name in found.set):
            return name in found.asked and not hasattr(builtins, name)
    return False


def names_in(source: str) -> Names | None:
    """The notebook's variables that code sets and reads; None where nobody can tell them."""
    if len(source) > LONGEST or source.lstrip().startswith("%%"):
        return None
    lines = [line[0] for line in _LINE.finditer(source)]
    if any(_SETS_NOTHING.match(line) is None for line in lines):
        return None
    lines += [line[2] for line in _ASSIGNED.finditer(source)]
    plain = _LINE.sub(lambda line: re.sub(r"\S.*", "pass", line[0]), _ASSIGNED.sub(r"\1None", source))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = list(ast.walk(ast.parse(plain)))
            bound, read = _scopes(symtable(plain, "a cell", "exec"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if any(isinstance(node, ast.alias) and node.name == "*" for node in nodes) or not read.isdisjoint(_OWN):
        return None
    lines += [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    filled_in = {word for line in lines for part in _FILLED_IN.findall(line) for word in re.findall(r"\w+", part)}
    assigned, loaded = _places(nodes)
    asked = read - bound | {one for one in bound & assigned.keys() & loaded.keys() if loaded[one] < assigned[one]}
    return Names(bound, tuple(one for one in assigned if one in bound), frozenset(asked | filled_in))


def _scopes(top: SymbolTable) -> tuple[frozenset[str], frozenset[str]]:
    """The names that code binds for the whole notebook, and those of the notebook that it reads, in any function."""
    bound = {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}
    read = set()
    for table in _tables(top):
        for one in table.get_symbols():
            if one.is_declared_global() and one.is_assigned():
                bound.add(one.get_name())
            if one.is_global() and one.is_referenced():
                read.add(one.get_name())
    return frozenset(bound), frozenset(read)


def _tables(table: SymbolTable) -> Iterator[SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _places(nodes: Iterable[ast.AST]) -> tuple[dict[str, _Place], dict[str, _Place]]:
    """Where names first have a value, in the order in which they stand, and where they are first read.

    An assignment gives the value at its end: what it computes the value from is read before.
    """
    ends: dict[ast.AST, _Place] = {}
    stores: list[tuple[_Place, str, _Place]] = []
    loads: list[tuple[_Place, str]] = []
    # From the outside in, so that an assignment stands before its names.
    for node in nodes:
        match node:
            case ast.Assign(targets=targets):
                names = (name for target in targets for name in ast.walk(target))
                ends.update(dict.fromkeys(names, (node.end_lineno or 0, node.end_col_offset or 0)))
            case ast.AugAssign(target=ast.Name(id=name)):
                loads.append(((node.lineno, node.col_offset), name))
                ends[node.target] = (node.end_lineno or 0, node.end_col_offset or 0)
            case ast.Name(id=name, ctx=ast.Load()):
                loads.append(((node.lineno, node.col_offset), name))
            case ast.Name(id=name):
                place = (node.lineno, node.col_offset)
                stores.append((place, name, ends.get(node, place)))
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                place = (node.lineno, node.col_offset)
                stores.append((place, name, place))
    assigned: dict[str, _Place] = {}
    for _, name, value_from in sorted(stores):
        assigned.setdefault(name, value_from)
    loaded: dict[str, _Place] = {}
    for place, name in sorted(loads):
        loaded.setdefault(name, place)
    return assigned, loaded
