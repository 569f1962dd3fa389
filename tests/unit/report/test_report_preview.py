"""Previews as text and as comments: everything told once, nothing too long, nothing that steers its reader."""

import re

import pytest

from modelyard.findings import Severity
from modelyard.kube import merge
from modelyard.preview import FieldDiff, VersionDiff
from modelyard.report.preview.json import preview_document
from modelyard.report.preview.markdown import LIMIT, MARK, preview_markdown
from modelyard.report.preview.text import preview_text
from modelyard.report.style import Style
from tests.support.preview_values import finding, preview, stack, target


def test_alike_changes_of_many_stacks_are_one_section() -> None:
    found = preview(*(stack(name, target()) for name in ("a", "b", "c")), stack("d", target(after="64Gi")))
    text = preview_markdown(found)
    assert text.count("<details") == 2
    assert "in a, b, c" in text
    assert "replaces 3 pods" in text
    lines = preview_text(found)
    assert sum("deployment-worker" in line for line in lines) == 2


def test_a_thousand_different_changes_fit_and_the_summary_is_whole() -> None:
    stacks = [stack(f"team-{number:04}", target(f"deployment-{number}", f"{number}Gi")) for number in range(1000)]
    text = preview_markdown(preview(*stacks, unchanged=("quiet",)), report="https://ci.example.com/r")
    assert len(text) <= LIMIT
    assert text.startswith(f"{MARK}\n## modelyard: 1000 of 1001 stacks change\n")
    assert "and 960 more" in text
    assert re.search(r"^_\d+ more changes: the full report has them\._$", text, re.MULTILINE)
    # What there is room for is used.
    assert len(text) > LIMIT - 1_000
    assert text.count("<details") == text.count("</details>")
    assert "Not affected: quiet." in text


def test_the_gravest_comes_first() -> None:
    found = preview(stack("dev", target(), new=(finding(),), fixed=(finding("was wrong"),), still=(finding("old"),)))
    text = preview_markdown(found)
    places = [
        text.index(words) for words in ("### New findings", "### Changes", "Fixed: 1 error", "Still there: 1 error")
    ]
    assert places == sorted(places)
    assert "**1 new error**, 1 fixed, 1 still there" in text


def test_what_a_stack_that_cannot_be_planned_would_change_is_unknown_and_not_nothing() -> None:
    broken = stack("dev", unplanned=True, new=(finding(),))
    for found in (preview(broken), preview(broken, stack("prod", target()))):
        text = preview_markdown(found)
        assert "| dev | cannot be planned | unknown | unknown | unknown | unknown | **1 new error** |" in text
        assert "1 not planned (what changes there is unknown), " in text
    assert "GPUs stay at" not in preview_markdown(preview(broken))
    assert "GPUs stay at" not in "\n".join(preview_text(preview(broken)))
    document = preview_document(preview(broken))
    assert (document["stacks"][0]["podsReplaced"], document["stacks"][0]["gpus"]) == (None, None)


def test_notes_and_waived_findings_are_no_news() -> None:
    quiet = (finding(severity=Severity.ADVICE), finding("waived one", waived="agreed"))
    assert "RES001" not in preview_markdown(preview(stack("dev", target(), new=quiet)))


@pytest.mark.parametrize(
    "words",
    ["<img src=x>", "@everyone look", "a|b|c", "`code`", "**bold**", "[link](https://evil.example)", "#1", "\x1b[31m"],
)
def test_text_from_outside_is_shown_and_not_obeyed(words: str) -> None:
    found = preview(stack("dev", target(after=words), new=(finding(words, remedy=words),)))
    text = preview_markdown(found)
    assert words not in text
    assert "\x1b" not in text
    assert "\x1b" not in "\n".join(preview_text(found))
    tables = [line for line in text.splitlines() if line.startswith("| resources")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 4 for line in tables)


def test_versions_are_told_with_the_change() -> None:
    one = target(versions=(VersionDiff("ray-worker", "v1", "v2"), VersionDiff("extra", None, "v1")))
    assert "extra v1 added" in preview_markdown(preview(stack("dev", one)))
    same = one._replace(status="same", fields=())
    assert "No field differs." in preview_markdown(preview(stack("dev", same)))
    assert any("renders the same" in line for line in preview_text(preview(stack("dev", same))))


@pytest.mark.parametrize("columns", [60, 100])
def test_lines_fit(columns: int) -> None:
    long = target("deployment-" + "x" * 90, "y" * 300, versions=(VersionDiff("a" * 40, "v1", "v2"),))
    found = preview(stack("s" * 70, long, new=(finding("w " * 90),)), unchanged=tuple(f"stack-{n}" for n in range(40)))
    assert max(map(len, preview_text(found, Style(False, columns)))) <= columns


def test_of_long_values_a_comment_shows_what_differs() -> None:
    before, after = ([{"name": f"quota-{number}", "most": 1} for number in range(40)] for _ in range(2))
    after[30]["most"] = 7
    path = merge.Path.parse("spec.resourceGroups")
    change = target()._replace(fields=(FieldDiff(path, before, after, "team-queues@v1"),))
    (row,) = [line for line in preview_markdown(preview(stack("dev", change))).splitlines() if "resourceGroups" in line]
    assert "quota-30, most: 1" in row
    assert "quota-30, most: 7" in row
    assert len(row) < 500
