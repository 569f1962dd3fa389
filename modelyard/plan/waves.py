"""Waves: the order in which a change reaches many stacks, a few of them first."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

TIMEOUT: Final = 600
"""Seconds in which a stack must pass unless a gate says otherwise."""


class Wave(NamedTuple):
    """Stacks that are applied at the same time, once the earlier waves have passed."""

    name: str
    """What its stacks have in common: ``canary``, ``region=eu``, or a share such as ``50%``."""
    stacks: tuple[str, ...]
    canary: bool = False


class Gate(NamedTuple):
    """What the stacks of a wave must pass before the next wave begins."""

    queries: tuple[str, ...] = ()
    """PromQL comparisons that must be true."""
    timeout: int = TIMEOUT
    """Seconds in which a stack must pass."""
    bake: int = 0
    """Seconds for which a stack must keep passing."""
    max_failures: int = 0
    """Number of stacks of a wave that may fail, see ``may_fail``."""

    def may_fail(self, wave: Wave) -> int:
        """How many stacks of a wave may fail: no canary, and never all of them."""
        return 0 if wave.canary else min(self.max_failures, len(wave.stacks) - 1)


def waves(
    stacks: Sequence[str],
    labels: Mapping[str, Mapping[str, str]],
    *,
    canaries: Collection[str] = (),
    by: str | None = None,
    percent: Sequence[int] = (),
) -> tuple[Wave, ...]:
    """Splits stacks into waves; each stack is in one.

    Args:
        stacks: names of the stacks, sorted.
        labels: the labels of each stack.
        canaries: the stacks of the first wave, if they are among the stacks.
        by: a label. Each of its values is a wave, in the order of the values; stacks without it come last.
        percent: shares of the stacks after the canaries, each with the earlier ones included: 10, 50, 100.
    """
    first = tuple(name for name in stacks if name in canaries)
    rest = tuple(name for name in stacks if name not in canaries)
    found = [Wave("canary", first, canary=True)]
    if by is not None:
        values = sorted({value for name in rest if (value := labels[name].get(by)) is not None})
        found += [Wave(f"{by}={one}", tuple(name for name in rest if labels[name].get(by) == one)) for one in values]
        found.append(Wave(f"without {by}", tuple(name for name in rest if by not in labels[name])))
    elif percent:
        # Rounded up: a share of few stacks is at least one stack.
        ends = [0, *(-(-len(rest) * share // 100) for share in percent)]
        shares = zip(ends, ends[1:], percent, strict=False)
        found += [Wave(f"{share}%", rest[start:end]) for start, end, share in shares]
    else:
        found.append(Wave("all" if not first else "the rest", rest))
    return tuple(wave for wave in found if wave.stacks)


def too_large(rollout: Sequence[Wave], most: int) -> str:
    """Which wave has more stacks than a CI system starts at the same time; empty if none has."""
    sizes = ((number, len(one.stacks)) for number, one in enumerate(rollout, 1))
    return next((f"wave {number} has {size} stacks" for number, size in sizes if size > most), "")
