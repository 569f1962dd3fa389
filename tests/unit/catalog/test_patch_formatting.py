"""The layout of a patch's files."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelyard.catalog.formatting import WIDTH, formatted_file

PATCHES = Path(__file__).parents[3] / "patches"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner, max_size=5),
    max_leaves=30,
)


@pytest.mark.parametrize("path", sorted(PATCHES.glob("*/*/*")), ids=lambda path: path.relative_to(PATCHES).as_posix())
def test_the_projects_own_patches_have_the_layout(path: Path) -> None:
    text = path.read_text()
    assert formatted_file(path.name, text).text == text


def test_meta_has_its_keys_in_order() -> None:
    text = "params: {b:   c}\n# when\nwhen: {training: ray}\ndescription: x\n"
    assert formatted_file("meta.yaml", text).text == "description: x\n# when\nwhen: {training: ray}\nparams: {b: c}\n"


def test_other_yaml_keeps_its_order() -> None:
    assert formatted_file("tests.yaml", "params:   1\ndescription: 2\n").text == "params: 1\ndescription: 2\n"


def test_json_has_a_line_for_each_key_and_then_what_fits() -> None:
    wide = f'"b": {{"c": "{"x" * WIDTH}", "d": [1, 2]}}'
    assert formatted_file("schema.json", f'{{"a":{{"e":1.50,\n"f":[ ]}},{wide}}}').text == (
        '{\n  "a": {"e": 1.50, "f": []},\n  "b": {\n    "c": "' + "x" * WIDTH + '",\n    "d": [1, 2]\n  }\n}\n'
    )


@pytest.mark.parametrize("value", ["1.50", "1e5", "-0.0", '"\\u00e9"', '"a: {b}, [c]"', '"\\""', "[]", "{}", "null"])
def test_json_values_stay_as_they_are_written(value: str) -> None:
    assert formatted_file("schema.json", f'{{"a" : {value} }}').text == f'{{\n  "a": {value}\n}}\n'


@pytest.mark.slow
@given(VALUES, st.sampled_from((None, 1, 4)), st.sampled_from(((",", ":"), (", ", ": "), (" , ", " : "))))
def test_json_means_the_same_and_formatting_it_has_an_end(
    value: Any, indent: int | None, marks: tuple[str, str]
) -> None:
    text = json.dumps(value, indent=indent, separators=marks)
    made = formatted_file("schema.json", text)
    assert made.problem is None
    assert json.loads(made.text) == value
    assert formatted_file("schema.json", made.text).text == made.text


def test_unreadable_json_is_reported_with_its_line() -> None:
    made = formatted_file("schema.json", '{\n  "a": 1,\n}\n')
    assert made.text == '{\n  "a": 1,\n}\n'
    assert made.problem is not None
    assert (made.problem.code, made.problem.line) == ("PAT009", 3)
    assert not made.problem.harmless


@pytest.mark.parametrize("text", ["9" * 5000, "NaN", "[" * 500 + "]" * 500, r'"\ud800"'])
def test_json_that_no_reader_accepts_is_refused(text: str) -> None:
    made = formatted_file("schema.json", text)
    assert made.text == text
    assert made.problem is not None
    assert made.problem.code == "PAT009"


def test_only_line_ends_of_a_template_change() -> None:
    text = "# target: x  \r\n\r\na:   {{ b }}\t\r\n{%- if c   %}\r\n    d: 1\r\n{%- endif %}\r\n\r\n\r\n"
    assert formatted_file("patch.yaml.j2", text).text == (
        "# target: x\n\na:   {{ b }}\n{%- if c   %}\n    d: 1\n{%- endif %}\n"
    )


def test_spaces_stay_in_a_template_with_a_block_of_text() -> None:
    text = "data:\n  script: |\n    one  \n    two\n"
    assert formatted_file("patch.yaml.j2", text).text == text


def test_a_template_renders_the_same() -> None:
    from jinja2 import Environment

    for path in PATCHES.glob("*/*/*.j2"):
        text = path.read_text()
        if "|\n" in text:  # in a block of text spaces are text
            assert formatted_file(path.name, text).text == text
            continue
        loose = text.replace("\n", "   \n") + "\n\n"
        made = formatted_file(path.name, loose).text
        assert Environment().parse(made).body
        assert [line.rstrip() for line in loose.rstrip().split("\n")] == made.rstrip("\n").split("\n")


def test_files_of_another_kind_stay() -> None:
    assert formatted_file("notes.txt", "a   \n\n\n").text == "a   \n\n\n"
