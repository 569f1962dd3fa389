"""Changed fields and values in the words of a reader."""

from typing import Any

import pytest

from modelyard import merge
from modelyard.findings import Finding, Severity
from modelyard.plan import FieldChange
from modelyard.report.fields import lines_of
from modelyard.report.finding import findings_text, tally
from modelyard.report.style import Style, shorten, wrapped
from modelyard.report.values import count, text_of


def change(path: str, before: Any, after: Any, *, taken: str = "") -> FieldChange:
    owners = (merge.Owner(taken, "Update"),) if taken else ()
    return FieldChange(merge.Path.parse(path), before, after, "p@v1", owners, bool(taken))


POD = "spec.template.spec.containers[name=worker]"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("spec.replicas", "spec.replicas"),
        (f"{POD}.image", "worker: image"),
        (f"{POD}.env[name=NUM].value", "worker: env NUM"),
        ('spec.template.metadata.annotations["a/b"]', "pod annotations.a/b"),
        ("spec.template.spec.terminationGracePeriodSeconds", "terminationGracePeriodSeconds"),
        ("spec.template.spec.volumes[name=v].emptyDir.sizeLimit", "volumes v.emptyDir.sizeLimit"),
    ],
)
def test_names_leave_out_what_every_deployment_shares(path: str, name: str) -> None:
    assert [line.name for line in lines_of([change(path, 1, 2)])] == [name]


def test_a_request_that_equals_its_limit_is_not_told_twice() -> None:
    both = [
        change(f"{POD}.resources.limits.memory", "8Gi", "16Gi"),
        change(f"{POD}.resources.requests.memory", "8Gi", "16Gi"),
    ]
    (line,) = lines_of(both)
    assert (line.name, line.before, line.after) == ("worker: limits and requests memory", "8Gi", "16Gi")
    apart = [both[0], both[1]._replace(before="4Gi")]
    assert len(lines_of(apart)) == 2


def test_the_key_of_a_new_list_item_is_not_a_change_of_its_own() -> None:
    new = [
        change(f"{POD}.env[name=X].name", merge.ABSENT, "X"),
        change(f"{POD}.env[name=X].value", merge.ABSENT, "1"),
    ]
    assert [line.name for line in lines_of(new)] == ["worker: env X"]


def test_who_loses_a_field_is_said_only_where_it_is_taken() -> None:
    lines = lines_of([change("spec.a", 1, 2, taken="helm"), change("spec.b", 1, 2)])
    assert [line.taken_from for line in lines] == [("helm",), ()]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (merge.ABSENT, "(none)"),
        (None, "null"),
        (True, "true"),
        ("plain words", "plain words"),
        ("", '""'),
        (" padded", '" padded"'),
        ("two\nlines", '"two\\nlines"'),
        (["a", 1], "[a, 1]"),
        ({"a": {"b": "c: d"}}, '{a: {b: "c: d"}}'),
    ],
)
def test_values_on_one_line(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_counting() -> None:
    assert (count(0, "pod"), count(1, "pod"), count(2, "pod")) == ("0 pods", "1 pod", "2 pods")


def test_text_is_cut_in_the_middle_and_wrapped_at_words() -> None:
    assert shorten("a" * 30 + "b" * 30, 11) == "aaaaaa…bbbb"
    assert shorten("short", 11) == "short"
    assert wrapped("one two three", 4, 12, "-") == ["-   one two", "    three"]
    assert wrapped("", 4) == [""]


ERROR = Finding("GPU001", Severity.ERROR, "too slow", "dev", "d", "f", "because", "buy another", "s.yaml", 3, 5)


def test_a_finding_says_what_where_why_and_what_to_do() -> None:
    assert findings_text([ERROR]) == [
        "  error   GPU001  too slow",
        "                  s.yaml:3:5  d",
        "                  because",
        "                  → buy another",
    ]
    assert findings_text([ERROR._replace(waived="on order")]) == [
        "  waived  GPU001  too slow",
        "                  s.yaml:3:5  d",
        "                  waived: on order",
    ]
    assert findings_text([ERROR], Style(True))[0] == "  \x1b[1;31merror   GPU001  \x1b[0mtoo slow"


def test_the_tally_leaves_out_what_is_zero() -> None:
    warning, note = (ERROR._replace(severity=severity) for severity in (Severity.WARNING, Severity.ADVICE))
    assert tally([]) == ""
    assert tally([ERROR, warning, warning, note]) == "1 error, 2 warnings, 1 note"
    assert tally([ERROR._replace(waived="x"), ERROR]) == "1 error, 1 waived"
