"""What the site needs beyond MkDocs: pages outside docs/, folders in the navigation, checks after a build."""

import logging
import posixpath
import re
import sys
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).resolve().parent))

from codeblocks import OUTSIDE, ROOT
from sitecheck import problems

_log = logging.getLogger("mkdocs.hooks.modelyard")
_ELSEWHERE = {name.replace("/README.md", ".md"): name for name in OUTSIDE if name != "README.md"}
"""Pages outside docs/: path on the site, and path in the repository. The README is the landing page."""
_CODE = {".json": "json", ".j2": "jinja", ".py": "python", ".sh": "sh", ".yaml": "yaml", ".yml": "yaml"}
"""Languages of linked files that the site shows as pages."""
_FENCE = re.compile(r"^(?P<mark> *(?:```+|~~~+)\w+)(?P<words> .*)$", re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?(?=\))")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replaces folders in the navigation with their pages."""
    named = {entry for entry in _entries(config.nav) if not entry.endswith("/")}
    config.nav = _filled(config.nav or [], named)
    return config


def _entries(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for item in nav if isinstance(nav, list) else nav.values() if isinstance(nav, dict) else ():
        yield from _entries(item)


def _filled(nav: list[Any], named: set[str]) -> list[Any]:
    """The navigation with lists of pages instead of folders; drops folders that have no page left."""
    filled: list[Any] = []
    for item in nav:
        if isinstance(item, dict):
            ((title, value),) = item.items()
            value = _folder(value, named) if isinstance(value, str) and value.endswith("/") else value
            value = _filled(value, named) if isinstance(value, list) else value
            filled += [{title: value}] if value else []
        else:
            filled += _folder(item, named) if item.endswith("/") else [item]
    return filled


def _folder(folder: str, named: set[str]) -> list[Any]:
    """The pages of a folder that the navigation does not name; rule pages are grouped by family."""
    paths = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / folder).glob("*.md")]
    left = sorted(set(paths) - named, key=lambda path: (not path.endswith("README.md"), path))
    if folder != "rules/":
        return left
    families: dict[str, list[Any]] = {}
    for path in left:
        code = Path(path).stem
        families.setdefault(code[:3], []).append({code: path})
    return [{family: pages} for family, pages in families.items()]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds files from elsewhere in the repository: pages, and everything that a page links to."""
    texts = {f"docs/{file.src_uri}": file.content_string for file in files.documentation_pages()}
    texts |= {name: (ROOT / name).read_text(encoding="utf-8") for name in _ELSEWHERE.values()}
    linked = {_resolved(link["target"], name) for name, text in texts.items() for link in _LINK.finditer(text)}
    outside = {name for name in linked if not name.startswith(("docs/", "..")) and (ROOT / name).exists()}
    for shown, name in _ELSEWHERE.items():
        files.append(File.generated(config, shown, abs_src_path=str(ROOT / name)))
    for name in sorted(outside - set(_ELSEWHERE.values()) - {"README.md"}):
        files.append(_source(name, config))
    return files


def _source(name: str, config: MkDocsConfig) -> File:
    """A file or folder of the repository: code as a page that shows it, everything else unchanged."""
    path = ROOT / name
    paths = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.suffix in _CODE)
    if path.suffix not in _CODE and path.is_file():
        return File.generated(config, name, abs_src_path=str(path), inclusion=InclusionLevel.INCLUDED)
    lines = [f"# {name}", ""]
    for one in paths:
        lines += [f"## {one.name}", ""] if path.is_dir() else []
        lines += [f"`````{_CODE[one.suffix]}", one.read_text(encoding="utf-8").rstrip(), "`````", ""]
    shown = f"{name}.md" if path.is_file() else f"{name}/index.md"
    return File.generated(config, shown, content="\n".join(lines), inclusion=InclusionLevel.NOT_IN_NAV)


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Converts a page for MkDocs: first lines of code blocks, folded Markdown, links to pages of the site."""
    known = {file.src_uri for file in files}
    # Code hosts read Markdown between HTML tags; MkDocs must be told to.
    text = _FENCE.sub(_fence, markdown).replace("<details", '<details markdown="1"')
    return _LINK.sub(lambda link: _target(link["target"], page.file.src_uri, known) + (link["anchor"] or ""), text)


def _fence(found: re.Match[str]) -> str:
    file = re.search(r"\bfile=(\S+)", found["words"])
    return f'{found["mark"]} title="{file[1]}"' if file else found["mark"]


def _resolved(link: str, page: str) -> str:
    """The path from the repository's root that a page's relative link points to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def _target(link: str, here: str, known: Container[str]) -> str:
    """Converts a link relative to the page's place in the repository to one relative to its place on the site."""
    target = _resolved(link, _ELSEWHERE.get(here, f"docs/{here}"))
    moved = {"README.md": "index.md"} | {name: shown for shown, name in _ELSEWHERE.items()}
    name = moved.get(target, target.removeprefix("docs/"))
    shown = next((one for one in (name, f"{name}.md", f"{name}/index.md") if one in known), None)
    return posixpath.relpath(shown, posixpath.dirname(here) or ".") if shown else link


def on_post_page(output: str, **_: Any) -> str:
    """Labels the search for screen readers."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def on_post_build(config: MkDocsConfig) -> None:
    """Checks the built site; in a strict build every finding stops it."""
    for problem in problems(Path(config.site_dir)):
        _log.warning(problem)
