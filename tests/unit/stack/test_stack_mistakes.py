"""Every mistake in a stack file: one finding, at the right place, in plain words."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelyard.findings import Severity
from modelyard.stack import codes, load_text
from modelyard.stack.checks import check
from modelyard.stack.explain import explain
from modelyard.stack.schema import is_valid

BASE_LINES = 3
Case = tuple[str, str, int, str, str]

# One line of config (line 4 of the file), code, column, words of the summary, words of the remedy.
CASES: list[Case] = [
    # Replicas and other counts
    (
        "modelyard:rayWorker: {replicas: -1}",
        codes.RANGE,
        35,
        "rayWorker.replicas is -1; it cannot be negative",
        "0 or more",
    ),
    ('modelyard:rayWorker: {replicas: "-1"}', codes.RANGE, 35, 'is "-1"; it cannot be negative', "0 or more"),
    ("modelyard:celery: {replicas: 1.5}", codes.RANGE, 32, "is 1.5; it cannot be a fraction", "whole number"),
    ('modelyard:celery: {replicas: "1.5"}', codes.RANGE, 32, 'is "1.5"; it cannot be a fraction', "whole number"),
    ("modelyard:rayHead: {replicas: two}", codes.KIND, 33, 'is "two"; it must be a whole number', "0 or more"),
    ("modelyard:rayHead: {replicas: true}", codes.KIND, 33, "is true; it must be a whole number", "0 or more"),
    ("modelyard:rayHead: {replicas: }", codes.KIND, 33, "is empty; it must be a whole number", "0 or more"),
    ("modelyard:rayHead: {replicas: [1]}", codes.KIND, 33, "is a list; it must be a whole number", "0 or more"),
    ("modelyard:rayHead: {replicas: .nan}", codes.KIND, 33, 'is ".nan"', "0 or more"),
    ('modelyard:rayHead: {replicas: "2.0"}', codes.KIND, 33, "must be written as a whole number", "0 or more"),
    ("modelyard:rayHead: {replicas: 99999999999}", codes.RANGE, 33, "99999999999; it is too large", "whole number"),
    ("modelyard:autoscaling: {maxReplicas: 0}", codes.RANGE, 40, "is 0; it must be 1 or more", "1 or more"),
    ('modelyard:autoscaling: {maxReplicas: "0"}', codes.RANGE, 40, 'is "0"; it must be 1 or more', "1 or more"),
    # Quantities
    ("modelyard:rayWorker: {memory: 12GB}", codes.QUANTITY, 33, 'is "12GB", not a Kubernetes quantity', "12G or 12Gi?"),
    ("modelyard:rayWorker: {memory: 12 Gi}", codes.QUANTITY, 33, 'is "12 Gi", not a', "did you mean 12Gi?"),
    ("modelyard:rayWorker: {memory: 12gb}", codes.QUANTITY, 33, 'is "12gb", not a', "12G or 12Gi?"),
    ("modelyard:rayWorker: {memory: lots}", codes.QUANTITY, 33, 'is "lots", not a', "such as 16Gi"),
    ("modelyard:rayWorker: {memory: .inf}", codes.QUANTITY, 33, 'is ".inf", not a', "such as 16Gi"),
    ('modelyard:rayWorker: {memory: "12Gi\\n"}', codes.QUANTITY, 33, r'is "12Gi\n", not a', "did you mean 12Gi?"),
    ("modelyard:rayWorker: {memory: 1６Gi}", codes.QUANTITY, 33, "not a Kubernetes quantity", "such as 16Gi"),
    ("modelyard:rayWorker: {memory: -4Gi}", codes.RANGE, 33, 'is "-4Gi"; it cannot be negative', "16Gi"),
    ("modelyard:rayWorker: {memory: -0.5}", codes.RANGE, 33, "is -0.5; it cannot be negative", "16Gi"),
    ("modelyard:rayWorker: {memory: 0}", codes.RANGE, 33, "is 0; it must be above zero", "16Gi"),
    ("modelyard:rayWorker: {memory: 0.0Gi}", codes.RANGE, 33, 'is "0.0Gi"; it must be above zero', "16Gi"),
    ("modelyard:rayWorker: {memory: true}", codes.KIND, 33, "is true; it must be a Kubernetes quantity", "16Gi"),
    ("modelyard:rayWorker: {memory: {a: b}}", codes.KIND, 33, "is a mapping; it must be", "16Gi"),
    ("modelyard:rayWorker: {memory: 16}", codes.QUANTITY, 33, "is 16: less than 1Mi", "write the unit: 16Gi"),
    ("modelyard:rayWorker: {memory: 16m}", codes.QUANTITY, 33, 'is "16m": less than 1Mi', "write the unit: 16Gi"),
    ("modelyard:modelService: {volume: 50Pi}", codes.QUANTITY, 36, 'is "50Pi": more than 1Pi', "such as 16Gi"),
    ("modelyard:rayWorker: {cpu: 500M}", codes.QUANTITY, 30, 'is "500M": more than 4096 cores', "500m half a core"),
    ("modelyard:rayWorker: {cpu: 4 cores}", codes.QUANTITY, 30, 'is "4 cores", not a', "did you mean 4?"),
    # Durations
    ("modelyard:celery: {gracePeriod: 6h5}", codes.DURATION, 35, 'is "6h5", not a duration', "6h5m"),
    ("modelyard:celery: {gracePeriod: 0h0m}", codes.DURATION, 35, 'is "0h0m", not a duration above zero', "6h5m"),
    ('modelyard:celery: {gracePeriod: ""}', codes.DURATION, 35, 'is "", not a duration', "6h5m"),
    ("modelyard:celery: {gracePeriod: 0}", codes.RANGE, 35, "is 0; it must be above zero", "6h5m"),
    ("modelyard:celery: {gracePeriod: -5}", codes.RANGE, 35, "is -5; it must be above zero", "6h5m"),
    ("modelyard:celery: {gracePeriod: 1.5}", codes.RANGE, 35, "is 1.5; seconds are whole numbers", "6h5m"),
    ("modelyard:celery: {gracePeriod: true}", codes.KIND, 35, "is true; it must be a duration", "6h5m"),
    (
        "modelyard:celery: {consumerTimeout: 23400000}",
        codes.RANGE,
        39,
        "is 23400000: more than 31 days",
        "not milliseconds",
    ),
    ('modelyard:celery: {consumerTimeout: "23400000"}', codes.RANGE, 39, "more than 31 days", "not milliseconds"),
    ("modelyard:celery: {consumerTimeout: 6500h}", codes.RANGE, 39, "more than 31 days", "not milliseconds"),
    # Choices
    ("modelyard:training: rya", codes.CHOICE, 23, 'training is "rya"; it is one of ray or celery', "did you mean ray?"),
    ("modelyard:training: 5", codes.CHOICE, 23, "training is 5; it is one of ray or celery", "write ray or celery"),
    ("modelyard:training: [ray]", codes.KIND, 23, "is a list; it must be text", "write text"),
    ("modelyard:autoscaling: {mode: keda}", codes.UNAVAILABLE, 33, "mode keda is not available", "use annotations"),
    (
        "modelyard:autoscaling: {mode: anotations}",
        codes.CHOICE,
        33,
        "one of none or annotations",
        "did you mean annotations?",
    ),
    ("modelyard:autoscaling: {queries: Vendor}", codes.CHOICE, 36, "one of valid or vendor", "did you mean vendor?"),
    ('modelyard:kubernetesVersion: "1.12"', codes.CHOICE, 32, "it is one of 1.33", "write 1.33"),
    ("modelyard:kubernetesVersion: 1.35", codes.UNQUOTED, 32, "is 1.35 without quotes", 'in quotes: "1.35"'),
    (
        "modelyard:kubernetesVersion: 1.30",
        codes.UNQUOTED,
        32,
        "which YAML reads as the number 1.3",
        'in quotes: "1.30"',
    ),
    # Keys
    ("modelyard:gpus: {model: A10}", codes.UNKNOWN_KEY, 3, "unknown key modelyard:gpus", "did you mean gpu?"),
    ("modelyard:zzz: 1", codes.UNKNOWN_KEY, 3, "unknown key modelyard:zzz", "the keys are training, platform"),
    ("modelyard:gpu.perWorker: 2", codes.UNKNOWN_KEY, 3, "unknown key modelyard:gpu.perWorker", "config set --path"),
    ("modelyard:config:training: ray", codes.UNKNOWN_KEY, 3, "unknown key modelyard:config:training", "mean training?"),
    ("modelyrad:training: ray", codes.UNKNOWN_KEY, 3, "unknown key modelyrad:training", "mean modelyard:training?"),
    ("Modelyard:training: ray", codes.UNKNOWN_KEY, 3, "unknown key Modelyard:training", "mean modelyard:training?"),
    ("modelyard.training: ray", codes.UNKNOWN_KEY, 3, "unknown key modelyard.training", "mean modelyard:training?"),
    ("training: ray", codes.UNKNOWN_KEY, 3, "unknown key training", "did you mean modelyard:training?"),
    (
        "rayWorker.replicas: 2",
        codes.UNKNOWN_KEY,
        3,
        "unknown key rayWorker.replicas",
        "did you mean modelyard:rayWorker?",
    ),
    (
        "modelyard:rayWorker: {memroy: 2Gi}",
        codes.UNKNOWN_KEY,
        25,
        "unknown key rayWorker.memroy",
        "did you mean memory?",
    ),
    (
        "modelyard:rayWorker: {Memory: 2Gi}",
        codes.UNKNOWN_KEY,
        25,
        "unknown key rayWorker.Memory",
        "did you mean memory?",
    ),
    (
        "modelyard:rayWorker: {zzz: 2Gi}",
        codes.UNKNOWN_KEY,
        25,
        "unknown key rayWorker.zzz",
        "rayWorker has the keys replicas",
    ),
    ("modelyard:targets: {raHead: {}}", codes.UNKNOWN_KEY, 23, "unknown key targets.raHead", "did you mean rayHead?"),
    ("modelyard:patches: [{version: v1}]", codes.MISSING_KEY, 23, "patches[0].name is missing", "to patches[0]"),
    # Kinds
    ("modelyard:autoscaling: true", codes.KIND, 26, "autoscaling is true; it must be a mapping", "write a mapping"),
    ("modelyard:autoscaling:", codes.KIND, 25, "autoscaling is empty; it must be a mapping", "remove the key"),
    ("modelyard:waivers: {code: GPU001}", codes.KIND, 22, "waivers is a mapping; it must be a list", "write a list"),
    ("modelyard:modelService: {image: null}", codes.KIND, 35, "is empty; it must be text", "remove the key"),
    (
        "modelyard:patches: [{name: x, enabled: yes}]",
        codes.KIND,
        42,
        'is "yes"; it is either true or false',
        "true or false",
    ),
    ("modelyard:patches: [{name: x, enabled: 1}]", codes.KIND, 42, "is 1; it is either true or false", "true or false"),
    # Forms
    ("modelyard:celery: {queue: 'a\"b'}", codes.FORM, 29, r'is "a\"b", not the name of a queue', "use letters"),
    ("modelyard:targets: {rayHead: {deployment: Foo_Bar}}", codes.FORM, 45, "not a Kubernetes name", "lower-case"),
    ("modelyard:targets: {rayHead: {container: a.b}}", codes.FORM, 44, "not a Kubernetes name", "lower-case"),
    ('modelyard:modelService: {image: "a b"}', codes.FORM, 35, "not the name of an image", "registry/repository:tag"),
    ('modelyard:modelService: {image: ""}', codes.FORM, 35, "modelService.image is empty", "give a value"),
    ("modelyard:patches: [{name: x, version: 1}]", codes.FORM, 42, "is 1, not a version of a patch", "write v1"),
    ("modelyard:patches: '[{'", codes.SYNTAX, 22, "patches holds text in which the text is not YAML", "as YAML"),
    ("""modelyard:patches: '[{"name": "x", "name": "y"}]'""", codes.DUPLICATE_KEY, 22, "is given twice", "as YAML"),
    (f"modelyard:patches: '{'[' * 1000}'", codes.LIMIT, 22, "nested deeper than 64", "as YAML"),
    ("kubernetes:context: 5", codes.UNQUOTED, 23, "kubernetes:context is 5 without quotes", '"5"'),
    ('kubernetes:context: ""', codes.FORM, 23, "kubernetes:context is empty", "give a value"),
    (f"kubernetes:context: {'x' * 254}", codes.FORM, 23, "is longer than 253 characters", "shorter"),
    # Secrets
    ("modelyard:training: {secure: v1:HUSH}", codes.SECRET, 23, "training is encrypted", "without --secret"),
    ("modelyard:rayWorker: {memory: {secure: v1:HUSH}}", codes.SECRET, 33, "rayWorker.memory is encrypted", "--secret"),
    ("modelyard:rayWorker: {secure: v1:HUSH}", codes.SECRET, 24, "rayWorker is encrypted", "--secret"),
    ("modelyard:patches: [{name: {secure: v1:HUSH}}]", codes.SECRET, 30, "patches[0].name is encrypted", "--secret"),
    (
        "modelyard:patches: [{name: x, params: {secure: v1:HUSH}}]",
        codes.SECRET,
        41,
        "patches[0].params is encrypted",
        "",
    ),
    ("kubernetes:context: {secure: v1:HUSH}", codes.SECRET, 23, "kubernetes:context is encrypted", "--secret"),
    # Waivers
    ("modelyard:waivers: [{code: GPU001, expires: 2027-03-01}]", codes.WAIVER_REASON, 23, "has no reason", "say why"),
    (
        'modelyard:waivers: [{code: GPU001, reason: " ", expires: 2027-03-01}]',
        codes.WAIVER_REASON,
        46,
        "waivers[0].reason says nothing",
        "say why",
    ),
    (
        'modelyard:waivers: [{code: GPU001, reason: "\\e[31m", expires: 2027-03-01}]',
        codes.FORM,
        46,
        r"waivers[0].reason is",
        "control characters",
    ),
    (
        "modelyard:waivers: [{code: CFG001, reason: x, expires: 2027-03-01}]",
        codes.WAIVER_CODE,
        30,
        "mistakes in files cannot be waived",
        "remove the waiver",
    ),
    (
        "modelyard:waivers: [{code: GPX001, reason: x, expires: 2027-03-01}]",
        codes.WAIVER_CODE,
        30,
        'is "GPX001", not the code of a finding',
        "did you mean GPU001?",
    ),
    (
        "modelyard:waivers: [{code: res-3, reason: x, expires: 2027-03-01}]",
        codes.WAIVER_CODE,
        30,
        'is "res-3"',
        "did you mean RES003?",
    ),
    (
        "modelyard:waivers: [{code: everything, reason: x, expires: 2027-03-01}]",
        codes.WAIVER_CODE,
        30,
        'is "everything"',
        "the families are GPU, RES",
    ),
    (
        "modelyard:waivers: [{code: GPU001, reason: x, expires: 2027-02-30}]",
        codes.FORM,
        58,
        'is "2027-02-30", not a day',
        "YYYY-MM-DD",
    ),
    (
        "modelyard:waivers: [{code: GPU001, reason: x, expires: 20270301}]",
        codes.FORM,
        58,
        "is 20270301, not a day",
        "YYYY-MM-DD",
    ),
    (
        "modelyard:waivers: [{code: GPU001, reason: x}]",
        codes.MISSING_KEY,
        23,
        "waivers[0].expires is missing",
        "2027-03-01",
    ),
]
"""What loads must not be in here, what is in here must not load."""


@pytest.mark.parametrize(("line", "code", "column", "summary", "remedy"), CASES, ids=[case[0][:60] for case in CASES])
def test_each_mistake_is_one_finding(stackfiles, line: str, code: str, column: int, summary: str, remedy: str) -> None:
    (finding,) = stackfiles.refused(stackfiles.with_lines(line))
    assert (finding.code, finding.line, finding.column) == (code, BASE_LINES + 1, column)
    assert summary in finding.summary
    assert remedy in finding.remedy
    assert not finding.summary.endswith(".")
    assert "HUSH" not in repr(finding)


# Whole files: text, code, line, column, words.
FILES: list[tuple[str, str, int, int, str]] = [
    ("", codes.SHAPE, 1, 1, "the stack file is empty"),
    ("# nothing\n", codes.SHAPE, 1, 1, "the stack file is empty"),
    ("[]", codes.SHAPE, 1, 1, "is a list, not a mapping"),
    ("text", codes.SHAPE, 1, 1, "is one plain value, not a mapping"),
    ("encryptionsalt: v1:abc\n", codes.SHAPE, 1, 1, "has no config"),
    ("config:\n", codes.SHAPE, 1, 8, "config is empty"),
    ("config: [1]\n", codes.SHAPE, 1, 9, "config is not a mapping"),
    ("confg: {}\n", codes.UNKNOWN_KEY, 1, 1, "unknown key confg"),
    ("environment: [a]\nmodelyard:training: ray\n", codes.UNKNOWN_KEY, 2, 1, "modelyard:training stands beside config"),
    ('config:\n  modelyard:platform: {release: "23.10"}\n', codes.MISSING_KEY, 1, 1, "modelyard:gpu is missing"),
    ("\ud800", codes.ENCODING, 1, 1, "is not UTF-8"),
]


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
    known = {value for name, value in vars(codes).items() if name.isupper() and re.fullmatch(r"CFG\d{3}", str(value))}
    assert raised == known


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [
            "2",
            "02",
            "0",
            "-1",
            "true",
            "false",
            "yes",
            "ray",
            "keda",
            "A10",
            "16Gi",
            "12GB",
            "0Gi",
            "+1",
            "1e3",
            "1E",
            ".",
            "500m",
            "6h5m",
            "0h",
            "h",
            "23.10",
            "1.35",
            "11.7",
        ]
    ),
    st.sampled_from(["", "23.10\n", "2027-03-01", "2027-02-30", "v1", "GPU001", "x" * 300, "9" * 40, "1" * 12 + "h"]),
    st.sampled_from(["\u202e", "a b", "Ａ10", "١", "\x85", "\u00a0", "\ud7ff", "🙂", "A\n"]),
    st.text(max_size=5),
    st.lists(st.sampled_from(["x", 1]), max_size=2),
    st.dictionaries(st.sampled_from(["name", "code", "model", "secure"]), st.sampled_from(["x", 1, "A10"]), max_size=2),
)
FIELDS = {
    "platform": ["release", "mode", "namespace", "cuda", "imagesEmbedPtx"],
    "gpu": ["model", "perWorker", "allocation"],
    "rayWorker": ["replicas", "cpu", "memory", "gracePeriod", "image"],
    "celery": ["concurrency", "queue", "jobLimit", "consumerTimeout"],
    "modelService": ["volume", "gpu", "memroy"],
    "autoscaling": ["mode", "maxReplicas", "queries"],
}
RANDOM_SECTIONS = st.fixed_dictionaries(
    {},
    optional={
        **{
            f"modelyard:{section}": st.one_of(
                st.dictionaries(st.sampled_from(fields), VALUES, max_size=3), st.sampled_from([None, "x", 1, []])
            )
            for section, fields in FIELDS.items()
        },
        "modelyard:training": VALUES,
        "modelyard:kubernetesVersion": VALUES,
        "kubernetes:context": VALUES,
        "modelyard:unknown": VALUES,
        "modelyard:patches": st.one_of(
            VALUES,
            st.lists(st.dictionaries(st.sampled_from(["name", "version", "params", "enabled"]), VALUES), max_size=2),
        ),
        "modelyard:waivers": st.lists(
            st.dictionaries(st.sampled_from(["code", "reason", "expires", "target", "by"]), VALUES), max_size=2
        ),
    },
)
VALID = {"modelyard:platform": {"release": "23.10"}, "modelyard:gpu": {"model": "A10"}}


@settings(max_examples=400)
@given(RANDOM_SECTIONS)
def test_gate_and_explanation_agree(sections: dict[str, object]) -> None:
    config = {**VALID, **sections}
    mistakes = explain(config, {})
    assert is_valid(config) == (not mistakes)
    assert all(mistake.summary.isprintable() and mistake.summary and mistake.remedy for mistake in mistakes)
    assert all(mistake.summary for mistake in check(config, {}, ()))


@pytest.mark.parametrize("line", [case[0] for case in CASES])
def test_gate_and_explanation_agree_on_the_cases(stackfiles, line: str) -> None:
    from modelyard.stack.document import parse

    document, _ = parse(stackfiles.with_lines(line).encode())
    assert document is not None
    config = {key: value for key, value in document.value["config"].items() if key.startswith("modelyard:")}
    assert is_valid(config) == (not explain(config, {}))
