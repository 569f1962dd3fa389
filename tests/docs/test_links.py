"""Links lead to existing files and headings."""

import re
from pathlib import Path
from types import ModuleType

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_FENCES = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """Returns the anchors that GitHub gives to the headings of a page."""
    found: dict[str, int] = {}
    names = set()
    for heading in re.findall(r"^#{1,6} (.+)$", _FENCES.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        names.add(f"{name}-{found[name]}" if name in found else name)
        found[name] = found.get(name, 0) + 1
    return names


def test_links_have_a_target(root: Path, commands: ModuleType) -> None:
    broken = []
    for page in commands.every_page(root):
        text = page.read_text(encoding="utf-8")
        for link in _LINK.findall(_FENCES.sub("", text)):
            if link.startswith(("https://", "http://")):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists():
                broken.append(f"{page.relative_to(root)}: {link}: no such file")
            elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
                broken.append(f"{page.relative_to(root)}: {link}: no such heading")
    assert broken == []


def test_every_page_can_be_reached_from_the_readme(root: Path, commands: ModuleType) -> None:
    seen: set[Path] = set()
    waiting = [root / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        links = (link.partition("#")[0] for link in _LINK.findall(page.read_text(encoding="utf-8")))
        found = ((page.parent / link).resolve() for link in links if link and "://" not in link)
        waiting += [one for target in found for one in (target.glob("*.md") if target.is_dir() else (target,))]
    assert set(commands.every_page(root)) <= seen


def test_anchors_are_the_same_as_on_github() -> None:
    text = "# One page\n\n## `plan` and [more](x.md)\n\n## Twice\n\n## Twice\n\n```sh\n# no heading\n```\n"
    assert anchors(text) == {"one-page", "plan-and-more", "twice", "twice-1"}
