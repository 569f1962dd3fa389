"""Comments longer than hosts allow keep the most severe findings, and count the rest."""

import re
from fractions import Fraction
from typing import Any

import pytest

from modelyard.findings import Finding, Severity
from modelyard.kube import merge
from modelyard.plan import FieldChange
from modelyard.plan.cost.values import Count, Money, Price, StackCost, TargetCost, stack_cost
from modelyard.preview import StackDiff
from modelyard.preview.values import Offline, Relaxed, Revision, Waived
from modelyard.report.preview.markdown import LEAST, LIMIT, least, preview_markdown
from modelyard.report.preview.text import preview_text
from tests.support.preview_values import finding, preview, stack, target

CODES = tuple(f"RES{number:03}" for number in range(1, 61))


def wrong(name: str, code: str, summary: str, severity: Severity = Severity.ERROR) -> Finding:
    return finding(
        summary, code=code, severity=severity, stack=name, file=f"stacks/Pulumi.{name}.yaml", remedy="do better"
    )


def crowd(number: int) -> list[StackDiff]:
    """So many stacks, each with a change and three warnings of its own."""
    return [
        stack(
            name := f"team-{at:04}",
            target(f"deployment-{at}", f"{at}Gi"),
            new=tuple(wrong(name, "RES101", f"{at} of kind {kind}", Severity.WARNING) for kind in range(3)),
            still=tuple(wrong(name, "RES102", f"{at} as before {kind}", Severity.WARNING) for kind in range(3)),
        )
        for at in range(number)
    ]


def test_every_code_of_a_new_error_is_named_among_thousands_of_findings() -> None:
    stacks = crowd(1000)
    for at, code in enumerate(CODES):
        name = stacks[at * 16].stack
        many = tuple(wrong(name, code, f"wrong in way {way}") for way in range(40))
        stacks[at * 16] = stacks[at * 16]._replace(new=(*stacks[at * 16].new, *many))
    text = preview_markdown(preview(*stacks))
    assert len(text) <= LIMIT
    head, _, details = text.partition("### New findings")
    assert [code for code in CODES if code not in head] == []
    # One of each code is told in full before a second one of any.
    assert [code for code in CODES if f"**error {code}**" not in details] == []
    assert re.search(r"^_[\d]+ more findings: `modelyard preview` shows them\._$", details, re.MULTILINE)
    for section in ("### Changes", "Still there: 3000 warnings"):
        assert section in details
    assert text.count("<details") == text.count("</details>")


def test_one_error_is_shown_with_its_stack_among_many_warnings() -> None:
    stacks = crowd(250)
    stacks[249] = stacks[249]._replace(new=(*stacks[249].new, wrong("team-0249", "RES001", "no memory at all")))
    text = preview_markdown(preview(*stacks))
    assert "RES001 in team-0249" in text.partition("| Stack |")[0]
    # The table and the list of findings begin with it.
    rows = [line for line in text.splitlines() if line.startswith("| team-")]
    assert rows[0].startswith("| team-0249 | 1 target |")
    assert len(rows) == 40
    findings = [line for line in text.splitlines() if line.startswith(("- **error", "- **warning"))]
    assert findings[0].startswith("- **error RES001** team-0249")


def test_a_finding_of_a_thousand_stacks_is_one_line_with_their_number() -> None:
    names = [f"team-{at:04}" for at in range(1000)]
    text = preview_markdown(preview(*(stack(name, new=(wrong(name, "RES001", "too little"),)) for name in names)))
    (line,) = (line for line in text.splitlines() if line.startswith("- **error"))
    assert line.startswith("- **error RES001** team-0000, team-0001, ")
    assert "and 994 more" in line
    assert "<code>stacks/Pulumi.team-0001.yaml:3</code>" in line
    lines = "\n".join(preview_text(preview(*(stack(name, new=(wrong(name, "RES001", "x"),)) for name in names[:3]))))
    assert lines.count("error   RES001") == 1
    assert "team-0001 (stacks/Pulumi.team-0001.yaml:3)" in " ".join(lines.split())


def test_errors_of_any_stack_come_before_warnings() -> None:
    found = preview(
        stack("a", new=(wrong("a", "RES101", "late", Severity.WARNING),)), stack("b", new=(wrong("b", "RES001", "x"),))
    )
    for text in (preview_markdown(found).partition("### New findings")[2], "\n".join(preview_text(found))):
        assert text.index("RES001") < text.index("RES101")


@pytest.mark.parametrize("limit", [LEAST, LEAST + 1, 6_000, 20_000, LIMIT])
@pytest.mark.parametrize("number", [1, 60, 1000])
def test_no_comment_is_longer_than_its_limit(limit: int, number: int) -> None:
    hostile = "&<|*" * 60
    stacks = [one._replace(stack=f"{hostile}{one.stack}") for one in crowd(number)]
    errors = tuple(wrong(stacks[0].stack, code, hostile) for code in (*CODES, hostile[:40]))
    stacks[0] = stacks[0]._replace(new=errors, fixed=errors, targets=(target(versions=()),) * 3)
    found = preview(*stacks, unchanged=tuple(f"{hostile}{at}" for at in range(50)))
    found = found._replace(base=Revision(hostile, "a" * 40), head=Revision(hostile, "b" * 40))
    found = found._replace(offline=tuple(Offline(hostile, f"{hostile}{at}") for at in range(50)))
    text = preview_markdown(found, limit=limit)
    assert len(text) <= limit
    assert text.count("<details") == text.count("</details>")
    assert f"\n{number} of {number + 50} stacks" in text
    assert re.search(r"^\*\*New errors:\*\* .*RES001", text, re.MULTILINE)


def test_the_address_of_the_report_counts_toward_the_limit() -> None:
    report = f"https://ci.example.com/{'r' * 3000}"
    text = preview_markdown(preview(*crowd(50)), limit=least(report), report=report)
    assert len(text) <= least(report)
    assert f"[full report]({report})" in text
    with pytest.raises(ValueError, match="4000"):
        preview_markdown(preview(*crowd(1)), limit=LEAST - 1)


def test_a_change_that_is_too_long_is_still_named() -> None:
    labels = (merge.Path.parse(f"metadata.labels.l{at}") for at in range(500))
    fields = tuple(FieldChange(path, "a" * 99, "b" * 99, "labels@v1") for path in labels)
    text = preview_markdown(preview(stack("dev", target(fields=fields))))
    assert "_440 more fields._" in text
    short = preview_markdown(preview(stack("dev", target(fields=fields))), limit=LEAST)
    assert "<summary><code>deployment-worker</code> in dev" in short
    assert "too long" in short


def cost(usd: tuple[int, int], *, listed: bool = True, name: str = "deployment-worker") -> StackCost:
    """Of one target with one GPU before and two after."""
    before, after = (Money(Fraction(one), Fraction(one)) for one in usd)
    delta = Money(after.low - before.low, after.high - before.high)
    price = Price("machine", "g2", Fraction(1), "", "2026-08-03", "list", listed)
    gpus = Count(1, 1), Count(2, 2)
    return stack_cost([TargetCost("Deployment", name, gpus, gpus, (before, after), delta, (price,), "")])


def test_cost_and_gpu_hours_by_stack_by_change_and_in_total(golden: Any) -> None:
    found = preview(stack("a", target(), cost=cost((1, 3))), stack("b", target(), cost=cost((1, 4), listed=False)))
    golden(preview_markdown(found), *preview_text(found), "")


def test_a_change_with_pods_and_no_price_has_an_unknown_cost() -> None:
    unpriced = target("settings", kind="ConfigMap", replaces_pods=0, gpus=(0, 0), replicas=(None, None))
    found = preview(stack("a", target(), unpriced, cost=cost((1, 1))), stack("b", target(after="64Gi")))
    titles = [line for line in preview_markdown(found).splitlines() if line.startswith("<summary>")]
    assert [("cost" in title, "cost unknown" in title) for title in titles] == [
        (False, False),
        (True, True),
        (False, False),
    ]


def test_a_change_names_the_findings_about_its_target() -> None:
    own = finding(target="deployment-worker", code="RES101", severity=Severity.WARNING)
    other = finding(target="deployment-other", code="RES005")
    mended = finding(target="deployment-worker", code="GPU001")
    found = preview(stack("dev", target(), new=(own, other), fixed=(mended,)))
    for text in (preview_markdown(found), "\n".join(preview_text(found))):
        assert "new: RES101 · fixed: GPU001" in text


def test_the_gpus_of_a_stack_are_those_of_all_its_targets() -> None:
    found = preview(stack("a", target(gpus=(0, 0)), others=3), stack("b", target(gpus=(1, 2)), others=4))
    text = preview_markdown(found)
    assert "| a | 1 target | 1 replaced | 3 |" in text
    assert "| b | 1 target | 1 replaced | 5 → 6 |" in text
    assert "GPUs 8 → 9" in text


def test_a_deleted_stack_file_changes_nothing_in_the_cluster(golden: Any) -> None:
    found = preview(stack("a", status="removed", others=4))
    two = preview(*(stack(name, status="removed") for name in "ab"))
    golden(preview_markdown(found), *preview_text(found), "", *preview_text(two)[:1], "")


@pytest.fixture(scope="module")
def lenient() -> list[StackDiff]:
    """Two hundred stacks that waive each error once, and no longer check each but the first."""
    return [
        one._replace(
            waived=tuple(
                Waived(wrong(one.stack, code, "x" * 90), "because " * 9, "anna", "2027-01-31") for code in CODES
            ),
            relaxed=tuple(Relaxed(wrong(one.stack, code, "y" * 90), "no longer checked") for code in CODES[1:]),
        )
        for one in crowd(200)
    ]


@pytest.mark.parametrize(
    ("changes", "unchanged", "rows"),
    [
        ({}, (), False),
        ({}, ("prod",), True),
        ({"recorded": True}, (), True),
        ({"status": "added"}, (), True),
        ({"unplanned": True}, (), True),
    ],
)
def test_the_only_stack_has_no_row_that_repeats_the_effects(
    changes: dict[str, Any], unchanged: tuple[str, ...], rows: bool
) -> None:
    text = preview_markdown(preview(stack("dev", target(), **changes), unchanged=unchanged))
    assert ("| dev |" in text) == rows
    assert f"{0 if changes.get('unplanned') else 1} of {1 + len(unchanged)} stack" in text


@pytest.mark.parametrize("limit", [LEAST, 8_000, LIMIT])
def test_waived_and_relaxed_findings_keep_the_limit_and_are_named_at_the_top(
    limit: int, lenient: list[StackDiff]
) -> None:
    text = preview_markdown(preview(*lenient), limit=limit)
    assert len(text) <= limit
    top = text.partition("| Stack |")[0]
    assert re.search(r"waived: 12000 .* 11800 errors", top)
    assert re.search(r"^\*\*Newly waived:\*\* RES001", top, re.MULTILINE)
    assert re.search(r"^\*\*.* less severe:\*\* RES002", top, re.MULTILINE)
    assert text.count("<details") == text.count("</details>")
