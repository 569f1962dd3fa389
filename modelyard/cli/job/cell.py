"""The cell magic ``%%modelyard``: a notebook's cell that runs on a GPU."""

import ast
import functools
import shlex
import symtable
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, Final, NamedTuple

from modelyard.cli.job.function import Options, called
from modelyard.stack.words import did_you_mean

FILE: Final = "<cell>"
"""The cell's name in tracebacks."""
VALUE: Final = " value"
"""What a cell's last expression is kept as; no variable can have this name."""


class Cell(NamedTuple):
    """A cell as Python, ready to run."""

    source: str
    code: CodeType
    reads: frozenset[str]
    """Global names that it reads."""
    assigns: frozenset[str]
    """Global names that it assigns."""


def load(shell: Any) -> None:
    """Registers the magic, for ``%load_ext modelyard``."""
    magic = functools.partial(run, shell)
    shell.register_magic_function(magic, magic_kind="cell", magic_name="modelyard")


def run(shell: Any, line: str, text: str) -> Any:
    """Runs a cell on a GPU, brings the names that it assigns back, and returns the value of its last expression.

    Args:
        shell: IPython's shell, which has the notebook's names.
        line: what follows ``%%modelyard``.
        text: the lines after it.
    """
    from IPython.core.error import UsageError

    __tracebackhide__ = True
    try:
        options = _options(line)
    except ValueError as error:
        raise UsageError(str(error)) from None
    cell = read_cell(text)
    names, hidden = shell.user_ns, shell.user_ns_hidden
    # IPython's own names, such as get_ipython, mean nothing elsewhere.
    carried = {name: names[name] for name in cell.reads & names.keys() if names[name] is not hidden.get(name, names)}
    found, lost = called(
        _remote(cell), (), carried, name="cell", options=options, sources={FILE: cell.source}, warned=set()
    )
    value = found.pop(VALUE, None)
    names.update(found)
    for name, why in lost.items():
        sys.stderr.write(f"{'the last value' if name == VALUE else name} did not come back: {why}\n")
    return value


def _remote(cell: Cell) -> Callable[..., tuple[dict[str, Any], dict[str, str]]]:
    """The function that runs a cell: the names that it has assigned, and why others cannot be pickled.

    It is pickled with its code, so it imports nothing of modelyard.
    """
    code, wanted = cell.code, sorted(cell.assigns)

    def execute(**names: Any) -> tuple[dict[str, Any], dict[str, str]]:
        import cloudpickle

        names["__name__"] = "__main__"
        exec(code, names)
        found = {name: names[name] for name in wanted if name in names}
        lost = {}
        for name, value in tuple(found.items()):
            try:
                cloudpickle.dumps(value)
            except Exception as error:
                lost[name] = f"{type(error).__name__}: {error}"
                del found[name]
        return found, lost

    return execute


def _options(line: str) -> Options:
    """The options of a magic's line, such as ``gpu=A10 team=vision``.

    Raises:
        ValueError: a word is not an option.
    """
    given = {}
    for word in shlex.split(line):
        name, equals, value = word.partition("=")
        if name not in Options._fields or not equals:
            near = did_you_mean(name, Options._fields) or f"the options are {', '.join(Options._fields)}"
            raise ValueError(f"{word!r} is not an option such as gpu=A10; {near}")
        given[name] = value
    return Options(**given)


def read_cell(text: str) -> Cell:
    """A cell as Python.

    Args:
        text: the cell without the line of the magic.

    Raises:
        SyntaxError: it is not Python; other magics and commands of the shell (``!ls``) are not either.
    """
    # With the line of the magic, lines have the numbers that the notebook shows.
    source = f"\n{text}"
    tree = ast.parse(source, FILE)
    names = list(_globals(symtable.symtable(source, FILE, "exec"), top=True))
    assigns = {name for name, _, assigned in names if assigned}
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr) and not text.rstrip().endswith(";"):
        kept = ast.Assign([ast.Name(VALUE, ast.Store())], last.value)
        tree.body[-1] = ast.fix_missing_locations(ast.copy_location(kept, last))
        assigns.add(VALUE)
    reads = frozenset(name for name, read, _ in names if read)
    return Cell(source, compile(tree, FILE, "exec"), reads, frozenset(assigns))


def _globals(table: symtable.SymbolTable, *, top: bool) -> Iterator[tuple[str, bool, bool]]:
    """The global names of a scope and of those in it: whether they are read, and whether they are assigned."""
    for symbol in table.get_symbols():
        if top or symbol.is_global():
            yield symbol.get_name(), symbol.is_referenced(), symbol.is_assigned() or symbol.is_imported()
    for child in table.get_children():
        yield from _globals(child, top=False)
