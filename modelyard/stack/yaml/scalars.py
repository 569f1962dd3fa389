"""The values of plain YAML scalars, by the core schema of YAML 1.2.

``true`` and ``false`` are booleans; ``null``, ``~`` and an empty scalar are null; the rest is a number or text:
``yes``, ``on`` and ``2027-03-01`` are text. A number that JSON cannot carry (``.inf``, ``.nan``, 1e400) or that is
longer than 30 characters stays text too.
"""

from typing import Final

from modelyard.patterns import regex

Scalar = str | int | float | bool | None

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
_NUMBER = regex(
    r"(?P<int>[-+]?[0-9]+)|0o(?P<oct>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_NUMBER_STARTS = frozenset("0123456789+-.")
_LONGEST_NUMBER = 30


def resolve(text: str) -> Scalar:
    """Returns the value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS or len(text) > _LONGEST_NUMBER:
        return text
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    match found.lastgroup:
        case "int":
            return int(text)
        case "oct":
            return int(found["oct"], 8)
        case "hex":
            return int(found["hex"], 16)
        case _:
            value = float(text)
            return text if value in (float("inf"), float("-inf")) else value
