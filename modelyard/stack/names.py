"""Names that a stack file gives to things, and refers to."""

from collections.abc import Collection, Iterable

from modelyard.stack.words import did_you_mean

MANY = 8
"""Names that a remedy lists."""


def repeated(names: Iterable[str]) -> tuple[int, ...]:
    """Positions of names that stood before."""
    seen: set[str] = set()
    found = []
    for index, name in enumerate(names):
        if name in seen:
            found.append(index)
        seen.add(name)
    return tuple(found)


def instead(name: str, known: Collection[str], kind: str) -> str:
    """What to do about a name that there is not: the one that is meant perhaps, else those that there are.

    Args:
        name: what the stack file says.
        known: the names that there are.
        kind: what they are names of, as a plural.
    """
    if meant := did_you_mean(name, known):
        return meant
    return f"the {kind} are {', '.join(sorted(known)[:MANY])}" if known else f"there are no {kind} yet; add one"
