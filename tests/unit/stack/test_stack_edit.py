"""Single values changed in a YAML text, and nothing else."""

from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from modelyard.stack.yaml.edit import EditError, with_value

TEXT = """\
# top
config:
  kubernetes:context: dev   # who
  modelyard:platform:
    release: "23.10"
    mode: existing  # stays
  modelyard:gpu: {model: A10, perWorker: 1}
  modelyard:empty: {}
  modelyard:patches:
    - name: ray-worker
      version: v1
    # between
    - name: model-service
# bottom
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("config", "modelyard:platform", "release"), "24.01", 'release: "23.10"', 'release: "24.01"'),
        (("config", "modelyard:platform", "mode"), "managed", "mode: existing  # stays", "mode: managed  # stays"),
        (("config", "modelyard:gpu", "perWorker"), 4, "perWorker: 1}", "perWorker: 4}"),
        (
            ("config", "modelyard:gpu", "allocation"),
            "multi_gpu",
            "perWorker: 1}",
            "perWorker: 1, allocation: multi_gpu}",
        ),
        (("config", "modelyard:empty", "a"), 1, "empty: {}", "empty: {a: 1}"),
        (("config", "modelyard:patches", 0, "version"), "v2", "version: v1", "version: v2"),
        (
            ("config", "modelyard:patches", 1, "version"),
            "v2",
            "    - name: model-service\n",
            "    - name: model-service\n      version: v2\n",
        ),
        (
            ("config", "modelyard:patches", 2),
            {"name": "x", "params": {"a": 1}},
            "    - name: model-service\n",
            "    - name: model-service\n    - name: x\n      params:\n        a: 1\n",
        ),
        (
            ("config", "modelyard:platform", "cuda"),
            "12.4",
            "mode: existing  # stays\n",
            "mode: existing  # stays\n    cuda: '12.4'\n",
        ),
        (
            ("config", "modelyard:celery", "queue"),
            "jobs",
            "    - name: model-service\n",
            "    - name: model-service\n  modelyard:celery:\n    queue: jobs\n",
        ),
    ],
)
def test_one_value_changes_and_the_rest_stays(path: Any, value: Any, old: str, new: str) -> None:
    assert TEXT.count(old) == 1
    assert with_value(TEXT, path, value) == TEXT.replace(old, new)


def test_a_file_without_a_final_newline() -> None:
    assert with_value("a: 1", ("b",), 2) == "a: 1\nb: 2\n"


def test_an_empty_file() -> None:
    assert with_value("", ("a", "b"), 1) == "a:\n  b: 1\n"


@pytest.mark.parametrize(("text", "path"), [("a: 1", ("a", "b")), ("a: [", ("a",)), ("- 1\n", ("a",))])
def test_an_impossible_edit_is_an_error(text: str, path: Any) -> None:
    with pytest.raises(EditError):
        with_value(text, path, 1)


KEYS = st.text("abcdefgh", min_size=1, max_size=3)
VALUES = st.one_of(
    st.integers(), st.booleans(), st.text(max_size=8), st.sampled_from(["23.10", "1e3", "yes", "- x", "#"])
)
TREES = st.recursive(VALUES, lambda inner: st.dictionaries(KEYS, inner, min_size=1, max_size=3), max_leaves=8)


@given(
    st.dictionaries(KEYS, TREES, min_size=1, max_size=3), st.lists(KEYS, min_size=1, max_size=3), VALUES, st.booleans()
)
@example({"aa": "\xa0"}, ["a"], 0, True)  # a space to Python, a value to YAML
def test_the_edited_value_is_the_only_difference(tree: dict[str, Any], path: list[str], value: Any, flow: bool) -> None:
    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True)
    wanted = yaml.safe_load(text)
    place = wanted
    for key in path[:-1]:
        place = place.setdefault(key, {}) if isinstance(place, dict) else None
    if not isinstance(place, dict):
        with pytest.raises(EditError):
            with_value(text, tuple(path), value)
        return
    place[path[-1]] = value
    assert yaml.safe_load(with_value(text, tuple(path), value)) == wanted
