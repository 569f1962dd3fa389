"""Changes of the code by operators of Cosmic Ray: where they can be made, a sample of them, and finding one again.

Run as a program it draws others for the changes of ``mutants.tsv`` whose lines are gone, and keeps the rest:

    PYTHONPATH=build/mutants/tools python benchmarks/mutations.py
"""

import ast
import csv
import random
import warnings
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("modelyard/kube/merge", "modelyard/hardware", "modelyard/plan", "modelyard/plan/undo")
SAMPLE = Path(__file__).with_name("mutants.tsv")
EACH, SEED = 100, 2026
"""How many places of each package are in the sample, and what draws them."""

Span = tuple[tuple[int, int], tuple[int, int]]
"""Line and column of the start and of the end."""


class Mutant(NamedTuple):
    """One change; its lines before and after find it again when lines above it were added or removed."""

    package: str
    module: str
    line: int
    operator: str
    before: str
    after: str


class Change(NamedTuple):
    """What an operator does to a module: the first line, the lines before and after, and the whole module."""

    line: int
    before: str
    after: str
    code: str


def text(name: str) -> str:
    """A file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def read(path: Path) -> list[list[str]]:
    """The rows of a table, none if there is no file yet."""
    rows = path.read_text(encoding="utf-8") if path.exists() else ""
    return [*csv.reader(rows.split("\n")[:-1], delimiter="\t")]


def write(path: Path, rows: Sequence[tuple[object, ...]], mode: str) -> None:
    """Write or append rows."""
    with path.open(mode, encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(rows)


def modules(package: str) -> list[str]:
    """The files of a package by path, without those of a package in it that has its own sample."""
    paths = sorted(path for path in (ROOT / package).rglob("*.py") if path.parent.name != "data")
    inner = [ROOT / other for other in PACKAGES if other.startswith(f"{package}/")]
    return [path.relative_to(ROOT).as_posix() for path in paths if not any(path.is_relative_to(one) for one in inner)]


def bodies(source: str) -> set[int]:
    """The lines in functions; all others run when the module is imported."""
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    return {line for node in functions for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)}


def annotations(source: str) -> list[Span]:
    """Where types stand: a change there is for the type checker to find."""
    nodes = (getattr(node, part, None) for node in ast.walk(ast.parse(source)) for part in ("annotation", "returns"))
    types = (node for node in nodes if isinstance(node, ast.expr))
    return [((e.lineno, e.col_offset), (e.end_lineno or 0, e.end_col_offset or 0)) for e in types]


def places(source: str) -> dict[Span, list[tuple[str, int]]]:
    """The spans of a module that can be changed, each with the operators and which of their occurrences it is."""
    nodes, excluded, found = list(ast_nodes(get_ast(source))), annotations(source), dict[Span, list[tuple[str, int]]]()
    for name in operator_names():
        operator = get_operator(name)
        if not operator.arguments() and not name.endswith("/NoOp"):
            spans = (span for node in nodes for span in operator().mutation_positions(node))
            for occurrence, span in enumerate(spans):
                if not any(start <= span[0] and span[1] <= end for start, end in excluded):
                    found.setdefault(span, []).append((name, occurrence))
    return dict(sorted(found.items()))


def changed(source: str, operator: str, occurrence: int) -> Change | None:
    """What the operator makes of a module; None if it is no valid Python."""
    code = mutate_code(source, get_operator(operator)(), occurrence) or source
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(code, operator, "exec")
    except SyntaxError:
        return None
    old, new = source.splitlines(), code.splitlines()
    start = _equal(old, new)
    end = _equal(old[start:][::-1], new[start:][::-1])
    before, after = (" ".join(" ".join(lines[start : len(lines) - end]).split()) for lines in (old, new))
    return Change(start + 1, before, after, code) if code != source else None


def _equal(old: list[str], new: list[str]) -> int:
    """How many lines are equal at the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def draw(package: str) -> list[Mutant]:
    """The sample of a package: what can be kept of it, then the first valid change at each of random places."""
    chance, drawn = random.Random(f"{SEED} {package}"), kept(package)
    sources = {name: text(name) for name in modules(package)}
    every = [(name, at) for name, source in sources.items() for at in places(source).values()]
    print(f"{package}: {len(every)} places, {sum(len(at) for _, at in every)} changes", flush=True)
    for name, at in chance.sample(every, len(every)):
        for operator, occurrence in chance.sample(at, len(at)):
            if len(drawn) < EACH and (change := changed(sources[name], operator, occurrence)):
                made = Mutant(package, name, change.line, operator, change.before, change.after)
                if made not in drawn:
                    drawn.append(made)
                break
    return sorted(drawn)


def find(mutant: Mutant) -> Change | None:
    """The change in the module as it is now; of equal ones the one nearest to where it was."""
    source = text(mutant.module)
    spans = sorted(places(source).items(), key=lambda item: abs(item[0][0][0] - mutant.line))
    occurrences = (at for _, changes in spans for name, at in changes if name == mutant.operator)
    made = (changed(source, mutant.operator, at) for at in occurrences)
    return next((one for one in made if one and (one.before, one.after) == (mutant.before, mutant.after)), None)


def kept(package: str) -> list[Mutant]:
    """The changes of the sample whose lines are still in a package's code, with their numbers today."""
    sample = [Mutant(name, module, int(line), *texts) for name, module, line, *texts in read(SAMPLE) if name == package]
    found = ((one, find(one)) for one in sample if (ROOT / one.module).is_file())
    return [one._replace(line=change.line) for one, change in found if change]


if __name__ == "__main__":
    write(SAMPLE, [one for package in PACKAGES for one in draw(package)], mode="w")
