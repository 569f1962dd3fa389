"""Checks a built site: ``python docs/sitecheck.py build/site`` prints the findings.

Links must lead to a file and an anchor, pages must load nothing from other hosts, and Markdown must leave no HTML
that it mistook for a tag. Requests no address outside the site: checks only the form of those.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_EXTERNAL = re.compile(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(/[^\s]*)?", re.IGNORECASE)
_LOADED = re.compile(r"""url\(\s*["']?(?!data:)([^)"']+)|@import\s+["']([^"']+)""")
_LOADING = {"script", "img", "iframe", "source", "video", "audio", "embed", "object", "use", "image"}
_LOADING_LINKS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload"}
_TAGS = """
a abbr article aside b blockquote body br button circle clippath code col colgroup dd defs del details dialog div dl
dt em fieldset figcaption figure footer form g h1 h2 h3 h4 h5 h6 head header hr html i iframe img input kbd label
legend li line link main mark meta nav noscript ol optgroup option output p path pattern picture polygon polyline
pre progress q rect s samp script section select small source span strong style sub summary sup svg table tbody td
template text textarea tfoot th thead time title tr tspan u ul use var video wbr
"""
_KNOWN_TAGS = frozenset(_TAGS.split())


class Link(NamedTuple):
    """A link of a page, or something that it loads."""

    address: str
    loads: bool
    line: int


class _Reader(HTMLParser):
    """Collects the links, anchors and texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[Link] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        line = self.getpos()[0]
        self.anchors.update(filter(None, (values.get("id"), values.get("name") if tag == "a" else None)))
        if tag not in _KNOWN_TAGS:
            self.wrong.append(f"<{tag}> is no element of HTML; write it as code")
        if tag == "img" and "alt" not in values:
            self.wrong.append(f"the picture {values.get('src', '')} has no description")
        loads = tag in _LOADING or (tag == "link" and bool(_LOADING_LINKS.intersection(values.get("rel", "").split())))
        for name in ("href", "src", "data", "poster", "xlink:href"):
            if name in values:
                self.links.append(Link(values[name], loads, line))


def problems(site: Path) -> Iterator[str]:
    """The findings of the site in a folder, one line each, sorted by page."""
    read: dict[Path, _Reader] = {}
    for path in sorted(site.rglob("*.html")):
        read[path] = _Reader()
        read[path].feed(path.read_text(encoding="utf-8"))
    for path, reader in read.items():
        shown = path.relative_to(site).as_posix()
        for wrong in dict.fromkeys(reader.wrong):
            yield f"{shown}: {wrong}"
        for link in dict.fromkeys(reader.links):
            wrong = _wrong(link, path, site, read)
            if wrong:
                yield f"{shown}:{link.line}: {link.address}: {wrong}"
    for path in sorted(site.rglob("*.css")):
        for found in _LOADED.finditer(path.read_text(encoding="utf-8")):
            address = found[1] or found[2]
            if urlsplit(address).netloc or not (path.parent / address.partition("#")[0]).exists():
                yield f"{path.relative_to(site).as_posix()}: loads {address}"


def _wrong(link: Link, page: Path, site: Path, read: dict[Path, _Reader]) -> str:
    """The finding about a link; empty if it is fine."""
    parts = urlsplit(link.address)
    if parts.scheme in ("data", "mailto", "javascript") and not link.loads:
        return ""
    if parts.scheme == "data":
        return ""
    if parts.scheme or parts.netloc:
        if link.loads:
            return "is loaded from another host"
        return "" if _EXTERNAL.fullmatch(link.address) else "is no https address"
    base = site if parts.path.startswith("/") else page.parent
    target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return "no such file"
    if parts.fragment and not parts.fragment.startswith("__") and target.suffix == ".html":
        known = read[target].anchors if target in read else set()
        return "" if unquote(parts.fragment) in known else "no such anchor"
    return ""


def main(folder: str) -> int:
    """Prints the findings; returns 1 if there are any."""
    found = list(problems(Path(folder).resolve()))
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
