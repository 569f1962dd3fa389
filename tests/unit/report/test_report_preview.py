"""Previews as text and as comments: each change once, within the limit, with untrusted text escaped."""

import re
from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.kube import merge
from modelyard.plan import FieldChange
from modelyard.preview import VersionDiff
from modelyard.report.preview.json import preview_document
from modelyard.report.preview.markdown import LIMIT, MARK, preview_markdown
from modelyard.report.preview.text import preview_text
from modelyard.report.style import Style
from tests.support.preview_values import finding, preview, stack, target


def test_equal_changes_of_many_stacks_are_one_section() -> None:
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
    assert text.startswith(f"{MARK}\n## modelyard: each of 1000 stacks replaces 1 GPU pod\n")
    assert "and 960 more" in text
    assert re.search(r"^_\d+ more changes: .*_$", text, re.MULTILINE)
    # What there is room for is used.
    assert len(text) > LIMIT - 1_000
    assert text.count("<details") == text.count("</details>")
    assert "Not affected: quiet." in text


def test_sections_are_ordered_by_severity() -> None:
    dev = stack("dev", target(), new=(finding(),), fixed=(finding("was wrong"),), still=(finding("old"),))
    text = preview_markdown(preview(dev, stack("prod", target())))
    places = [
        text.index(words) for words in ("### New findings", "### Changes", "Fixed: 1 error", "Still there: 1 error")
    ]
    assert places == sorted(places)
    assert "**1 new error**, 1 fixed, 1 still there" in text


def test_the_effects_of_a_stack_that_cannot_be_planned_are_unknown(golden: Any) -> None:
    broken = stack("dev", unplanned=True, new=(finding(),))
    some = preview(broken, stack("prod", target()))
    golden(preview_markdown(preview(broken)), preview_markdown(some), *preview_text(preview(broken)), "")
    document = preview_document(preview(broken))
    assert (document["stacks"][0]["podsReplaced"], document["stacks"][0]["gpus"]) == (None, None)


def test_notes_and_waived_findings_are_no_news() -> None:
    quiet = (finding(severity=Severity.ADVICE), finding("waived one", waived="agreed"))
    assert "RES001" not in preview_markdown(preview(stack("dev", target(), new=quiet)))


@pytest.mark.parametrize(
    "words",
    ["<img src=x>", "@everyone look", "a|b|c", "`code`", "**bold**", "[link](https://evil.example)", "#1", "\x1b[31m"],
)
def test_untrusted_text_is_escaped_in_previews(words: str) -> None:
    found = preview(stack("dev", target(after=words), new=(finding(words, remedy=words),)))
    text = preview_markdown(found)
    assert words not in text
    assert "\x1b" not in text
    assert "\x1b" not in "\n".join(preview_text(found))
    tables = [line for line in text.splitlines() if line.startswith("| resources")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 4 for line in tables)


def test_patch_versions_are_shown_with_the_change_and_alone_if_the_object_stays_the_same(golden: Any) -> None:
    one = target(versions=(VersionDiff("ray-worker", "v1", "v2"), VersionDiff("extra", None, "v1")))
    assert "extra v1 added" in preview_markdown(preview(stack("dev", one)))
    same = preview(stack("dev", one._replace(status="same", fields=())))
    golden(preview_markdown(same), *preview_text(same), "")


def test_a_new_stack_is_one_section_below_the_changes_and_without_fields() -> None:
    new = [target(f"deployment-{name}", status="added") for name in ("a", "b", "c")]
    found = preview(stack("new", *new, status="added"), stack("prod", target()))
    lines = preview_text(found)
    heads = [line for line in lines if line.startswith(("~", "+"))]
    assert [head.split()[:2] for head in heads] == [["~", "deployment-worker"], ["+", "new"]]
    below = lines[lines.index(heads[1]) + 1 :][:3]
    assert [line.split()[0] for line in below] == ["deployment-a", "deployment-b", "deployment-c"]
    assert sum("32Gi" in line for line in lines) == 1
    assert preview_markdown(found).count("<details") == 2


def test_changes_with_errors_come_first() -> None:
    quiet, wrong = target(), target("deployment-z", after="8Gi")
    found = preview(stack("a", quiet), stack("b", wrong, new=(finding(target="deployment-z"),)))
    heads = [line for line in preview_text(found) if line.startswith("~")]
    assert heads == ["~ deployment-z", "~ deployment-worker"]


@pytest.mark.parametrize("columns", [60, 100])
def test_lines_fit(columns: int) -> None:
    long = target("deployment-" + "x" * 90, "y" * 300, versions=(VersionDiff("a" * 40, "v1", "v2"),))
    found = preview(stack("s" * 70, long, new=(finding("w " * 90),)), unchanged=tuple(f"stack-{n}" for n in range(40)))
    assert max(map(len, preview_text(found, Style(False, columns)))) <= columns


def test_a_comment_shows_only_the_difference_of_long_values() -> None:
    before, after = ([{"name": f"quota-{number}", "most": 1} for number in range(40)] for _ in range(2))
    after[30]["most"] = 7
    path = merge.Path.parse("spec.resourceGroups")
    change = target()._replace(fields=(FieldChange(path, before, after, "team-queues@v1"),))
    (row,) = [line for line in preview_markdown(preview(stack("dev", change))).splitlines() if "resourceGroups" in line]
    assert "quota-30, most: 1" in row
    assert "quota-30, most: 7" in row
    assert len(row) < 500


@pytest.mark.parametrize(
    ("status", "created", "words", "text"),
    [
        ("added", False, "newly patched", "No value changes."),
        ("added", True, "new", "No value changes."),
        ("deleted", False, "deleted", "The whole object is deleted."),
    ],
)
def test_an_object_without_changed_fields_is_shown_by_its_status(
    status: str, created: bool, words: str, text: str
) -> None:
    one = target(status=status, created=created, fields=())
    shown = preview_markdown(preview(stack("dev", one)))
    assert "<code>deployment-worker</code> in dev · " in shown
    assert f" · {words}" in shown
    assert text in shown
