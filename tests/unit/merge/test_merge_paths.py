"""Field paths: their text form, their wire form, and sets of paths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelyard.kube.merge import Key, Path, Value, fieldset
from modelyard.kube.merge.path import from_wire, to_wire

GPU = Path(
    ("spec", "template", "spec", "containers", Key((("name", "worker"),)), "resources", "limits", "nvidia.com/gpu")
)


@pytest.mark.parametrize(
    ("path", "text", "server"),
    [
        (Path(), "", ""),
        (Path(("spec", "replicas")), "spec.replicas", ".spec.replicas"),
        (
            GPU,
            'spec.template.spec.containers[name=worker].resources.limits["nvidia.com/gpu"]',
            '.spec.template.spec.containers[name="worker"].resources.limits.nvidia.com/gpu',
        ),
        (
            Path(("a", Key((("port", 80), ("protocol", "TCP"))))),
            "a[port=80,protocol=TCP]",
            '.a[port=80,protocol="TCP"]',
        ),
        (Path(("a", Key((("name", "8080"),)))), 'a[name="8080"]', '.a[name="8080"]'),
        (Path(("a", Key((("name", "x,y]"),)))), 'a[name="x,y]"]', '.a[name="x,y]"]'),
        (Path(("a", Key((("name", "true"),)))), 'a[name="true"]', '.a[name="true"]'),
        (Path(("a", Key((("on", True),)))), "a[on=true]", ".a[on=true]"),
        (Path(("a", Value("x"))), "a[=x]", '.a[="x"]'),
        (Path(("a", Value(1))), "a[=1]", ".a[=1]"),
        (Path(("a", Value(None))), "a[=null]", ".a[=null]"),
        (Path(("a", 0, "b")), "a[0].b", ".a[0].b"),
        (Path(("x y", "")), '["x y"][""]', ".x y."),
        (Path(("a", 'q"uo\\te')), 'a["q\\"uo\\\\te"]', '.a.q"uo\\te'),
    ],
)
def test_a_path_has_a_text_form(path: Path, text: str, server: str) -> None:
    assert str(path) == text
    assert Path.parse(text) == path
    assert path.server_text == server


def test_a_leading_dot_is_accepted() -> None:
    assert Path.parse('.spec.containers[name="worker"].image') == Path(
        ("spec", "containers", Key((("name", "worker"),)), "image")
    )


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ("spec..x", 6, "expected a field name"),
        ("spec.", 6, "expected a field name"),
        ("a b", 2, "expected '.' or '['"),
        ("a[", 3, "expected an index"),
        ("a[name", 7, "expected '=' after 'name'"),
        ("a[name=", 8, "expected a value"),
        ("a[name=x", 9, "expected ']'"),
        ("a[name=x,name=y]", 15, "'name' appears twice"),
        ('a["x]', 3, "the quoted text does not end"),
        ("a[0", 3, "expected an index"),
        ("a.nvidia.com/gpu", 13, "expected '.' or '['"),
    ],
)
def test_an_invalid_path_is_an_error_with_its_column(text: str, column: int, what: str) -> None:
    with pytest.raises(ValueError, match="column") as caught:
        Path.parse(text)
    assert f"column {column}: {what}" in str(caught.value)


scalars = st.one_of(st.text(), st.integers(), st.booleans(), st.none())
keys = st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.booleans()), min_size=1, max_size=3)
elements = st.one_of(
    st.text(),
    st.integers(min_value=0, max_value=99),
    keys.map(lambda fields: Key(tuple(sorted(fields.items())))),
    scalars.map(Value),
)
paths = st.lists(elements, max_size=5).map(Path)


@given(paths)
def test_a_path_survives_its_text_form(path: Path) -> None:
    assert Path.parse(str(path)) == path
    assert hash(Path.parse(str(path))) == hash(path)


@given(elements)
def test_a_path_element_survives_its_wire_form(element: object) -> None:
    assert from_wire(to_wire(element)) == element


def test_the_wire_form_is_that_of_the_server() -> None:
    assert to_wire(Key((("containerPort", 80), ("protocol", "TCP")))) == 'k:{"containerPort":80,"protocol":"TCP"}'
    assert to_wire(Value("a<b&é")) == 'v:"a\\u003cb\\u0026é"'
    assert to_wire(Value(2.0)) == "v:2"
    with pytest.raises(ValueError, match="not a path element"):
        from_wire("x:1")


def test_a_path_has_a_parent_and_children() -> None:
    path = Path(("spec",)) / "replicas"
    assert path == Path(("spec", "replicas"))
    assert path.parent == Path(("spec",))
    assert Path().parent == Path()


few = st.sampled_from(["a", "b", Key((("name", "x"),)), Value(1)])
members = st.lists(st.lists(few, min_size=1, max_size=3).map(Path), max_size=6)


@given(members, members)
def test_field_sets_behave_like_sets(left: list[Path], right: list[Path]) -> None:
    a, b = fieldset.of(*left), fieldset.of(*right)
    assert set(fieldset.paths(a)) == set(left)
    assert set(fieldset.paths(fieldset.union(a, b))) == set(left) | set(right)
    assert set(fieldset.paths(fieldset.intersection(a, b))) == set(left) & set(right)
    assert set(fieldset.paths(fieldset.difference(a, b))) == set(left) - set(right)
    assert fieldset.contains(a, b) == (set(right) <= set(left))
    assert fieldset.union(a, b) == fieldset.of(*left, *right)
    assert fieldset.difference(a, b) == fieldset.of(*(p for p in left if p not in right))
    assert (a, b) == (fieldset.of(*left), fieldset.of(*right)), "operands are never changed"
