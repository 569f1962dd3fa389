"""Which names somebody may have meant who wrote one that no GPU has."""

import re
from collections.abc import Collection
from difflib import get_close_matches

_NEXT = 1000
"""Between the numbers of two GPUs that are next to each other in a series of workstation GPUs."""
_TELLING = 3
"""Digits from which on a number tells GPUs apart more than the letters do."""


def near_names(wanted: str, names: Collection[str]) -> list[str]:
    """The nearest names first; none where no name is near.

    Args:
        wanted: in lower case, without a brand.
        names: every name, in lower case.
    """
    near = [name for name in get_close_matches(wanted, names, n=16, cutoff=0.6) if _alike(wanted, name)]
    number = _number(wanted)
    if len(number) >= _TELLING:
        near.sort(key=lambda name: _number(name) != number)
    return list(dict.fromkeys((*_blackwell(wanted, names), *near)))


def _number(name: str) -> str:
    """The first number in a name: ``300`` of ``gb300``."""
    found = re.search(r"\d+", name)
    return found[0] if found is not None else ""


def _alike(wanted: str, name: str) -> bool:
    """Whether one digit at most is wrong, missing or too many: a B9000 is not nearly a B300."""
    one, other = sorted((_number(wanted), _number(name)), key=len)
    if not one or len(one) == len(other):
        return not one or sum(a != b for a, b in zip(one, other, strict=True)) <= 1
    return any(other[:at] + other[at + 1 :] == one for at in range(len(other)))


def _blackwell(wanted: str, names: Collection[str]) -> list[str]:
    """The workstation GPUs of the Blackwell generation next to one that is called by its letter, such as B5000."""
    if re.fullmatch(r"b\d{4}", wanted) is None:
        return []
    ids = [name for name in names if re.fullmatch(r"rtx-pro-\d+-bw", name)]
    away = {name: abs(int(_number(name)) - int(wanted[1:])) for name in ids}
    return sorted((name for name in ids if away[name] <= _NEXT), key=lambda name: away[name])
