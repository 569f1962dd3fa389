"""The laws of comparing a range before with a range after."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from modelyard.plan.cost.project import Load, delta, usd
from modelyard.plan.cost.values import Count, Money

AMOUNTS = st.fractions(min_value=0, max_value=100, max_denominator=997)
COUNTS = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda ends: Count(min(ends), max(ends)))
PLACES = st.dictionaries(st.sampled_from("abcd"), AMOUNTS, min_size=1)


def load(pods: Count, each: dict[str, Fraction] | None, asks: int = 1) -> Load:
    return Load(pods, (Fraction(asks),), tuple(sorted(each or {})), each)


LOADS = st.builds(load, COUNTS, PLACES, st.integers(1, 4))


def width(money: Money) -> Fraction:
    return money.high - money.low


def outer(before: Load, after: Load) -> Money:
    """Every amount after less every amount before."""
    was, will = usd(before), usd(after)
    assert was is not None
    assert will is not None
    return Money(will.low - was.high, will.high - was.low)


@given(LOADS)
def test_unchanged_costs_have_a_delta_of_exactly_zero(same: Load) -> None:
    assert delta(same, same) == Money(Fraction(0), Fraction(0))


@given(COUNTS)
def test_unchanged_costs_without_a_price_have_a_delta_of_zero(pods: Count) -> None:
    same = load(pods, None)
    assert delta(same, same) == Money(Fraction(0), Fraction(0))


@given(LOADS, LOADS)
def test_it_lies_within_the_difference_of_the_ranges(before: Load, after: Load) -> None:
    found, bounds = delta(before, after), outer(before, after)
    assert found is not None
    assert bounds.low <= found.low <= found.high <= bounds.high


@given(LOADS, LOADS)
def test_there_and_back_again_is_the_opposite(before: Load, after: Load) -> None:
    there, back = delta(before, after), delta(after, before)
    assert there is not None
    assert back == Money(-there.high, -there.low)


@given(st.integers(0, 9), st.integers(0, 9), PLACES)
def test_fixed_numbers_of_the_same_pods_cost_by_the_pod(few: int, many: int, each: dict[str, Fraction]) -> None:
    before, after = load(Count(few, few), each), load(Count(many, many), each)
    amounts = [(many - few) * one for one in each.values()]
    assert delta(before, after) == Money(min(amounts), max(amounts))


@given(COUNTS, COUNTS, PLACES, PLACES, st.integers(0, 9), st.data())
def test_no_demand_and_no_place_gives_an_amount_outside(
    was: Count, will: Count, now: dict[str, Fraction], then: dict[str, Fraction], demand: int, data: st.DataObject
) -> None:
    before, after = load(was, now), load(will, then, 2)
    found = delta(before, after)
    assert found is not None
    here = data.draw(st.sampled_from(sorted(now)))
    there = here if now.keys() == then.keys() else data.draw(st.sampled_from(sorted(then)))
    pods = [min(max(demand, bounds.low), bounds.high) for bounds in (was, will)]
    assert found.low <= pods[1] * then[there] - pods[0] * now[here] <= found.high


@given(LOADS)
def test_one_unknown_side_makes_it_unknown(known: Load) -> None:
    unknown = load(Count(1, 2), None, 9)
    assert delta(known, unknown) is None
    assert delta(unknown, known) is None
    assert delta(known, known._replace(pods=None)) is None


@given(LOADS)
def test_no_pods_cost_nothing_at_any_price(after: Load) -> None:
    nobody = Load(Count(0, 0), (), (), None)
    assert usd(nobody) == Money(Fraction(0), Fraction(0))
    assert delta(nobody, after) == usd(after)
