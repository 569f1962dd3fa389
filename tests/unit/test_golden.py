"""Golden files: each is used, and their sections are compared."""

from pathlib import Path

import pytest

from tests.support import golden


def test_each_golden_file_has_a_module_that_uses_it() -> None:
    modules = Path(__file__).parents[1].rglob("test_*.py")
    users = {path.stem for path in modules if "golden: " in path.read_text(encoding="utf-8")}
    assert {path.stem for path in golden.GOLDEN.glob("*.txt")} <= users


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
