"""Suggests GPU names that you may have meant for an unknown name."""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches

_NEXT = 1000
"""Step between the numbers of two consecutive GPUs in a series of workstation GPUs."""
_DISTINCT = 3
"""Number of digits from which a number identifies a GPU better than its letters."""


def near_names(wanted: str, names: Collection[str]) -> list[str]:
    """Returns similar names, nearest first; all are in lower case, and the wanted one has no brand."""
    near = [name for name in get_close_matches(wanted, names, n=16, cutoff=0.6) if _alike(wanted, name)]
    number = _number(wanted)
    if len(number) >= _DISTINCT:
        near = [name for name in near if _number(name) == number] or near
    return list(dict.fromkeys((*_blackwell(wanted, names), *near)))


def described(wanted: str, gpus: Mapping[str, int]) -> list[str]:
    """Returns the ids of the GPUs that a name describes by model, form and memory, such as ``h100-sxm``.

    If no GPU of the model has both the form and the memory, the form decides, and if none has the form, the memory:
    ``a10-48gb`` describes the A10, and ``a100-pcie-80gb`` the A100 with 80 GB, whose name does not contain a form.

    Args:
        wanted: the name in lower case, without a brand, with dashes between its words.
        gpus: memory in GB by id.
    """
    model, *words = re.split(r"[-_]+", re.sub(r"(\d)-?(g|gb|gib)$", r"\1gb", wanted))
    of_model = [gpu for gpu in gpus if gpu.split("-")[0] == model]
    found = [gpu for gpu in of_model if all(_has(gpu, word, gpus[gpu]) for word in words)]
    if found or not words or re.fullmatch(r"\d+gb", words[-1]) is None:
        return found
    of_form = [gpu for gpu in of_model if all(_has(gpu, word, gpus[gpu]) for word in words[:-1])]
    return of_form or [gpu for gpu in of_model if _has(gpu, words[-1], gpus[gpu])]


def _has(gpu: str, word: str, memory: int) -> bool:
    return word == f"{memory}gb" or any(part.startswith(word) for part in gpu.split("-")[1:])


def _number(name: str) -> str:
    """Returns the first number in a name: ``300`` of ``gb300``."""
    found = re.search(r"\d+", name)
    return found[0] if found is not None else ""


def _alike(wanted: str, name: str) -> bool:
    """Whether at most one digit is wrong, missing or extra: a B9000 is not close to a B300."""
    one, other = sorted((_number(wanted), _number(name)), key=len)
    if not one or len(one) == len(other):
        return not one or sum(a != b for a, b in zip(one, other, strict=True)) <= 1
    return any(other[:at] + other[at + 1 :] == one for at in range(len(other)))


def _blackwell(wanted: str, names: Collection[str]) -> list[str]:
    """Returns the Blackwell workstation GPUs next to one that is named by its letter, such as B5000."""
    if re.fullmatch(r"b\d{4}", wanted) is None:
        return []
    ids = [name for name in names if re.fullmatch(r"rtx-pro-\d+-bw", name)]
    distance = {name: abs(int(_number(name)) - int(wanted[1:])) for name in ids}
    return sorted((name for name in ids if distance[name] <= _NEXT), key=lambda name: distance[name])
