"""Every code of a finding is explained, and every explained code exists."""

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelyard.explanations import Explanation, explanations, families
from modelyard.report.explanation import explanation_text, list_text
from modelyard.report.style import PLAIN, Style
from modelyard.stack.codes import FAMILIES

SOURCE = Path(__file__).parents[3] / "modelyard"
CODE = re.compile(rf'"((?:CFG|PAT|{"|".join(FAMILIES)})\d{{3}})"')

SKIPPED = {"AUT004", "AUT023", "ENV002", "PIP005", "REM005", "REM007", "RES107"}
"""Codes whose example is a command, or a message with fewer than four words in a row that are always the same."""
EXAMPLE = re.compile(r"^\*\*Example\.\*\* `([^`]+)`|^```text\n(.+)\n```$", re.MULTILINE)
WORD = re.compile(r"[A-Za-z']+")
MESSAGES = {
    code: example[1] or example[2]
    for code, page in explanations().items()
    if code.startswith(("AUT00", "AUT02", "ENV", "OWN", "PAR", "PIP", "QUE", "REM", "RES"))
    and (example := EXAMPLE.search(page.body))
}
"""Examples that are messages and nothing else. The examples of other families are input, or come from a run."""


def texts() -> Iterator[tuple[tuple[str, ...], int]]:
    """The literal parts of each text of the source, with the number of their words; inserted values do not count."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.JoinedStr(values=values):
                    parts = [value.value if isinstance(value, ast.Constant) else "" for value in values]
                case ast.Constant(value=str(text)):
                    parts = re.split(r"\{\w*\}", text)
                case _:
                    continue
            words = sum(len(WORD.findall(part)) for part in parts)
            if words > 1:
                yield tuple(parts), words


def pattern(parts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(".+".join(map(re.escape, parts)).replace(".+.+", ".+"))


@pytest.fixture(scope="module")
def source_texts() -> list[tuple[tuple[str, ...], int]]:
    return list(texts())


@pytest.mark.parametrize("code", sorted(MESSAGES.keys() - SKIPPED))
def test_the_example_of_a_code_is_a_message_of_the_source(
    code: str, source_texts: list[tuple[tuple[str, ...], int]]
) -> None:
    """So a message and its example change together, and other tests need not repeat the wording."""
    example = MESSAGES[code]
    half = len(example.split()) / 2
    assert any(
        pattern(parts).search(example) if words > 3 else words >= half and pattern(parts).fullmatch(example)
        for parts, words in source_texts
        if all(part in example for part in parts)
    ), example


def test_codes_in_the_source_and_codes_explained_are_the_same() -> None:
    found = {code for path in SOURCE.rglob("*.py") for code in CODE.findall(path.read_text(encoding="utf-8"))}
    assert found == set(explanations())


def test_no_code_is_explained_twice() -> None:
    headings = [
        heading
        for page in (SOURCE / "explanations").glob("*.md")
        for heading in re.findall(r"^## ([A-Z]{3}\d{3}) ", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(headings) == len(set(headings))


@pytest.mark.parametrize("columns", [60, 100])
def test_no_mark_of_markdown_is_left_where_marked_text_is_wrapped(columns: int) -> None:
    style = Style(colour=True, columns=columns)
    assert [code for code, one in explanations().items() if {"`", "**"} & set(_marks(one, style))] == []


@pytest.mark.parametrize("columns", [60, 100])
def test_without_colours_code_keeps_its_backticks_and_nothing_else_is_marked(columns: int) -> None:
    style = PLAIN._replace(columns=columns)
    for one in explanations().values():
        written = re.findall("`[^`]+`", re.sub(r"^```\w*\n.*?^```$", "", one.body, flags=re.MULTILINE | re.DOTALL))
        shown = " ".join(line.strip() for line in explanation_text(one, style))
        assert "**" not in shown
        assert [re.sub(r"\s+", " ", code) for code in re.findall("`[^`]+`", shown)] == [
            re.sub(r"\s+", " ", code) for code in written
        ]


def test_marks_take_no_room_in_a_filled_line() -> None:
    words = [f"`w{number:02}`" for number in range(40)] + ["**end** of", "`a long", "code`."]
    style = Style(colour=True, columns=60)
    _, _, *lines = explanation_text(Explanation("GPU001", "x", " ".join(words)), style)
    shown = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    assert " ".join(shown) == re.sub(r"[`*]", "", " ".join(words))
    assert all(len(line) + 1 + len(following.split()[0]) > 60 for line, following in itertools.pairwise(shown))
    assert lines[-1].endswith(f"{style.bold('end')} of {style.link('a')} {style.link('long')} {style.link('code')}.")


def _marks(one: Explanation, style: Style) -> list[str]:
    return re.findall(r"`|\*\*", "\n".join(explanation_text(one, style)))


def test_the_list_has_a_group_with_a_title_for_each_family() -> None:
    groups = [group.split("\n") for group in "\n".join(list_text(explanations())).split("\n\n")]
    assert [title for title, *_ in groups] == [words[0].upper() + words[1:] for words in families().values()]
    listed = [[line.split()[0] for line in lines] for _, *lines in groups]
    assert listed == [[code for code in explanations() if code.startswith(family)] for family in families()]
