"""Lists of packages: the requirements of a stack file, or of a file as pip reads it.

Only requirements that an index answers can be locked with hashes: the content of a repository or a folder may change
tomorrow. Options are rejected too: every reader of the stack file would see an index's password in them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from modelyard.hiding import hidden, hidden_file
from modelyard.patterns import regex
from modelyard.stack.environments import Fault

_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_CLAUSE: Final = r"(?:===|==|!=|~=|<=|>=|<|>)\s*[A-Za-z0-9][A-Za-z0-9.+!*_-]*"
_REQUIREMENT: Final = regex(
    rf"(?P<name>{_NAME})\s*(?:\[\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\])?\s*"
    rf"(?:\(\s*{_CLAUSE}(?:\s*,\s*{_CLAUSE})*\s*\)|{_CLAUSE}(?:\s*,\s*{_CLAUSE})*)?\s*(?:;(?P<marker>.+))?"
)
"""The grammar of dependency specifiers (Python Packaging User Guide), without references to files."""
_REFERENCE: Final = regex(r"\s@\s|^[A-Za-z0-9._\[\],-]+@|://|^[./~]")
_FILE: Final = regex(r"\.(?:whl|tar\.gz|zip)\s*(?:;|$)")
_SEPARATORS: Final = regex(r"[-_.]+")
_CONTROL: Final = regex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class RequirementLine(NamedTuple):
    """One requirement and its position: a line of a file, or an index in a list."""

    text: str
    number: int


def canonical(name: str) -> str:
    """Returns a package's name as indexes compare it (PEP 503)."""
    return _SEPARATORS.sub("-", name).lower()


def lines_of(text: str) -> Iterator[RequirementLine]:
    """Yields the requirements of a file, without comments; a line that ends in a backslash continues on the next."""
    joined, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        first = first or number
        line = re.sub(r"(^|\s+)#.*$", "", raw)
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        joined += line
        if joined.strip():
            yield RequirementLine(" ".join(joined.split()), first)
        joined, first = "", 0
    if joined.strip():
        yield RequirementLine(" ".join(joined.split()), first)


def mistakes(lines: Iterable[RequirementLine]) -> Iterator[tuple[RequirementLine, str, str]]:
    """Yields the lines that cannot be locked, each with what it is and what to do."""
    seen: dict[tuple[str, str], RequirementLine] = {}
    every, shown = tuple(lines), list[str]()
    for index, line in enumerate(every):
        found = _REQUIREMENT.fullmatch(line.text.strip())
        if line.text.lstrip().startswith("-"):
            word = line.text.split("=")[0].split()[0]
            option = word if word.startswith("--") else word[:2]
            yield (
                line,
                f"option {option[:40]}",
                "list requirements only; set the package index in pip.conf for the lock, and in the Secret of "
                "indexSecret for builds",
            )
        elif _CONTROL.search(line.text):
            yield line, "a requirement with control characters", "write it as plain text"
        elif _FILE.search(line.text) or (found is None and _REFERENCE.search(line.text.split(";")[0])):
            # The text is not repeated: such URLs may contain passwords.
            remedy = (
                "publish the package in an index and name it with its version: the content of an address may change"
            )
            yield line, "a requirement that is an address or a file", remedy
        elif found is None:
            remedy = 'write a name with versions, such as "pandas>=2,<3"'
            shown = shown or _shown(every)
            yield line, f'"{shown[index][:60]}", which is not a requirement', remedy
        else:
            key = canonical(found["name"]), (found["marker"] or "").strip()
            if key in seen:
                yield line, f"{found['name']} twice", "merge them into one requirement"
            seen[key] = line


def _shown(lines: Sequence[RequirementLine]) -> list[str]:
    """Returns the text of each line without secrets. One secret may have several lines, such as a private key."""
    shown = hidden_file("\n".join(line.text for line in lines))
    return shown if len(shown) == len(lines) else [hidden(line.text) for line in lines]


def faults_of(lines: Iterable[RequirementLine], key: str, file: str = "") -> Iterator[Fault]:
    """Yields the lines that cannot be locked as faults of an environment, under its key ``pip`` or ``requirements``.

    Without a file, the lines are in the stack file, and their numbers are positions in its list.
    """
    for line, what, remedy in mistakes(lines):
        if file:
            yield Fault(f"has {what}", remedy, key, file=file, line=line.number)
        else:
            yield Fault(f"has {what}", remedy, key, item=line.number)
