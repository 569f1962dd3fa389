"""Code blocks of the pages, and the meaning of their first line; ``commands`` has the rules and runs them."""

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "lab/README.md", "modelyard/hardware/data/README.md")
"""Pages outside docs/."""
GENERATED = ("reference", "rules")
"""Folders of docs/ with pages that docs/generate.py makes."""
LANGUAGES = frozenset({"sh", "console", "yaml", "json", "jinja", "python", "diff", "text"})
FLAGS = frozenset({"lab", "ci", "start"})
OPTIONS = frozenset({"exit", "file"})
_FENCE = re.compile(
    r"^(?P<indent> *)(?P<mark>```+|~~~+)(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)(?P=mark)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_MAKE = re.compile(r"^make ([a-z-]+)[ \t]*(?:#.*)?$", re.MULTILINE)


class Block(NamedTuple):
    """One code block of a page."""

    page: str
    line: int
    """Line of the opening fence, 1-based."""
    language: str
    flags: frozenset[str]
    options: Mapping[str, str]
    body: str
    """The content, without the block's indentation on the page."""
    indent: str
    span: tuple[int, int]
    """Position of the body in the page's text."""

    @property
    def place(self) -> str:
        """``page:line``."""
        return f"{self.page}:{self.line}"

    @property
    def is_command(self) -> bool:
        """Whether the block shows commands."""
        return self.language in ("sh", "console") or "ci" in self.flags

    @property
    def make_targets(self) -> tuple[str, ...]:
        """The make targets that a script calls on separate lines."""
        return tuple(_MAKE.findall(self.body)) if self.language == "sh" else ()


class Wrong(Exception):
    """A block does not do what the page says."""


def every_page(root: Path = ROOT) -> tuple[Path, ...]:
    """All pages."""
    return (*(root / name for name in OUTSIDE), *sorted((root / "docs").rglob("*.md")))


def pages(root: Path = ROOT) -> tuple[Path, ...]:
    """The pages that people write; generated pages show no commands."""
    generated = [root / "docs" / name for name in GENERATED]
    return tuple(page for page in every_page(root) if not any(folder in page.parents for folder in generated))


def blocks(text: str, page: str) -> Iterator[Block]:
    """The code blocks of a page.

    Raises:
        Wrong: a block has a kind without a check.
    """
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        language, *words = found["info"].split() or [""]
        options = dict(word.split("=", 1) for word in words if "=" in word)
        flags = frozenset(word for word in words if "=" not in word)
        if language not in LANGUAGES or flags - FLAGS or options.keys() - OPTIONS:
            raise Wrong(f"{page}:{line}: unknown kind of code block: {found['info'].strip() or '(none)'}")
        body = textwrap.dedent(found["body"]) if found["indent"] else found["body"]
        yield Block(page, line, language, flags, options, body, found["indent"], found.span("body"))


def needs_lab(page: Path) -> bool:
    """Whether a page shows commands that need the lab."""
    return any("lab" in block.flags for block in blocks(page.read_text(encoding="utf-8"), page.name))


def needs_git(text: str) -> bool:
    """Whether a page shows commands that read commits."""
    return (
        re.search(r"^ *(?:\$ )?(?:git |modelyard (?:preview|.*--(?:base|repo-url) ))", text, re.MULTILINE) is not None
    )


def pipeline_commands(text: str) -> tuple[str, ...]:
    """The commands of a CI pipeline, without set-up commands that use make."""
    import yaml

    return tuple(command for command in _commands(yaml.safe_load(text)) if not command.startswith("make "))


def _commands(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _commands(item, str(name))
    elif isinstance(value, list):
        for item in value:
            yield from _commands(item, key)
    elif key in ("run", "script", "before_script"):
        yield str(value)
