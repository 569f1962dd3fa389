"""Names that a stack file defines and refers to."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from modelyard.findings import Finding, Severity
from modelyard.stack.config import Stack
from modelyard.stack.shape import field_of
from modelyard.stack.words import did_you_mean, few, listed

MANY: Final = 8
"""Maximum number of names that a remedy lists."""
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The alphabet that Kubernetes uses for generated name endings: no vowels, so that no words appear."""
_ENDING: Final = 5


def repeated(names: Iterable[str]) -> tuple[int, ...]:
    """Returns the positions of names that appear earlier in the list."""
    seen: set[str] = set()
    found = []
    for index, name in enumerate(names):
        if name in seen:
            found.append(index)
        seen.add(name)
    return tuple(found)


def named_twice(stack: Stack, code: str, section: str) -> Iterator[Finding]:
    """Yields findings about names that appear more than once in a list of the stack file.

    Args:
        stack: the stack with the list.
        code: the code of the findings.
        section: the list's key, such as ``nodePools``.
    """
    names = [one.name for one in getattr(stack.config, field_of(section))]
    for index in repeated(names):
        yield stack.finding(
            code,
            Severity.ERROR,
            (section, index, "name"),
            f"{section} contains {names[index]} twice",
            "rename or drop one of them",
        )


def instead(name: str, known: Collection[str], kind: str) -> str:
    """Returns what to do about an unknown name: use the nearest known name, else one of all known names.

    Args:
        name: the name in the stack file.
        known: the known names.
        kind: what the names are names of, in the plural.
    """
    # Of two equally near names the first wins; a set would have a different first name in each run.
    names = sorted(set(known))
    start = name.casefold()
    longer = [one for one in names if one.casefold().startswith(start)] if len(name) > 1 else []
    if longer and all(one.casefold() != start for one in longer):
        return f"did you mean {listed(longer[:3])}?"
    if meant := did_you_mean(name, names):
        return meant
    return f"known {kind}: {few(names, MANY)}" if names else f"the stack has no {kind} yet; add one to its stack file"


def fresh(text: str, longest: int, nothing: str) -> str:
    """Returns an unused name that Kubernetes accepts: letters and digits of a text, and five random characters.

    Args:
        text: the start of the name, cut if it is too long.
        longest: maximum number of characters of the whole name.
        nothing: the start of the name if the text has neither letters nor digits.
    """
    # Imported here because checking a stack creates no names.
    from secrets import choice

    ending = "".join(choice(_LETTERS) for _ in range(_ENDING))
    return f"{lasting(text, longest - _ENDING - 1, nothing)}-{ending}"


def lasting(text: str, longest: int, nothing: str) -> str:
    """Returns a name without the random ending of :func:`fresh`, with its arguments: one text always has one name."""
    return (re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or nothing)[:longest].rstrip("-")
