"""Waivers: what they cover, and when they are wrong themselves."""

import re
from datetime import date

import pytest

from modelyard.findings import Finding, Severity
from modelyard.stack import apply_waivers, codes

TODAY = date(2026, 11, 21)
GPU = Finding("GPU001", Severity.ERROR, "too slow", stack="dev", target="deployment-a")
OTHER = Finding("GPU001", Severity.ERROR, "too slow", stack="dev", target="deployment-b")
MEMORY = Finding("RES001", Severity.WARNING, "too little", stack="dev")
WAIVER = "modelyard:waivers: [{code: GPU001, reason: on order, expires: 2027-03-01, by: Ada%s}]"


@pytest.fixture
def stack(stackfiles):
    return lambda extra="": stackfiles.loaded(stackfiles.with_lines(WAIVER % extra))


def test_a_waiver_covers_findings_of_its_code(stack) -> None:
    assert apply_waivers((GPU, MEMORY, OTHER), stack(), TODAY) == (
        MEMORY,
        GPU._replace(waived="on order (Ada)"),
        OTHER._replace(waived="on order (Ada)"),
    )
    assert not apply_waivers((GPU,), stack(), TODAY)[0].blocks


def test_a_waiver_with_a_target_covers_that_target_only(stack) -> None:
    found = apply_waivers((GPU, OTHER), stack(", target: deployment-b"), TODAY)
    assert found == (GPU, OTHER._replace(waived="on order (Ada)"))


def test_a_waiver_holds_on_its_last_day(stack) -> None:
    assert apply_waivers((GPU,), stack(), date(2027, 3, 1)) == (GPU._replace(waived="on order (Ada)"),)


def test_an_expired_waiver_is_an_error_and_covers_nothing(stack, stackfiles) -> None:
    gpu, expired = sorted(apply_waivers((GPU,), stack(), date(2027, 3, 2)), reverse=True)
    assert gpu == GPU
    assert (expired.code, expired.severity, expired.stack) == (codes.WAIVER_EXPIRED, Severity.ERROR, "dev")
    assert expired.location == f"{stackfiles.FILE}:4:56"
    assert {"GPU001", "2027-03-01"} <= set(expired.summary.split())
    assert "on order" in expired.detail
    assert expired.blocks


def test_a_waiver_that_covers_nothing_is_advice(stack, stackfiles) -> None:
    memory, unused = apply_waivers((MEMORY,), stack(), TODAY)
    assert memory == MEMORY
    assert (unused.code, unused.severity) == (codes.WAIVER_UNUSED, Severity.ADVICE)
    assert unused.location == f"{stackfiles.FILE}:4:23"
    _, unused = apply_waivers((GPU,), stack(", target: deployment-z"), TODAY)
    assert unused.code == codes.WAIVER_UNUSED
    assert "GPU001 for deployment-z" in unused.summary


def test_a_waiver_of_an_unknown_code_is_an_error(stackfiles) -> None:
    stack = stackfiles.loaded(stackfiles.with_lines(WAIVER.replace("GPU001", "OWN999") % ""))
    (unknown,) = apply_waivers((), stack, TODAY)
    assert (unknown.code, unknown.severity) == (codes.WAIVER_CODE, Severity.ERROR)
    assert unknown.location == f"{stackfiles.FILE}:4:24"
    assert "OWN999" in unknown.summary
    assert re.search(r"did you mean OWN\d", unknown.remedy)


@pytest.mark.parametrize("by", ["", ', by: " "'])
def test_a_waiver_without_a_name_holds_and_is_a_warning(stackfiles, by: str) -> None:
    waiver = "{code: GPU001, reason: on order, expires: 2027-03-01" + by + "}"
    stack = stackfiles.loaded(stackfiles.with_lines(f"modelyard:waivers: [{waiver}]"))
    nobody, gpu = apply_waivers((GPU,), stack, TODAY)
    assert gpu.waived.startswith("on order")
    assert (nobody.code, nobody.severity) == (codes.WAIVER_BY, Severity.WARNING)
    assert "GPU001" in nobody.summary
    assert "by:" in nobody.remedy
    assert nobody.location == f"{stackfiles.FILE}:4:23"


def test_two_waivers_of_one_finding_are_both_used(stackfiles) -> None:
    one = "{code: GPU001, reason: first, by: Ada, expires: 2027-03-01, target: deployment-a}"
    two = "{code: GPU001, reason: second, by: Ada, expires: 2027-03-01}"
    stack = stackfiles.loaded(stackfiles.with_lines(f"modelyard:waivers: [{one}, {two}]"))
    assert apply_waivers((GPU,), stack, TODAY) == (GPU._replace(waived="first (Ada)"),)


def test_other_stacks_and_mistakes_in_the_file_are_never_covered(stack) -> None:
    foreign = GPU._replace(stack="prod")
    mistake = Finding("CFG002", Severity.WARNING, "mark", stack="dev")
    found = apply_waivers((foreign, mistake), stack(), TODAY)
    assert {finding.waived for finding in found} == {""}
    assert [finding.code for finding in found] == ["GPU001", "CFG002", codes.WAIVER_UNUSED]


@pytest.mark.parametrize("code", ["OWN005", "REM013"])
def test_a_wrong_cluster_is_never_covered(stackfiles, code: str) -> None:
    wrong = Finding(code, Severity.ERROR, "another cluster", stack="dev")
    waiver = f"{{code: {code}, reason: moved, by: Ada, expires: 2027-03-01}}"
    stack = stackfiles.loaded(stackfiles.with_lines(f"modelyard:waivers: [{waiver}]"))
    found = apply_waivers((wrong,), stack, TODAY)
    assert {(one.code, one.waived, one.blocks) for one in found} == {(code, "", True), (codes.WAIVER_CODE, "", True)}
    (late,) = apply_waivers((), stack, date(2027, 3, 2))
    assert late.remedy == f"remove it: {code} cannot be waived"


def test_without_waivers_findings_come_back_in_order(stackfiles) -> None:
    assert apply_waivers((MEMORY, OTHER, GPU, GPU), stackfiles.loaded(stackfiles.BASE), TODAY) == (
        GPU,
        OTHER,
        MEMORY,
    )
