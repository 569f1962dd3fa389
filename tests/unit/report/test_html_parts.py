"""The parts of the HTML page as values: findings, versions and bars."""

import re
from fractions import Fraction
from typing import Any

import pytest

from modelyard.plan.cost.values import Count, Money, TargetCost, cost_to_json, stack_cost
from modelyard.report.html.bars import WIDTH, cost_chart, costs_of, gpus_of, total_cost
from modelyard.report.html.changes import changes_of
from modelyard.report.html.findings import parts_of
from modelyard.report.html.overview import rows_of, stats, verdict
from modelyard.report.html.page import matrix_of
from modelyard.report.html.text import breakable, inline, markdown, value_text

FINDING = {"code": "RES001", "severity": "error", "summary": "too little", "remedy": "ask for more"}
NONE = {"error": 0, "warning": 0, "advice": 0, "waived": 0}


def stack(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "stack": name,
        "file": f"stacks/Pulumi.{name}.yaml",
        "status": "changed",
        "created": False,
        "headline": "Ray",
        "unplanned": False,
        "recordedChanged": False,
        "blocked": False,
        "podsReplaced": 0,
        "gpus": {"before": 0, "after": 0},
        "targets": [],
        "patches": [],
        "topology": None,
        "findings": {"new": [], "fixed": [], "still": []},
    } | changes


def document(*stacks: dict[str, Any], changes: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    summary = {"added": 0, "removed": 0, "unchanged": 0, "unplanned": 0} | {
        **dict.fromkeys(("podsReplaced", "podsStopped", "podsStarted"), 0),
        "gpusBefore": sum(one["gpus"]["before"] for one in stacks if one["gpus"]),
        "gpusAfter": sum(one["gpus"]["after"] for one in stacks if one["gpus"]),
        **dict.fromkeys(("new", "fixed", "still"), NONE),
    }
    return {"stacks": list(stacks), "changes": list(changes), "summary": summary, "unchanged": [], "outcomes": []}


def changed(**changes: Any) -> dict[str, Any]:
    return {
        "target": "t",
        "kind": "Deployment",
        "status": "changed",
        "created": False,
        "podsReplaced": 0,
        "gpus": {"before": 0, "after": 0},
        "versions": [],
        "fields": [],
    } | changes


def at(name: str, line: int, **changes: Any) -> dict[str, Any]:
    return {**FINDING, "stack": name, "file": f"stacks/Pulumi.{name}.yaml", "line": line, "column": 5, **changes}


def new(*findings: dict[str, Any]) -> dict[str, Any]:
    return {"new": list(findings), "fixed": [], "still": []}


def test_a_finding_of_two_stacks_is_shown_once_with_both_places() -> None:
    first, second = stack("a", findings=new(at("a", 3))), stack("b", findings=new(at("b", 7)))
    (family,) = parts_of(document(first, second))[0].families
    (item,) = family.items
    assert [(place.name, place.location, place.short) for place in item.places] == [
        ("a", "stacks/Pulumi.a.yaml:3:5", "line 3"),
        ("b", "stacks/Pulumi.b.yaml:7:5", "line 7"),
    ]


def test_findings_with_different_summaries_stay_apart() -> None:
    one = stack("a", findings=new(at("a", 3), at("a", 3, summary="less")))
    (family,) = parts_of(document(one))[0].families
    assert [item.summary for item in family.items] == ["less", "too little"]


def test_errors_come_first_and_what_is_waived_last() -> None:
    one = stack(
        "a",
        findings=new(
            at("a", 1, severity="advice", code="OWN001"),
            at("a", 2, waived="known"),
            at("a", 3, severity="warning", code="RES101"),
            at("a", 4, code="GPU001"),
        ),
    )
    families = parts_of(document(one))[0].families
    assert [family.severity for family in families] == ["error", "warning", "advice", "waived"]
    assert [family.open for family in families] == [True, True, False, False]


def test_a_place_in_another_file_is_shown_in_full() -> None:
    one = stack("a", findings=new(at("a", 3, file="patches/x/v1/meta.yaml")))
    (family,) = parts_of(document(one))[0].families
    assert family.items[0].places[0].short == "patches/x/v1/meta.yaml:3:5"


@pytest.mark.parametrize(
    ("before", "after", "move"),
    [
        ("v1", "v1", "same"),
        ("v9", "v10", "up"),
        ("v10", "v9", "down"),
        (None, "v1", "new"),
        ("v1", None, "gone"),
    ],
)
def test_versions_move_by_their_numbers(before: str | None, after: str | None, move: str) -> None:
    one = stack("a", patches=[{"name": "ray-worker", "before": before, "after": after}])
    assert matrix_of(document(one)).rows[0].cells[0].move == move


def test_patches_that_move_stand_before_those_that_stay() -> None:
    stays = {"name": "a", "before": "v1", "after": "v1"}
    moves = {"name": "b", "before": "v1", "after": "v2"}
    found = matrix_of(document(stack("one", patches=[stays, moves]), stack("two", patches=[stays])))
    assert found.patches == ("b", "a")
    assert found.moved == (1, 0)
    assert found.rows[1].cells[0].move == "none"


def test_bars_share_an_axis_of_round_numbers_and_the_largest_change_comes_first() -> None:
    small = stack("small", gpus={"before": 4, "after": 5})
    large = stack("large", gpus={"before": 0, "after": 8})
    kept = stack("kept", gpus={"before": 3, "after": 3})
    chart = gpus_of(document(small, large, kept)).stacks
    assert [row.name for row in chart.rows] == ["large", "small"]
    assert [label for _, label in chart.ticks] == ["0", "2", "4", "6", "8"]
    before, after = chart.rows[0].bars
    assert before is not None and before.high == 0
    assert after is not None and after.low == after.high == WIDTH


def test_gpus_that_move_between_targets_show_although_their_stack_keeps_as_many() -> None:
    def change(target: str, before: int, after: int) -> dict[str, Any]:
        return {"target": target, "gpus": {"before": before, "after": after}}

    found = gpus_of(
        document(stack("a", gpus={"before": 3, "after": 3}), changes=(change("celery", 3, 0), change("ray", 0, 3)))
    )
    assert [(row.name, row.words) for row in found.targets.rows] == [
        ("celery", ("3", "0", "−3")),
        ("ray", ("0", "3", "+3")),
    ]
    assert not found.stacks.rows


def priced(low: int, high: int, more: int) -> dict[str, Any]:
    usd = Money(Fraction(low), Fraction(high)), Money(Fraction(low + more), Fraction(high + more))
    pods = Count(1, 1)
    delta = Money(Fraction(more), Fraction(more))
    return cost_to_json(stack_cost([TargetCost("Deployment", "x", (pods, pods), (pods, pods), usd, delta, (), "")]))


def unpriced() -> dict[str, Any]:
    pods = Count(2, 2)
    return cost_to_json(
        stack_cost([TargetCost("Deployment", "x", (pods, pods), (pods, pods), (None, None), None, (), "no price")])
    )


def test_a_cost_without_a_price_is_unknown_and_left_out_of_the_sum() -> None:
    known, unknown = stack("known", cost=priced(1, 2, 3)), stack("unknown", cost=unpriced())
    found = document(known, unknown, stack("never"))
    assert [cost and cost.amounts for cost in costs_of(found)] == [
        ("1.00–2.00", "4.00–5.00", "+3.00"),
        ("unknown", "unknown", "unknown"),
        None,
    ]
    total = total_cost(found)
    assert total.amounts == ("1.00–2.00", "4.00–5.00", "+3.00")
    assert ["2 stacks" in note for note in total.about] == [True]
    chart = cost_chart(found)
    assert chart is not None
    assert [(row.name, row.bars[1] is None) for row in chart.rows] == [
        ("known", False),
        ("never", True),
        ("unknown", True),
    ]


def test_an_unknown_amount_has_its_reason_and_without_any_price_the_sum_is_unknown() -> None:
    (cost,) = costs_of(document(stack("a", cost=unpriced())))
    assert cost is not None
    assert "no price" in cost.about
    assert total_cost(document(stack("a"))).amounts == ("unknown", "unknown", "unknown")
    assert cost_chart(document(stack("a"))) is None


def test_blocked_stacks_stand_first_and_the_verdict_counts_them() -> None:
    found = document(
        stack("a"),
        stack("b", findings=new(at("b", 1, severity="warning"))),
        stack("c", blocked=True, unplanned=True, findings=new(at("c", 1))),
        stack("d", blocked=True, findings=new(at("d", 1))),
    )
    assert [row.name for row in rows_of(found, costs_of(found))] == ["c", "d", "b", "a"]
    severity, words = verdict(found)
    assert (severity, re.findall(r"\d+", words)) == ("error", ["2", "1"])


def test_a_deleted_stack_file_is_a_warning() -> None:
    found = document(stack("a", status="removed"), stack("b"))
    severity, words = verdict(found)
    assert severity == "warning"
    assert "1 stack file" in words
    patches = [{"name": "ray-worker", "before": "v1", "after": "v1"}]
    rows = matrix_of(document(stack("a", status="removed"), stack("b", patches=patches))).rows
    assert [(bool(row.why), len(row.cells)) for row in rows] == [(True, 0), (False, 1)]


def test_unknown_numbers_are_not_counted_as_zero() -> None:
    known, unknown = (
        stack("a", gpus={"before": 3, "after": 3}),
        stack("b", unplanned=True, gpus=None, podsReplaced=None),
    )
    some = {stat.label: stat for stat in stats(document(known, unknown))}
    assert (some["GPUs"].value, some["GPUs"].note) == ("3", "no change; unknown for 1 stack")
    assert some["Pods replaced"].note.endswith("; unknown for 1 stack")
    assert not gpus_of(document(known, unknown)).known
    none = {stat.label: stat.value for stat in stats(document(unknown))}
    assert (none["GPUs"], none["Pods replaced"]) == ("unknown", "unknown")


def test_a_field_that_no_patch_sets_has_another_source() -> None:
    fields = [
        {"field": "spec.added", "after": {}, "patch": None},
        {"field": "spec.moved", "before": 1, "after": 2, "patch": None},
        {"field": "spec.gone", "before": 1, "patch": None},
        {"field": "spec.ours", "before": 1, "after": 2, "patch": "x@v1"},
    ]
    (change,) = changes_of(document(stack("a"), changes=(changed(fields=fields),)))
    added, moved, gone, ours = (field.patch for field in change.fields)
    assert "default" in added
    assert moved == added
    assert "owner" in gone
    assert ours == "x@v1"


def test_a_change_has_its_cost_and_its_findings() -> None:
    def codes(*found: tuple[str, str]) -> list[dict[str, Any]]:
        return [{"code": code, "severity": severity, "waived": False, "stacks": 1} for code, severity in found]

    findings = {
        "new": codes(("GPU001", "error"), ("RES101", "warning")),
        "fixed": [],
        "still": codes(("OWN001", "advice")),
    }
    dear = {"usd": {"low": 1.5, "high": 1.5}, "unknownPods": {"low": 0, "high": 0}}
    unknown = {"usd": None, "unknownPods": {"low": 2, "high": 2}}
    same = {"usd": {"low": 0, "high": 0}, "unknownPods": {"low": 0, "high": 0}}
    found = changes_of(
        document(
            stack("a"),
            changes=(
                changed(cost=dear, findings=findings),
                changed(cost=unknown),
                changed(cost=same),
                changed(cost=None),
            ),
        )
    )
    assert [change.cost for change in found] == ["cost +USD 1.50/h", "cost unknown", "", ""]
    assert found[0].findings == (("new", ("GPU001", "RES101")),)


def test_unchanged_gpus_are_one_number() -> None:
    found = document(stack("a", gpus={"before": 4, "after": 4}))
    gpus = next(stat for stat in stats(found) if stat.label.startswith("GPUs"))
    assert (gpus.value, gpus.note) == ("4", "no change")


def test_missing_null_and_empty_values_are_different() -> None:
    fields = [
        {"field": "metadata.labels.a", "before": None, "patch": None},
        {"field": "metadata.labels.b", "after": "", "patch": "x@v1"},
    ]
    first, second = changes_of(document(stack("a"), changes=(changed(fields=fields),)))[0].fields
    assert (first.lead, first.name, first.before, first.after) == ("metadata.", "labels.a", "null", None)
    assert (second.before, second.after) == (None, '""')


def test_mappings_and_lists_are_shown_as_yaml() -> None:
    assert value_text({"cpu": "4", "values": ["a", "b"]}) == "cpu: '4'\nvalues:\n- a\n- b"
    assert value_text([]) == "[]"
    assert value_text("one\ntwo") == "one\ntwo"


def test_marks_of_texts_become_markup_and_nothing_else_does() -> None:
    assert inline("use `a<b>` **now**") == "use <code>a&lt;b&gt;</code> **now**"
    text = markdown("**Why.** Because\n\n- one\n- two\n\n```yaml\na: <b>\n```\n\nEnd")
    assert text == (
        "<p><strong>Why.</strong> Because</p>\n<ul><li>one</li><li>two</li></ul>\n"
        "<pre><code>a: &lt;b&gt;</code></pre>\n<p>End</p>"
    )


def test_paths_break_between_their_parts() -> None:
    assert breakable("containers[name=a].env") == "containers<wbr>[name=a].<wbr>env"
