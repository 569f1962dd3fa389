"""The picture of the packages: rows from the import contract in pyproject.toml, words from each package's docstring.

An SVG that loads nothing and follows the reader's light or dark theme.
"""

import ast
import textwrap
import tomllib
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from generators.paths import ROOT

_WIDTH, _EDGE, _GAP, _ARROW = 760, 8, 12, 34
_LETTER, _LINE, _PAD = 7.2, 17, 14
_STYLE = """\
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #3b424c; }
.name { font: 600 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #14181d; }
.box { fill: #f6f8fa; stroke: #d0d7de; }
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


def rows() -> list[list[Package]]:
    """The packages in the order in which data flows; those of a row do not know each other."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(contract["layers"] for contract in settings["contracts"] if contract["type"] == "layers")
    return [[_package(name.strip()) for name in layer.split("|")] for layer in reversed(layers)]


def _package(module: str) -> Package:
    path = ROOT / module.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    words = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return Package(module.rpartition(".")[2], " ".join(words.partition("\n\n")[0].replace("``", "").split()))


def packages() -> str:
    """The SVG."""
    drawn: list[str] = []
    lowest, values, *flow = rows()
    base = [*values, *lowest]
    top = float(_EDGE)
    first = top
    for row in flow:
        height, boxes = _row(row, top, _ARROW, "box")
        drawn += boxes
        top += height + _GAP
    last = top - _GAP
    height, boxes = _row(base, top + _GAP, _EDGE, "box base")
    drawn += boxes
    total = top + _GAP + height + _EDGE
    described = "Packages of modelyard in the order in which data flows: " + ", then ".join(
        " and ".join(one.name for one in row) for row in flow
    )
    return "\n".join(
        (
            f'<svg viewBox="0 0 {_WIDTH} {total:g}" xmlns="http://www.w3.org/2000/svg" role="img">',
            f"<title>{escape(described)}</title>",
            f"<style>\n{_STYLE}\n</style>",
            f'<path class="flow" d="M16 {first:g}V{last - 8:g}"/>',
            f'<path class="tip" d="M11 {last - 9:g}h10l-5 9z"/>',
            *drawn,
            "</svg>\n",
        )
    )


def _row(row: list[Package], top: float, left: float, style: str) -> tuple[float, list[str]]:
    """The height of a row of boxes, and the boxes."""
    width = (_WIDTH - _EDGE - left - _GAP * (len(row) - 1)) / len(row)
    letters = int((width - 2 * _PAD) / _LETTER)
    texts = [textwrap.wrap(one.words, letters) for one in row]
    height = 2 * _PAD + _LINE * (1 + max(map(len, texts))) - 4
    boxes = []
    for index, (one, lines) in enumerate(zip(row, texts, strict=True)):
        x = left + index * (width + _GAP)
        boxes.append(f'<rect class="{style}" x="{x:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="6"/>')
        boxes += _words(one.name, lines, x + _PAD, top + _PAD + 11)
    return height, boxes


def _words(name: str, lines: list[str], x: float, y: float) -> Iterator[str]:
    yield f'<text class="name" x="{x:g}" y="{y:g}">{escape(name)}</text>'
    for number, line in enumerate(lines, 1):
        yield f'<text x="{x:g}" y="{y + number * _LINE:g}">{escape(line)}</text>'
