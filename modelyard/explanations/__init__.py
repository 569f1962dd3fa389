"""The explanation of every finding code, one Markdown file a family: why, an example, the fix.

Owns the texts that ``modelyard explain`` prints and that the documentation is built from. It does not find anything.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

_FAMILY = re.compile(r"# ([A-Z]{3}): (.+)")
_HEADING = re.compile(r"^## ([A-Z]{3}\d{3}) (.+)$", re.MULTILINE)


class Explanation(NamedTuple):
    """One code's text."""

    code: str
    title: str
    body: str
    """Markdown below the heading."""


@cache
def families() -> Mapping[str, str]:
    """What the codes of each family are about, by their first three letters, sorted."""
    heads = (page.read_text(encoding="utf-8").partition("\n")[0] for page in _pages())
    return dict(sorted((found[1], found[2]) for found in map(_FAMILY.fullmatch, heads) if found is not None))


def _pages() -> Iterator[Traversable]:
    return (page for page in files(__name__).iterdir() if page.name.endswith(".md"))


@cache
def explanations() -> Mapping[str, Explanation]:
    """All explanations by code, sorted."""
    found: dict[str, Explanation] = {}
    for page in _pages():
        text = page.read_text(encoding="utf-8")
        headings = list(_HEADING.finditer(text))
        for heading, following in zip(headings, [*headings[1:], None], strict=True):
            body = text[heading.end() : following.start() if following else len(text)].strip()
            found[heading[1]] = Explanation(heading[1], heading[2].strip(), body)
    return dict(sorted(found.items()))
