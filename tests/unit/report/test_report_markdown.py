"""Text in Markdown: escaped, with an invisible space only in mentions, references and links."""

from html import unescape

import pytest

from modelyard.report.markdown import address, code, html, prose, text

SPACE = "\u200b"


@pytest.mark.parametrize(
    "words",
    [
        "ray-worker@v1",
        "image name@sha256:0123abc",
        "a @ b",
        "issue #abc",
        "# heading",
        "10% of 5$ (a & b), 50 % or more!",
        "stacks/Pulumi.dev.yaml:3:5",
        "NIGH-12",
        "wwwroot",
        "max_over_time(x[30m:15s])",
    ],
)
def test_ordinary_words_have_nothing_invisible_in_them(words: str) -> None:
    assert SPACE not in text(words) + html(words) + code(words) + prose(words)


@pytest.mark.parametrize(
    ("words", "broken"),
    [
        ("@everyone look", "@|everyone"),
        ("(@team/name)", "@|team"),
        ("see #12", "#|12"),
        ("owner/name#12", "name#|12"),
        ("GH-1", "GH-|1"),
        ("gh-77", "gh-|77"),
        ("at http://evil.example", "http&#58;//evil"),
        ("ftp://evil.example", "ftp&#58;//evil"),
        ("www.evil.example", "&#119;ww.evil"),
        ("merge !4", "!|4"),
    ],
)
def test_mentions_references_and_links_are_broken(words: str, broken: str) -> None:
    for shown in (text(words), html(words)):
        assert broken.replace("|", SPACE) in shown


def test_code_is_copied_as_it_is_and_makes_no_links() -> None:
    shown = code("http://evil.example www.evil.example @team #1 a|b <i>")
    assert SPACE not in shown
    assert not [mark for mark in ("://", "www.", "@", "|", "<i>") if mark in shown]
    assert unescape(shown) == "<code>http://evil.example www.evil.example @team #1 a|b <i></code>"


def test_backquotes_stand_around_code() -> None:
    assert prose("run `modelyard gpus` now") == "run <code>modelyard gpus</code> now"
    assert prose("one ` alone") == "one \\` alone"
    assert prose("`<b>` and *b*") == "<code>&lt;b&gt;</code> and \\*b\\*"


@pytest.mark.parametrize("url", ["https://x/a) <b>", "https://x/`a`|b\n@c", 'https://x/"a" [b](c)'])
def test_an_address_cannot_end_its_link(url: str) -> None:
    assert not set('()<>`|\n" []') & set(address(url))


def test_an_ordinary_address_stays() -> None:
    url = "https://ci.example.com/-/jobs/12/file/preview.html?a=b&c=%20d#top"
    assert address(url) == url
