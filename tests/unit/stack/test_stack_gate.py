"""The quick gate and the slow explanation agree on which stack files are right."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelyard.stack.checks import check
from modelyard.stack.explain import explain
from modelyard.stack.schema import is_valid
from tests.support.invalid_stack_cases import CASES

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
    "platform": ["release", "mode", "namespace", "cuda", "imagesEmbedPtx", "installers"],
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


@pytest.mark.slow
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
    from modelyard.stack.yaml.document import parse

    document, _ = parse(stackfiles.with_lines(line).encode())
    assert document is not None
    config = {key: value for key, value in document.value["config"].items() if key.startswith("modelyard:")}
    assert is_valid(config) == (not explain(config, {}))
