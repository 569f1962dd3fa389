"""Splitting stacks into waves."""

from hypothesis import given
from hypothesis import strategies as st

from modelyard.plan.waves import Gate, Wave, too_large, waves

LABELS = {
    "a": {"region": "us"},
    "b": {"region": "eu", "tier": "canary"},
    "c": {"region": "eu"},
    "d": {},
    "e": {"region": "us"},
}
NAMES = tuple(LABELS)


def split(**options: object) -> list[tuple[str, str]]:
    found = waves(NAMES, LABELS, **options)  # type: ignore[arg-type]
    return [(wave.name, "".join(wave.stacks)) for wave in found]


def test_without_options_all_stacks_are_one_wave() -> None:
    assert split() == [("all", "abcde")]


def test_canaries_come_first() -> None:
    assert split(canaries={"d", "b"}) == [("canary", "bd"), ("the rest", "ace")]
    assert split(canaries={"other"}) == [("all", "abcde")]


def test_each_value_of_a_label_is_a_wave() -> None:
    assert split(by="region", canaries={"b"}) == [
        ("canary", "b"),
        ("region=eu", "c"),
        ("region=us", "ae"),
        ("without region", "d"),
    ]


def test_shares_count_the_stacks_after_the_canaries_and_round_up() -> None:
    assert split(percent=(10, 50, 100), canaries={"a"}) == [
        ("canary", "a"),
        ("10%", "b"),
        ("50%", "c"),
        ("100%", "de"),
    ]
    assert split(percent=(1, 2, 100)) == [("1%", "a"), ("100%", "bcde")]


@given(
    st.integers(0, 300),
    st.sets(st.integers(1, 99), max_size=5),
    st.sets(st.integers(0, 300), max_size=10),
)
def test_each_stack_is_in_one_wave(number: int, shares: set[int], canaries: set[int]) -> None:
    names = [f"s{one:03}" for one in range(number)]
    first = {f"s{one:03}" for one in canaries}
    found = waves(names, {name: {} for name in names}, canaries=first, percent=(*sorted(shares), 100))
    assert sorted(name for wave in found for name in wave.stacks) == names
    assert all(wave.stacks for wave in found)


def test_neither_a_canary_nor_all_stacks_of_a_wave_may_fail() -> None:
    gate = Gate(max_failures=2)
    assert gate.may_fail(Wave("canary", ("a", "b", "c", "d"), canary=True)) == 0
    assert [gate.may_fail(Wave("all", NAMES[:number])) for number in (1, 2, 3, 4)] == [0, 1, 2, 2]


def test_a_wave_that_is_too_large_is_named() -> None:
    found = waves(NAMES, LABELS, canaries={"b"})
    assert too_large(found, 4) == ""
    assert too_large(found, 3) == "wave 2 has 4 stacks"
