"""Names that a stack file gives to things, and refers to."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from modelyard.findings import Finding, Severity
from modelyard.stack.config import Stack
from modelyard.stack.shape import field_of
from modelyard.stack.words import did_you_mean, few

MANY: Final = 8
"""Names that a remedy lists."""
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""As Kubernetes ends the names that it makes: no vowels, so that no words come out."""
_ENDING: Final = 5


def repeated(names: Iterable[str]) -> tuple[int, ...]:
    """Positions of names that stood before."""
    seen: set[str] = set()
    found = []
    for index, name in enumerate(names):
        if name in seen:
            found.append(index)
        seen.add(name)
    return tuple(found)


def named_twice(stack: Stack, code: str, section: str) -> Iterator[Finding]:
    """The findings about names that stand in a list of the stack file before.

    Args:
        stack: whose list it is.
        code: of the findings.
        section: the list's key, such as ``nodePools``.
    """
    names = [one.name for one in getattr(stack.config, field_of(section))]
    for index in repeated(names):
        yield stack.finding(
            code,
            Severity.ERROR,
            (section, index, "name"),
            f"{section} has {names[index]} twice",
            "give one of them another name, or drop it",
        )


def instead(name: str, known: Collection[str], kind: str) -> str:
    """What to do about an unknown name: the nearest known name, else all known names.

    Args:
        name: what the stack file says.
        known: the known names.
        kind: what they are names of, as a plural.
    """
    # Of two that are equally near the first is named: a set would have another first in each run.
    names = sorted(known)
    if meant := did_you_mean(name, names):
        return meant
    return f"the {kind} are {few(names, MANY)}" if names else f"there are no {kind} yet; add one"


def fresh(text: str, longest: int, nothing: str) -> str:
    """A name that nobody has yet, as Kubernetes takes names: letters and digits of a text, and five by chance.

    Args:
        text: what it is made of; cut where it is too long.
        longest: characters of the whole name at most.
        nothing: what it begins with where the text has neither letters nor digits.
    """
    # Whoever checks a stack makes no names.
    from secrets import choice

    ending = "".join(choice(_LETTERS) for _ in range(_ENDING))
    return f"{lasting(text, longest - _ENDING - 1, nothing)}-{ending}"


def lasting(text: str, longest: int, nothing: str) -> str:
    """The same without an ending: a text has the same name each time. Arguments as of :func:`fresh`."""
    return (re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or nothing)[:longest].rstrip("-")
