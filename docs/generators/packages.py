"""The picture of the packages: groups from the import contracts in pyproject.toml, texts from package docstrings.

An SVG that loads nothing and follows the reader's light or dark theme.
"""

import ast
import re
import textwrap
import tomllib
from collections.abc import Iterator
from html import escape
from typing import Any, NamedTuple

from generators.paths import ROOT

_WIDTH, _EDGE, _GAP, _ARROW = 800, 8, 10, 34
_LETTER, _LINE, _PAD, _TITLE = 6.9, 17, 12, 22
_ACROSS = 3
"""Boxes in each row."""
_STYLE = """\
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #3b424c; }
.name { font: 600 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #14181d; }
.box { fill: #f6f8fa; stroke: #d0d7de; }
.title { font-weight: 600; }
.base { fill: none; stroke-dasharray: 4 3; }
.flow { stroke: #57606a; stroke-width: 1.5; fill: none; }
.tip { fill: #57606a; }
.note { font-size: 12px; fill: #57606a; }
@media (prefers-color-scheme: dark) {
  text { fill: #c9d1d9; }
  .name { fill: #f0f3f6; }
  .box { fill: #262c36; stroke: #444c56; }
  .base { fill: none; }
  .flow { stroke: #9ea7b3; }
  .tip, .note { fill: #9ea7b3; }
}"""


class Package(NamedTuple):
    """One box."""

    name: str
    words: str


class Group(NamedTuple):
    """Packages under one title, in the order of the data flow."""

    title: str
    packages: list[Package]


def groups() -> list[Group]:
    """The groups in the order of the data flow; shared values come last."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [contract for contract in settings["contracts"] if contract["type"] == "layers"]
    inner = [contract for contract in layers if contract["name"] != "Groups"]
    values, *flow = reversed(inner)
    return [_group(contract) for contract in (*flow, values)]


def _group(contract: dict[str, Any]) -> Group:
    names = [name for layer in reversed(contract["layers"]) for name in re.split(r"\s*[|:]\s*", layer)]
    return Group(contract["name"], [_package(name) for name in names])


def _package(module: str) -> Package:
    path = ROOT / module.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    words = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return Package(module.removeprefix("modelyard."), " ".join(words.partition("\n\n")[0].replace("``", "").split()))


def packages() -> str:
    """The SVG."""
    drawn: list[str] = []
    top = float(_EDGE)
    shown = groups()
    for index, group in enumerate(shown):
        last = index == len(shown) - 1
        drawn.append(f'<text class="title" x="{_ARROW}" y="{top + 13:g}">{escape(group.title)}</text>')
        top += _TITLE
        for start in range(0, len(group.packages), _ACROSS):
            height, boxes = _row(group.packages[start : start + _ACROSS], top, "box base" if last else "box")
            drawn += boxes
            top += height + _GAP
        top += _GAP
        if index == len(shown) - 2:
            end = top - 2 * _GAP
    described = "Packages of modelyard in the order in which data flows: " + "; ".join(
        f"{group.title}: {', '.join(one.name for one in group.packages)}" for group in shown
    )
    return "\n".join(
        (
            f'<svg viewBox="0 0 {_WIDTH} {top:g}" xmlns="http://www.w3.org/2000/svg" role="img">',
            f"<title>{escape(described)}</title>",
            f"<style>\n{_STYLE}\n</style>",
            f'<path class="flow" d="M16 {_EDGE}V{end - 8:g}"/>',
            f'<path class="tip" d="M11 {end - 9:g}h10l-5 9z"/>',
            *drawn,
            "</svg>\n",
        )
    )


def _row(row: list[Package], top: float, style: str) -> tuple[float, list[str]]:
    """The height and the SVG of a row of boxes."""
    width = (_WIDTH - _EDGE - _ARROW - _GAP * (_ACROSS - 1)) / _ACROSS
    letters = int((width - 2 * _PAD) / _LETTER)
    texts = [textwrap.wrap(one.words, letters) for one in row]
    height = 2 * _PAD + _LINE * (1 + max(map(len, texts))) - 4
    boxes = []
    for index, (one, lines) in enumerate(zip(row, texts, strict=True)):
        x = _ARROW + index * (width + _GAP)
        boxes.append(f'<rect class="{style}" x="{x:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="6"/>')
        boxes += _words(one.name, lines, x + _PAD, top + _PAD + 11)
    return height, boxes


def _words(name: str, lines: list[str], x: float, y: float) -> Iterator[str]:
    yield f'<text class="name" x="{x:g}" y="{y:g}">{escape(name)}</text>'
    for number, line in enumerate(lines, 1):
        yield f'<text x="{x:g}" y="{y + number * _LINE:g}">{escape(line)}</text>'
