"""Every mistake in a stack file: one finding, at the right place, in plain words."""

import re

import pytest

from modelyard.findings import Severity
from modelyard.stack import codes, load_text
from tests.support.invalid_stack_cases import CASES, FILES

BASE_LINES = 3


@pytest.mark.parametrize(("line", "code", "column", "summary", "remedy"), CASES, ids=[case[0][:60] for case in CASES])
def test_each_mistake_is_one_finding(stackfiles, line: str, code: str, column: int, summary: str, remedy: str) -> None:
    (finding,) = stackfiles.refused(stackfiles.with_lines(line))
    assert (finding.code, finding.line, finding.column) == (code, BASE_LINES + 1, column)
    assert summary in finding.summary
    assert remedy in finding.remedy
    assert not finding.summary.endswith(".")
    assert "HUSH" not in repr(finding)


@pytest.mark.parametrize(
    ("line", "column", "remedy"),
    [
        ("modelyard:jobs: [{name: a, type: training, timeLimit: 6}]", 57, "6h, 6m or 6s"),
        ('modelyard:jobs: [{name: a, type: training, keep: "90"}]', 52, "90h, 90m or 90s"),
        ("modelyard:notebooks: {timeLimit: 119}", 36, "119h, 119m or 119s"),
        ("modelyard:notebooks: {timeLimit: 120}", 0, ""),
        ("modelyard:notebooks: {timeLimit: 6s}", 0, ""),
        ("modelyard:autoscaling: {pollingInterval: 6}", 0, ""),
    ],
)
def test_a_duration_that_has_lost_its_unit_is_a_warning(stackfiles, line: str, column: int, remedy: str) -> None:
    stack, findings = load_text(stackfiles.with_lines(line), "dev", "stacks/Pulumi.dev.yaml")
    assert stack is not None
    assert [(one.code, one.severity, one.column) for one in findings] == (
        [(codes.DURATION, Severity.WARNING, column)] if remedy else []
    )
    assert all(remedy in one.remedy for one in findings)


def test_labels_have_no_sizes(stackfiles) -> None:
    text = stackfiles.with_lines('modelyard:labels: {size: "16", cpu: "8000", keep: 1000h}')
    stack, findings = load_text(text, "dev", "stacks/Pulumi.dev.yaml")
    assert (stack is not None, findings) == (True, ())


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "summary"), FILES, ids=[repr(case[0][:40]) for case in FILES]
)
def test_each_misshapen_file_is_one_finding(
    stackfiles, text: str, code: str, line: int, column: int, summary: str
) -> None:
    (finding,) = stackfiles.refused(text)
    assert (finding.code, finding.line, finding.column) == (code, line, column)
    assert summary in finding.summary
    assert finding.remedy


@pytest.mark.parametrize(
    ("text", "line", "remedy"),
    [
        ('modelyard:platform: {release: "23.10"}\n  modelyard:gpus: {model: A10}', 3, "did you mean gpu?"),
        ('modelyard:platform: {relase: "23.10"}\n  modelyard:gpu: {model: A10}', 2, "did you mean release?"),
        ('modelyard:platform: {release: "23.10"}\n  modelyrad:gpu: {model: A10}', 3, "did you mean modelyard:gpu?"),
    ],
)
def test_a_misspelt_key_is_not_missing_too(stackfiles, text: str, line: int, remedy: str) -> None:
    (finding,) = stackfiles.refused(f"config:\n  {text}\n")
    assert (finding.code, finding.line, finding.remedy) == (codes.UNKNOWN_KEY, line, remedy)


@pytest.mark.parametrize(
    ("release", "code", "summary", "remedy"),
    [
        ("23.10", codes.UNQUOTED, "is 23.10 without quotes, which YAML reads as the number 23.1", '"23.10"'),
        ("23.07", codes.UNQUOTED, "is 23.07 without quotes", '"23.07"'),
        ("23.7", codes.UNQUOTED, "is 23.7 without quotes", '"23.07"'),
        ("23", codes.FORM, "is 23, not a platform release", '"23.10"'),
        ('"23.7"', codes.FORM, 'is "23.7", not a platform release', 'did you mean "23.07"?'),
        ('"23.10.4"', codes.FORM, "not a platform release", 'did you mean "23.10"?'),
        ('"23.13"', codes.FORM, "not a platform release", "year and month"),
        ("latest", codes.FORM, "not a platform release", "year and month"),
        ('"23.10\\n"', codes.FORM, r'"23.10\n", not a platform release', "year and month"),
        ("", codes.KIND, "platform.release is empty", "give a value"),
    ],
)
def test_releases_in_words(stackfiles, release: str, code: str, summary: str, remedy: str) -> None:
    text = stackfiles.BASE.replace('"23.10"', release)
    (finding,) = stackfiles.refused(text)
    assert (finding.code, finding.line, finding.column) == (code, 2, 33)
    assert summary in finding.summary
    assert remedy in finding.remedy


def test_all_mistakes_come_at_once_in_the_order_of_the_file(stackfiles) -> None:
    findings = stackfiles.refused(
        "config:\n"
        "  modelyard:platform: {release: 23.10, mode: manged, namespace: Foo, cuda: 11.7}\n"
        "  modelyard:gpu: {perWorker: 0, allocation: half, model: A10, model: A30}\n"
        "  modelyard:rayWorker: {memory: 12GB, memroy: 3, gracePeriod: 5y}\n"
        "  training: ray\n"
        "secretprovider: x\n"
    )
    assert [(finding.line, finding.code) for finding in findings] == [
        (2, codes.UNQUOTED),
        (2, codes.CHOICE),
        (2, codes.FORM),
        (2, codes.UNQUOTED),
        (3, codes.RANGE),
        (3, codes.CHOICE),
        (3, codes.DUPLICATE_KEY),
        (4, codes.QUANTITY),
        (4, codes.UNKNOWN_KEY),
        (4, codes.DURATION),
        (5, codes.UNKNOWN_KEY),
        (6, codes.UNKNOWN_KEY),
    ]
    assert all(finding.severity is Severity.ERROR for finding in findings)


def test_wrong_values_of_an_alias_point_at_the_anchor(stackfiles) -> None:
    findings = stackfiles.refused(
        stackfiles.with_lines(
            "modelyard:rayWorker: &size {memory: 12GB}", "modelyard:celery: {<<: *size, replicas: -1}"
        )
    )
    assert [(finding.field, finding.line, finding.column) for finding in findings] == [
        ("celery.memory", 4, 39),
        ("rayWorker.memory", 4, 39),
        ("celery.replicas", 5, 43),
    ]


HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\u2066"


def test_the_last_of_two_equal_sections_is_checked_as_text(stackfiles) -> None:
    twice = stackfiles.with_lines("modelyard:rayWorker: {cpu: 8}", "modelyard:rayWorker: {cpu: .nan}")
    (finding,) = (one for one in stackfiles.refused(twice) if one.code != codes.DUPLICATE_KEY)
    assert (finding.field, '".nan"' in finding.summary) == ("rayWorker.cpu", True)


def test_hostile_text_never_reaches_a_message_raw(stackfiles) -> None:
    escaped = HOSTILE.replace("\x1b", r"\e").replace("\x07", r"\a")
    text = (
        stackfiles.with_lines(
            f'"modelyard:{escaped}": 1',
            f'"modelyrad:{escaped}": 1',
            f'modelyard:rayWorker: {{"{escaped}": 1, memory: "{escaped}", image: "{escaped}"}}',
            f'modelyard:training: "{escaped}"',
            f'kubernetes:context: "{escaped}"',
            f'modelyard:waivers: [{{code: "{escaped}", reason: "{escaped}", expires: "{escaped}", by: "{escaped}"}}]',
            f"modelyard:patches: '[\"{escaped}'",
        )
        + f'"{escaped}:x": 1\n'
    )
    findings = stackfiles.refused(text)
    assert len(findings) >= 11
    for finding in findings:
        for words in finding:
            assert not isinstance(words, str) or words.isprintable(), words


def test_the_shown_path_is_escaped_too(stackfiles) -> None:
    _, (finding,) = load_text("", "dev", "stacks/\x1b[31m.yaml")
    assert finding.file.isprintable()


def test_long_values_are_cut(stackfiles) -> None:
    (finding,) = stackfiles.refused(stackfiles.with_lines(f"modelyard:training: {'x' * 10_000}"))
    assert len(finding.summary) < 200


def test_every_code_is_raised_by_a_case() -> None:
    raised = {case[1] for case in CASES} | {case[1] for case in FILES}
    # Those of text and files are in test_stack_document and test_stack_project, those of waivers in test_stack_waivers.
    raised |= {codes.SYNTAX, codes.FEATURE, codes.UNREADABLE, codes.WAIVER_EXPIRED, codes.WAIVER_UNUSED}
    raised |= {codes.WAIVER_BY, codes.NO_CONTEXT}  # test_stack_loader has the second.
    known = {value for name, value in vars(codes).items() if name.isupper() and re.fullmatch(r"CFG\d{3}", str(value))}
    assert raised == known


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("zebra", "remove it; known keys are config, encryptionsalt,"),
        ("rayWorker", "write modelyard:rayWorker under `config:`"),
        ("ray_worker", "write modelyard:rayWorker under `config:`"),
        ("packages", "remove it; known keys are config, encryptionsalt,"),
    ],
)
def test_a_key_beside_config_that_pulumi_ignores_is_a_warning(key: str, remedy: str) -> None:
    text = 'config:\n  modelyard:platform: {release: "23.10"}\n  modelyard:gpu: {model: A10}\n'
    known = "encryptionsalt: v1:a\nencryptedkey: a\nsecretsprovider: passphrase\nenvironment: [a]\n"
    stack, findings = load_text(f"{text}{known}{key}: 1\n", "dev", "stacks/Pulumi.dev.yaml")
    assert stack is not None
    (finding,) = findings
    assert (finding.code, finding.severity, finding.line) == (codes.UNKNOWN_KEY, Severity.WARNING, 8)
    assert finding.summary.startswith(f"unknown key {key}, ")
    assert finding.remedy.startswith(remedy)
