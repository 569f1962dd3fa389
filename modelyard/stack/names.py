"""Names that a stack file defines and refers to."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from modelyard.findings import Finding, Severity
from modelyard.patterns import regex
from modelyard.stack.config import Stack
from modelyard.stack.shape import field_of
from modelyard.stack.words import did_you_mean, few

MANY: Final = 8
"""Maximum number of names that a remedy lists."""
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The alphabet that Kubernetes uses for generated name endings: no vowels, so that no words appear."""
_ENDING: Final = 5
_TWICE: Final = regex(r"(\w+)\[\d+\]\.name \1 contains .+ twice")
"""Field and summary of a finding of :func:`named_twice`."""


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


_DEFINED_IN: Final = {
    "bucket": "buckets",
    "clusters": "workerClusters",
    "environment": "environments",
    "flavor": "flavors",
    "job": "jobs",
    "partition": "partitions",
    "priority": "priorities",
    "provider": "providers",
    "reachedBy": "providers",
    "resource": "resources",
    "rollout": "resources",
    "team": "teams",
}
"""The list of the stack file that defines a name, by the key of an entry that uses it."""


def without_users(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Returns the findings without those about undefined names of a list that contains a name twice.

    Usually one of the two names was meant to be the undefined one. The finding about the name then lists its users.
    """
    findings = tuple(findings)
    twice = {one: found[1] for one in findings if (found := _TWICE.fullmatch(f"{one.field} {one.summary}"))}
    users: dict[str, list[str]] = {section: [] for section in twice.values()}
    kept = []
    for one in findings:
        section = _DEFINED_IN.get(one.field.rpartition(".")[2].partition("[")[0], "")
        if section in users and one.summary.endswith(("which is not defined", "nor a remote cluster")):
            users[section].append(one.summary)
        else:
            kept.append(one)
    return tuple(one._replace(detail=few(users[twice[one]], MANY, "; ")) if one in twice else one for one in kept)


def instead(name: str, known: Collection[str], kind: str) -> str:
    """Returns what to do about an unknown name: use the nearest known name, else one of all known names.

    Args:
        name: the name in the stack file.
        known: the known names.
        kind: what the names are names of, in the plural.
    """
    # Of two equally near names the first wins; a set would have a different first name in each run.
    names = sorted(set(known))
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
