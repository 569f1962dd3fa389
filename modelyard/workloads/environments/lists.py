"""Lists of packages: the requirements of a stack file, or of a file as pip reads it.

Only requirements that an index answers can be locked with hashes: a repository or a folder may hold something else
tomorrow. Options are refused too: every reader of the stack file would read an index's password in them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from modelyard.hiding import hidden
from modelyard.stack.environments import Fault

_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_CLAUSE: Final = r"(?:===|==|!=|~=|<=|>=|<|>)\s*[A-Za-z0-9][A-Za-z0-9.+!*_-]*"
_REQUIREMENT: Final = re.compile(
    rf"(?P<name>{_NAME})\s*(?:\[\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\])?\s*"
    rf"(?:\(\s*{_CLAUSE}(?:\s*,\s*{_CLAUSE})*\s*\)|{_CLAUSE}(?:\s*,\s*{_CLAUSE})*)?\s*(?:;(?P<marker>.+))?"
)
"""The grammar of dependency specifiers (Python Packaging User Guide), without references to files."""
_REFERENCE: Final = re.compile(r"\s@\s|^[A-Za-z0-9._\[\],-]+@|://|^[./~]")
_FILE: Final = re.compile(r"\.(?:whl|tar\.gz|zip)\s*(?:;|$)")
_SEPARATORS: Final = re.compile(r"[-_.]+")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Line(NamedTuple):
    """One requirement and where it stands: a line of a file, or the place in a list."""

    text: str
    number: int


def canonical(name: str) -> str:
    """A package's name as indexes compare it (PEP 503)."""
    return _SEPARATORS.sub("-", name).lower()


def lines_of(text: str) -> Iterator[Line]:
    """The requirements of a file, without comments; a line that ends in a backslash goes on in the next."""
    joined, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        first = first or number
        line = re.sub(r"(^|\s+)#.*$", "", raw)
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        joined += line
        if joined.strip():
            yield Line(" ".join(joined.split()), first)
        joined, first = "", 0
    if joined.strip():
        yield Line(" ".join(joined.split()), first)


def mistakes(lines: Iterable[Line]) -> Iterator[tuple[Line, str, str]]:
    """The lines that no lock can be made of, each with what it is and what to do."""
    seen: dict[tuple[str, str], Line] = {}
    for line in lines:
        found = _REQUIREMENT.fullmatch(line.text.strip())
        if line.text.lstrip().startswith("-"):
            option = line.text.split("=")[0].split()[0]
            yield (
                line,
                f"option {option[:40]}",
                "list requirements only; where packages come from is for indexSecret",
            )
        elif _CONTROL.search(line.text):
            yield line, "a requirement with control characters", "write it as plain text"
        elif _FILE.search(line.text) or (found is None and _REFERENCE.search(line.text.split(";")[0])):
            # What it is is not repeated: such addresses may have passwords.
            remedy = "put the package in an index and name it with its version: what an address holds may change"
            yield line, "a requirement that is an address or a file", remedy
        elif found is None:
            remedy = 'write a name with versions, such as "pandas>=2,<3"'
            yield line, f'"{hidden(line.text)[:60]}", which is no requirement', remedy
        else:
            key = canonical(found["name"]), (found["marker"] or "").strip()
            if key in seen:
                yield line, f"{found['name']} twice", "make them one requirement"
            seen[key] = line


def faults_of(lines: Iterable[Line], key: str, file: str = "") -> Iterator[Fault]:
    """The same as faults of an environment.

    Args:
        lines: of the list, the file's with their numbers and the stack file's with their places.
        key: of the environment: ``pip`` or ``requirements``.
        file: with the lines; empty where they stand in the stack file.
    """
    for line, what, remedy in mistakes(lines):
        if file:
            yield Fault(f"has {what}", remedy, key, file=file, line=line.number)
        else:
            yield Fault(f"has {what}", remedy, key, item=line.number)
