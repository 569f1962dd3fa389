"""Which stage comes before which."""

import random

import pytest

from modelyard.runs.pipelines.graph import before, behind, circles, in_order, most_at_once
from modelyard.stack.jobs import Stage


def stages(**needs: str) -> tuple[Stage, ...]:
    return tuple(Stage(name, needs=tuple(words.split())) for name, words in needs.items())


DIAMOND = stages(serve="train tune", train="load", tune="load", load="", report="")


def test_stages_stand_behind_what_they_need_and_else_as_they_are() -> None:
    assert [stage.name for stage in in_order(DIAMOND)] == ["load", "train", "tune", "serve", "report"]


def test_everything_that_comes_before() -> None:
    known = before(DIAMOND)
    assert known["serve"] == {"train", "tune", "load"}
    assert known["load"] == known["report"] == frozenset()


def test_a_stage_and_all_that_need_it() -> None:
    assert [(stage.name, stage.needs) for stage in behind(DIAMOND, "train")] == [("serve", ("train",)), ("train", ())]
    assert behind(DIAMOND, "nope") == ()


def test_unknown_names_are_passed_over() -> None:
    odd = stages(a="nope", b="a a")
    assert before(odd) == {"a": frozenset(), "b": {"a"}}
    assert [stage.name for stage in in_order(odd)] == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (stages(a="", b="a"), ()),
        (stages(a="a"), ()),
        (stages(a="b", b="a"), (("a", "b"),)),
        (stages(z="a", a="b x", b="c", c="a", x="b"), (("a", "b", "c"),)),
        (stages(a="b", b="a c", c=""), (("a", "b"),)),
        (stages(a="b", b="a", c="d b", d="e", e="c d"), (("a", "b"), ("c", "d", "e"))),
        (stages(a="b c", b="a", c="a"), (("a", "b"),)),
    ],
)
def test_every_cycle_is_named_whole(given: tuple[Stage, ...], found: tuple[tuple[str, ...], ...]) -> None:
    assert circles(given) == found


def test_the_most_at_a_time() -> None:
    assert most_at_once(DIAMOND, {"load": 6, "train": 2, "tune": 3, "serve": 1}) == (6, ("load",))
    assert most_at_once(DIAMOND, {"load": 4, "train": 2, "tune": 3}) == (5, ("train", "tune"))
    assert most_at_once(DIAMOND, {}) == (0, ())


def test_the_most_at_a_time_of_many_parallel_branches() -> None:
    """Of each way one stage: there are 2 to the power of 60 such sets."""
    many = stages(**{f"fit{n}": "" for n in range(60)}, **{f"test{n}": f"fit{n}" for n in range(60)})
    weights = {f"fit{n}": 1 + n % 2 for n in range(60)} | {f"test{n}": 2 - n % 2 for n in range(60)}
    total, chosen = most_at_once(many, weights)
    assert (total, len(chosen)) == (120, 60)


def test_the_most_at_a_time_is_that_of_all_sets_of_stages_side_by_side() -> None:
    chance = random.Random(7)
    for _ in range(60):
        names = "abcdefg"
        given = tuple(
            Stage(name, needs=tuple(other for other in names[:index] if chance.random() < 0.3))
            for index, name in enumerate(names)
        )
        weights = {name: chance.randrange(4) for name in names}
        known = before(given)
        best = 0
        for mask in range(2 ** len(names)):
            chosen = [name for index, name in enumerate(names) if mask >> index & 1]
            if not any(one in known[other] for one in chosen for other in chosen):
                best = max(best, sum(weights[name] for name in chosen))
        assert most_at_once(given, weights)[0] == best


def test_many_stages_are_no_trouble() -> None:
    layers = tuple(
        Stage(f"s{index}", needs=tuple(f"s{other}" for other in range(index - index % 4 - 4, index - index % 4)))
        for index in range(4, 32)
    )
    first = tuple(Stage(f"s{index}") for index in range(4))
    every = (*first, *layers)
    assert most_at_once(every, {stage.name: 1 for stage in every})[0] == 4
    alone = tuple(Stage(f"s{index}") for index in range(32))
    assert most_at_once(alone, {stage.name: 2 for stage in alone})[0] == 64
