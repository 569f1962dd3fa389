"""Folders of generated files: all of them or none, however many there are."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from modelyard.cli.folder import replace_generated


def test_folders_are_taken_one_after_the_other(tmp_path: Path) -> None:
    """What is staged of one folder is on the disk, and in no place yet, when the next one is asked for."""
    seen = []

    def folders() -> Iterator[tuple[Path, Mapping[str, str]]]:
        for name in "ab":
            yield tmp_path / name, {"x.yaml": name}
            seen.append(sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.yaml*")))

    assert replace_generated(folders()) == 2
    assert seen == [["a/.x.yaml.new"], ["a/.x.yaml.new", "b/.x.yaml.new"]]
    assert [(tmp_path / name / "x.yaml").read_text() for name in "ab"] == ["a", "b"]
    assert not list(tmp_path.rglob("*.new"))


@pytest.mark.parametrize("reason", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("no plan")])
def test_what_breaks_off_leaves_nothing_behind(tmp_path: Path, reason: BaseException) -> None:
    replace_generated([(tmp_path / "a", {"x.yaml": "before"})])
    there = sorted(tmp_path.rglob("*"))

    def folders() -> Iterator[tuple[Path, Mapping[str, str]]]:
        yield tmp_path / "a", {"x.yaml": "after"}
        yield tmp_path / "b" / "c", {"deep/y.yaml": "new"}
        raise reason

    with pytest.raises(type(reason)):
        replace_generated(folders())
    assert sorted(tmp_path.rglob("*")) == there
    assert (tmp_path / "a" / "x.yaml").read_text() == "before"


def test_a_file_that_is_written_twice_counts_once_it_is_there(tmp_path: Path) -> None:
    assert replace_generated([(tmp_path / "a", {"x.yaml": "1", "old.yaml": "1"})]) == 2
    assert replace_generated([(tmp_path / "a", {"x.yaml": "2"})]) == 1
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [".modelyard", "x.yaml"]
