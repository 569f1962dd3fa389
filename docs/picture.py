"""Draws the picture of the README: ``python docs/picture.py`` runs the command and writes docs/images/plan.svg.

Text and colours are what the command prints for a terminal. The SVG uses the reader's fonts, because an SVG in a page
may load nothing.
"""

import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

sys.path.insert(0, str(Path(__file__).resolve().parent))

from commands import ROOT, Workplace, blocks, offline_environment

PICTURE = ROOT / "docs" / "images" / "plan.svg"
COMMAND = "modelyard plan prod --target ray-head --target api-server --target tasks-gpu --target ray-model"
STACK = "stacks/Pulumi.prod.yaml"
_WIDTH = 100
_COLOURS = [
    (60, 64, 72),
    (240, 113, 120),
    (152, 195, 121),
    (229, 192, 123),
    (97, 175, 239),
    (198, 120, 221),
    (86, 182, 194),
    (208, 212, 220),
]
_THEME = TerminalTheme((30, 33, 39), (208, 212, 220), _COLOURS, _COLOURS)
_FORM = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>TITLE</title>
<style>
.{unique_id}-matrix {{
    font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
    font-size: {char_height}px;
    line-height: {line_height}px;
    font-variant-ligatures: none;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
<rect fill="BACKGROUND" x="1" y="1" width="{width}" height="{height}" rx="8"/>
<g transform="translate({terminal_x}, 24)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def picture(folder: Path) -> str:
    """The SVG of the command's output, from a run in a copy of the project below ``folder``."""
    place = Workplace(folder / "project", offline_environment(folder))
    # Apply the README's change of the stack file first, so that picture and text match.
    for block in blocks((ROOT / "README.md").read_text(encoding="utf-8"), "README.md"):
        if block.options.get("file") == STACK:
            place.run(block)
            break
    block = next(blocks(f"```console\n$ {COMMAND} --colour always\n```\n", "picture.py"))
    _, _, output = place.run(block).partition("\n")
    with (folder / "unused").open("w", encoding="utf-8") as unused:
        console = Console(width=_WIDTH, record=True, file=unused, color_system="standard", force_terminal=True)
        console.print(Text.from_ansi(f"\x1b[2m$\x1b[0m {COMMAND}\n\n{output}"), highlight=False, soft_wrap=True)
    form = _FORM.replace("TITLE", COMMAND).replace("BACKGROUND", _THEME.background_color.hex)
    drawn = console.export_svg(theme=_THEME, code_format=form, font_aspect_ratio=0.6, unique_id="plan")
    return "\n".join(line.rstrip() for line in drawn.splitlines() if line.strip()) + "\n"


def main() -> None:
    """Draws the picture."""
    with tempfile.TemporaryDirectory() as folder:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(picture(Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
