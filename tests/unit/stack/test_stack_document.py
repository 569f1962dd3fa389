"""YAML to values with positions, and everything that a YAML file can be wrong in."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelyard.files import MAX_YAML_BYTES
from modelyard.stack import codes
from modelyard.stack.yaml.document import MAX_DEPTH, MAX_NODES, parse, parse_plain, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("", None),
        ("~", None),
        ("null", None),
        ("none", "none"),
        ("12", 12),
        ("+1", 1),
        ("-3", -3),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("4_000", "4_000"),
        ("1:30", "1:30"),
        ("23.10", 23.1),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1.", 1.0),
        (".", "."),
        ("-", "-"),
        ("+", "+"),
        (".inf", ".inf"),
        ("-.inf", "-.inf"),
        (".nan", ".nan"),
        ("1e400", "1e400"),
        ("9" * 5000, "9" * 5000),
        ("2027-03-01", "2027-03-01"),
        ("16Gi", "16Gi"),
        ("1٢", "1٢"),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, value: object) -> None:
    resolved = resolve(text)
    assert resolved == value
    assert type(resolved) is type(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_survive(number: float) -> None:
    assert math.isclose(float(resolve(repr(number)) or 0.0), number)


def test_values_and_places() -> None:
    document, problems = parse(b"a:\n  - b: 1.50\n    c: 'true'\n  - ~\n")
    assert problems == ()
    assert document is not None
    assert document.value == {"a": [{"b": 1.5, "c": "true"}, None]}
    assert document.keys == {
        ("a",): (1, 1),
        ("a", 0): (2, 5),
        ("a", 0, "b"): (2, 5),
        ("a", 0, "c"): (3, 5),
        ("a", 1): (4, 5),
    }
    assert document.values[("a", 0, "b")] == (2, 8)
    assert document.texts == {("a", 0, "b"): "1.50"}


def test_columns_count_characters_not_bytes() -> None:
    document, _ = parse("{ü: 1, b: 2}".encode())
    assert document is not None
    assert document.keys[("b",)] == (1, 8)


def test_quoted_scalars_and_the_text_tag_are_text() -> None:
    assert parse_plain(b"{a: '1', b: \"true\", c: !!str 5}") == ({"a": "1", "b": "true", "c": "5"}, None)


def test_anchors_share_values_and_point_at_the_anchored_lines() -> None:
    document, problems = parse(b"a: &x {b: 1.0, c: {d: 2}}\ne: *x\nf: &y 7\ng: *y\n")
    assert problems == ()
    assert document is not None
    assert document.value["e"] == {"b": 1.0, "c": {"d": 2}}
    assert document.value["g"] == 7
    assert document.keys[("e", "c", "d")] == document.keys[("a", "c", "d")]
    assert document.values[("e",)] == (2, 4)
    assert document.texts[("e", "b")] == "1.0"
    assert document.texts[("g",)] == "7"


def test_merge_keys_fill_in_what_is_not_there() -> None:
    text = b"a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc: {<<: *a, x: 3}\nd: {<<: [*a, *b]}\n"
    document, problems = parse(text)
    assert problems == ()
    assert document is not None
    assert document.value["c"] == {"x": 3, "y": 1}
    assert document.value["d"] == {"x": 1, "y": 1, "z": 2}
    assert document.keys[("d", "z")] == (2, 14)
    assert document.texts[("d", "z")] == "2"


def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    assert parse_plain(b'"<<": {a: 1}') == ({"<<": {"a": 1}}, None)


def test_secrets_are_found_with_their_places() -> None:
    document, _ = parse(b"a: {secure: v1:x}\nb: [{secure: v1:y}]\nc: {secure: v1:z, other: 1}\nd: {secure: 5}\n")
    assert document is not None
    assert document.secrets == (("a",), ("b", 0))


def test_aliases_and_merges_of_secrets_are_secrets() -> None:
    document, _ = parse(b"a: &a {t: {secure: v1:x}}\nb: *a\nc: {<<: *a, n: 1}\n")
    assert document is not None
    assert set(document.secrets) == {("a", "t"), ("b", "t"), ("c", "t")}


def test_the_remedy_of_a_missing_space_names_the_key_without_its_value() -> None:
    (problem,) = parse(b"env:\n- name: DB_PASSWORD\n  value:hunter2\n  foo: bar\n")[1]
    assert problem.remedy == "write a space after the colon: value: …"
    (problem,) = parse(b"a: 1\nhttp://example.com/x\nb: 1\n")[1]
    assert "colon: http" not in problem.remedy


@pytest.mark.parametrize(
    ("text", "words"),
    [(b"a: {b: @foo}", "special character"), (b'a: {b: "\\d"}', "escape"), (b"a: [b, `c]", "special")],
)
def test_errors_of_a_value_in_brackets_keep_their_own_words(text: bytes, words: str) -> None:
    (problem,) = parse(text)[1]
    assert words in f"{problem}"


def test_empty_text_is_nothing() -> None:
    assert parse_plain(b"") == (None, None)
    assert parse_plain(b"# only a comment\n") == (None, None)


def bomb() -> bytes:
    lines = [b"- &a [" + b",".join([b"x"] * 10) + b"]"]
    lines += [b"- &%c [%s]" % (98 + i, b",".join([b"*%c" % (97 + i)] * 10)) for i in range(9)]
    return b"\n".join(lines)


@pytest.mark.parametrize(
    ("content", "code", "line", "column", "words"),
    [
        (b"a:\n\tb: 1\n", codes.SYNTAX, 2, 1, "indented with a tab"),
        (b"a:\n  b: 1\n \tc: 2\n", codes.SYNTAX, 3, 2, "indented with a tab"),
        (b"a: [1, 2\n", codes.SYNTAX, 1, 4, "the [ that opens here is not closed"),
        (b"a:\n  b: [\n  c: 1\n", codes.SYNTAX, 2, 6, "the [ that opens here is not closed"),
        (b"a: {b: 1\nc: 2\n", codes.SYNTAX, 1, 4, "the { that opens here is not closed"),
        (b"a: {b: [1, 2}\n", codes.SYNTAX, 1, 8, "the [ that opens here is not closed"),
        (b"a: {b: 1 c: 2}\n", codes.SYNTAX, 1, 11, "a comma or a value is missing here"),
        (b"a:\n    b: 1\n  c: 2\n", codes.SYNTAX, 3, 3, "not part of the mapping that begins on line 1"),
        (b"- a\nb: 1\n", codes.SYNTAX, 2, 1, "not part of the list that begins on line 1"),
        (b"a:\n<<<<<<< HEAD\n  b: 1\n=======\n  b: 2\n>>>>>>> x\n", codes.SYNTAX, 2, 1, "unresolved merge conflict"),
        (b"a:\n  model:A10\n  b: 1\n", codes.SYNTAX, 2, 3, "a space is missing after the colon"),
        (b"a:\n  modelyard:gpu\n    b: 1\n", codes.SYNTAX, 2, 3, "the line has no colon after its key"),
        (b"a: 'x\nb: 1\nc: 2\n", codes.SYNTAX, 1, 4, "the quote that opens here is not closed"),
        (b'a: "x\nb: "y"\nc: 2\n', codes.SYNTAX, 1, 4, "the quote that opens here is not closed"),
        (b'a: "x\n  y"\nb: "z"z\n', codes.SYNTAX, 3, 7, "the value ends before this"),
        (b"a:\n  b B\n  # c\n  d: 1\n", codes.SYNTAX, 2, 3, "the line has no colon after its key"),
        (b"a:\n  b: 1\n  c 2\n", codes.SYNTAX, 3, 3, "the line has no colon after its key"),
        (b"a\n  b: 1\n", codes.SYNTAX, 1, 1, "the line has no colon after its key"),
        (b"a: b\n  c: 1\n", codes.SYNTAX, 2, 4, "mapping values are not allowed"),
        (b"config:\n  a: 1\nencryptionsalt: v1:x=\n\n  b: 2\n", codes.SYNTAX, 5, 3, "the line above ends config"),
        (b"a: 1\r\r\rfoo\rb: 1\r", codes.SYNTAX, 4, 1, "the line has no colon after its key"),
        (b"# \xc2\x85 \xc2\x85\nfoo\nb: 1\n", codes.SYNTAX, 4, 1, "the line has no colon after its key"),
        (b"a: b: c\n", codes.SYNTAX, 1, 5, "mapping values are not allowed"),
        (b"a: @x\n", codes.SYNTAX, 1, 4, "cannot start any token"),
        (b"a: \x1b[31m\n", codes.ENCODING, 1, 4, "control character 0x1b"),
        (b"a: 1\nb: \x00\n", codes.ENCODING, 2, 4, "control character 0x00"),
        (b"a: \x7f", codes.ENCODING, 1, 4, "control character 0x7f"),
        ("a: \x9b31m".encode(), codes.ENCODING, 1, 4, "U+009B"),
        ("a: x\nb: \ufffe".encode(), codes.ENCODING, 2, 4, "U+FFFE"),
        (b"a: 1\nb: \xff\n", codes.ENCODING, 2, 4, "byte 0xff at offset 8"),
        ("ü: \u00e9".encode("latin-1"), codes.ENCODING, 1, 1, "byte 0xfc at offset 0"),
        ("a: 1".encode("utf-16"), codes.ENCODING, 1, 1, "is UTF-16"),
        (b"a: 1\n---\nb: 2\n", codes.FEATURE, 2, 1, "second document"),
        (b"a: !!python/object:os.system x\n", codes.FEATURE, 1, 4, "has a tag"),
        (b"a: !!binary eA==\n", codes.FEATURE, 1, 4, "has the tag !!binary"),
        (b"a: !secret {b: 1}\n", codes.FEATURE, 1, 4, "has a tag"),
        (b"? [a]\n: b\n", codes.FEATURE, 1, 3, "list or mapping as a key"),
        (b"a: &a x\n*a : b\n", codes.FEATURE, 2, 1, "alias as a key"),
        (b"a: *b\n", codes.FEATURE, 1, 4, "without an anchor before it"),
        (b"a: &a [*a]\n", codes.FEATURE, 1, 8, "inside its own anchor"),
        (b"a: {<<: 3}\n", codes.FEATURE, 1, 9, "merges something other than a mapping"),
        (b"a: {<<: [{b: 1}, 3]}\n", codes.FEATURE, 1, 9, "merges something other than a mapping"),
        (b"[" * 100_000, codes.LIMIT, 1, MAX_DEPTH + 1, "nested deeper than 64 levels"),
        (b"- " * 5_000, codes.LIMIT, 1, 2 * MAX_DEPTH + 1, "nested deeper than 64 levels"),
        (b"a: " + b"{a: " * 70, codes.LIMIT, 1, 4 + 4 * (MAX_DEPTH - 1), "nested deeper than 64 levels"),
        (bomb(), codes.LIMIT, 5, 13, "expand to more than 50,000 values"),
        (b"x" * (MAX_YAML_BYTES + 1), codes.LIMIT, 0, 0, "16,777,217 bytes"),
    ],
)
def test_each_bad_text_is_one_problem(content: bytes, code: str, line: int, column: int, words: str) -> None:
    document, problems = parse(content)
    assert document is None
    (problem,) = problems
    assert (problem.code, problem.line, problem.column) == (code, line, column)
    assert words in problem.message
    assert problem.remedy
    assert parse_plain(content) == (None, problem)


def test_a_file_with_more_than_a_million_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_NODES == 1_000_000
    monkeypatch.setattr("modelyard.stack.yaml.document.MAX_NODES", 1000)
    (problem,) = parse(b"- x\n" * 1001)[1]
    assert (problem.code, problem.line, problem.column) == (codes.LIMIT, 1000, 3)
    assert "1,000 values" in problem.message
    assert not parse(b"- x\n" * 999)[1]


def test_duplicate_keys_are_all_named() -> None:
    document, problems = parse(b"a: {b: 1, b: 2}\nc: 1\na:\n  b: 3\n  d: 1\n  d: 2\n")
    assert document is not None
    assert [(problem.line, problem.column) for problem in problems] == [(1, 11), (3, 1), (6, 3)]
    assert {problem.code for problem in problems} == {codes.DUPLICATE_KEY}
    assert re.search('^"a" .* line 1$', problems[1].message)


def test_a_byte_order_mark_is_named_but_read() -> None:
    document, problems = parse(b"\xef\xbb\xbfa: 1\n")
    assert document is not None
    assert document.value == {"a": 1}
    (problem,) = problems
    assert (problem.code, problem.harmless, problem.line) == (codes.ENCODING, True, 1)
    assert parse_plain(b"\xef\xbb\xbfa: 1\n") == ({"a": 1}, None)


@given(st.binary(max_size=200))
def test_no_bytes_raise(content: bytes) -> None:
    document, problems = parse(content)
    assert (document is None) <= bool(problems)


@given(st.text(alphabet="ab:{}[]-,&*<>|?!%@`'\"# \n\t~1.\\", max_size=80))
def test_no_text_raises(text: str) -> None:
    document, problems = parse(text.encode())
    assert (document is None) <= bool(problems)
    assert all(problem.message.isprintable() and problem.remedy.isprintable() for problem in problems)
