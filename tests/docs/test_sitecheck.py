"""The check of a built site."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Script = Callable[[str], ModuleType]
_PAGE = '<html><head><link rel="stylesheet" href="site.css"></head><body><h1 id="top">One</h1>{}</body></html>'


def problems_of(folder: Path, body: str, doc_script: Script, style: str = "") -> list[str]:
    (folder / "index.html").write_text(_PAGE.format(body), encoding="utf-8")
    (folder / "site.css").write_text(style, encoding="utf-8")
    return list(doc_script("sitecheck").problems(folder))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="other.html">x</a>', "index.html:1: other.html: no such file"),
        ('<a href="#middle">x</a>', "index.html:1: #middle: no such anchor"),
        ('<a href="index.html#middle">x</a>', "index.html:1: index.html#middle: no such anchor"),
        ('<a href="http://example.com">x</a>', "index.html:1: http://example.com: is no https address"),
        ('<a href="https://localhost">x</a>', "index.html:1: https://localhost: is no https address"),
        (
            '<script src="https://example.com/a.js"></script>',
            "index.html:1: https://example.com/a.js: is loaded from another host",
        ),
        (
            '<link rel="preconnect" href="//fonts.example.com">',
            "index.html:1: //fonts.example.com: is loaded from another host",
        ),
        ('<img src="a.png" alt="A">', "index.html:1: a.png: no such file"),
        ("<img>", "index.html: the picture  has no description"),
        ("<p>stacks/Pulumi.<env>.yaml</p>", "index.html: <env> is no element of HTML; write it as code"),
    ],
)
def test_an_error_in_a_page_is_found(body: str, problem: str, tmp_path: Path, doc_script: Script) -> None:
    assert problems_of(tmp_path, body, doc_script) == [problem]


@pytest.mark.parametrize(
    "body",
    [
        '<a href="#top">x</a> <a href="index.html#top">x</a> <a href="./">x</a> <a href="mailto:a@example.com">x</a>',
        '<a href="https://example.com/a?b=c#d">x</a>',
        '<img alt="" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">',
        "<pre><code>&lt;env&gt;</code></pre>",
    ],
)
def test_a_valid_page_has_no_problems(body: str, tmp_path: Path, doc_script: Script) -> None:
    assert problems_of(tmp_path, body, doc_script) == []


@pytest.mark.parametrize(
    "style", ["a{background:url(https://example.com/a.png)}", '@import "https://example.com/a.css";']
)
def test_a_style_loads_nothing_from_another_host(style: str, tmp_path: Path, doc_script: Script) -> None:
    (problem,) = problems_of(tmp_path, "", doc_script, style)
    assert problem.startswith("site.css: loads https://example.com/a.")
