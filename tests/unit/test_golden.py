"""Golden files: each is used, their sections are compared, and no test quotes them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import golden

_WORD = r"[A-Za-z](?:[A-Za-z']*[A-Za-z])?"
PROSE = re.compile(rf"(?<![\w.:/=-]){_WORD}(?:[,;:]? {_WORD}){{3,}}(?![\w/=-])")
"""Four or more words, without names such as ``spec.replicas``, numbers and options."""


def test_each_golden_file_has_a_module_that_uses_it() -> None:
    modules = Path(__file__).parents[1].rglob("test_*.py")
    users = {path.stem for path in modules if "golden: " in path.read_text(encoding="utf-8")}
    assert {path.stem for path in golden.GOLDEN.glob("*.txt")} <= users


def quotes(source: str, pinned: str) -> Iterator[str]:
    """The prose that the asserts of a module, and its patterns for exceptions, have in common with pinned texts."""
    for node in ast.walk(ast.parse(source)):
        checked = [node.test] if isinstance(node, ast.Assert) else []
        if isinstance(node, ast.Call):
            checked = [one.value for one in node.keywords if one.arg == "match"]
        for part in (part for one in checked for part in ast.walk(one)):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                found = PROSE.findall(" ".join(part.value.replace("\\", "").split()))
                # The command in a remedy is no prose.
                yield from (text for text in found if text in pinned and not text.startswith("modelyard "))


def test_no_assert_quotes_a_golden_file() -> None:
    texts = (path.read_text(encoding="utf-8") for path in golden.GOLDEN.rglob("*") if path.is_file())
    pinned = " ".join(word for text in texts for word in text.split())
    modules = {path: path.read_text(encoding="utf-8") for path in golden.GOLDEN.parent.rglob("*.py")}
    assert {str(path): found for path, text in modules.items() if (found := [*quotes(text, pinned)])} == {}


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("assert 'the plan is stale: it moved' in said", 1),
        ("assert done.startswith(f'{name}: the plan\\nis stale')", 1),
        ("with raises(E, match=r'the plan is stale\\.'): f()", 1),
        ("assert 'plan is stale' in said", 0),
        ("assert 'modelyard job list dev' in said", 0),
        ("said = 'the plan is stale'", 0),
    ],
)
def test_a_quote_has_four_words_of_a_golden_file(line: str, count: int) -> None:
    assert len([*quotes(line, "error: the plan is stale: it moved → modelyard job list dev")]) == count


def test_sections_of_a_golden_file_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden, "GOLDEN", tmp_path)
    monkeypatch.setenv("GOLDEN", "write")
    for name in ("test_b", "test_a", "test_gone"):
        golden.hold_section("m.txt", name, f"of {name}\n")
    monkeypatch.delenv("GOLDEN")
    golden.hold_section("m.txt", "test_a", "of test_a\n")
    for section, made in (("test_a", "of test_b\n"), ("test_new", "of test_a\n")):
        with pytest.raises(AssertionError, match="make golden"):
            golden.hold_section("m.txt", section, made)
    with pytest.raises(AssertionError, match="make golden"):
        golden.hold_no_more_than("m.txt", {"test_a", "test_b"})
    monkeypatch.setenv("GOLDEN", "write")
    golden.hold_no_more_than("m.txt", {"test_a", "test_b", "test_new"})
    assert (tmp_path / "m.txt").read_text() == "=== test_a\nof test_a\n\n=== test_b\nof test_b\n"
