"""The form in which the API server stores a value and gives it back.

Between what a client sends and what the server returns stand a decoder, defaults, and an encoder. What of it the
OpenAPI document tells is done here: quantities in their canonical form, nulls dropped where null is no value, empty
optional maps and lists of Go types dropped, defaults that the document declares. Defaults that only the server's Go
code knows (an image's pull policy, a probe's period) are not.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from modelyard.merge.path import ROOT, Path
from modelyard.merge.types import Type

_QUANTITY = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d+))?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@lru_cache(maxsize=4096)
def canonical_quantity(text: str) -> str:
    """A quantity as the API server spells it: ``4000m`` is ``4``, ``0.5`` is ``500m``, ``1024Mi`` is ``1Gi``.

    The text is returned as it is when it is not a quantity.
    """
    found = _QUANTITY.fullmatch(text)
    if found is None or not (found[2] or found[3]):
        return text
    sign, whole, part, suffix, exponent = found.groups()
    value = Fraction(f"{whole or 0}.{part or 0}")
    binary = suffix in _BINARY
    if binary:
        value *= 1 << _BINARY[suffix]
    else:
        value *= Fraction(10) ** (_DECIMAL[suffix or ""] + int(exponent or 0))
    # The server keeps nothing finer than nano, and rounds away from zero.
    nano = -(-value.numerator * 10**9 // value.denominator)
    sign = "-" if sign == "-" and nano else ""
    if not nano:
        return "0"
    if binary and nano >= 1024 * 10**9 and nano % 10**9 == 0:
        number, power = nano // 10**9, 0
        while number % 1024 == 0 and power < 60:
            number, power = number // 1024, power + 10
        return f"{sign}{number}{next((s for s, p in _BINARY.items() if p == power), '')}"
    number, power = nano, -9
    while number % 1000 == 0 and power < 18:
        number, power = number // 1000, power + 3
    if exponent is not None:
        return f"{sign}{number}" + (f"e{power}" if power else "")
    return f"{sign}{number}{_SUFFIX[power]}"


def is_quantity(text: str) -> bool:
    """Whether the API server takes the text for a quantity."""
    found = _QUANTITY.fullmatch(text)
    return found is not None and bool(found[2] or found[3])


def stored(kind: Type, value: Any, before: Any = None) -> Any:
    """``value`` as the API server gives it back; ``value`` itself when that is the same.

    ``before`` is a value that is in that form already: what the two share is not looked at again.
    """
    if value is before:
        return value
    sort = type(value)
    if sort is dict:
        return _map(kind, value, before if type(before) is dict else {}) if kind.is_map else value
    if sort is list:
        if not kind.is_list:
            return value
        known = {id(item): item for item in before} if type(before) is list else {}
        items = [
            item if id(item) in known else stored(kind.item, item, _counterpart(kind, item, before)) for item in value
        ]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    if kind.scalar == "quantity" and value is not None:
        text = value if sort is str else format(value, "f").rstrip("0").rstrip(".") if sort is float else str(value)
        return canonical_quantity(text)
    return value


def _counterpart(kind: Type, item: Any, before: Any) -> Any:
    """The item of ``before`` that ``item`` is a later version of."""
    if type(before) is list and kind.keys and type(item) is dict:
        keys = [(key, item.get(key)) for key in kind.keys]
        for other in before:
            if type(other) is dict and all(other.get(key) == value for key, value in keys):
                return other
    return None


def _map(kind: Type, value: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    out = None
    child = kind.child
    for name, inner in value.items():
        earlier = before.get(name)
        if inner is earlier and inner is not None:
            continue
        type_ = child[name]
        if type_ is None:
            if name not in before:
                out = dict(value) if out is None else out
                del out[name]
            continue
        after = stored(type_, inner, earlier)
        if after is inner and not (_is_nothing(kind, type_, name, after)):
            continue
        if out is None:
            out = dict(value)
        if _is_nothing(kind, type_, name, after):
            del out[name]
        else:
            out[name] = after
    result = value if out is None else out
    missing = [name for name in kind.defaults if name not in result]
    missing += [name for name in kind.zeros if name not in result and (name in before or not before)]
    if missing:
        result = dict(result)
        for name in missing:
            result[name] = stored(child[name] or kind, _copied(kind.defaults.get(name, {})))
    return result


def _is_nothing(kind: Type, type_: Type, name: str, value: Any) -> bool:
    """Whether the server drops the field."""
    if value is None:
        # A custom resource keeps a null that no default replaces, and its validation refuses it.
        return type_.native or (not type_.nullable and name in kind.defaults)
    if value or not type_.native or name in kind.required:
        return False
    if type(value) is list:
        return True
    return (
        type(value) is dict and not type_.child.properties and type_.child.element is not None and not type_.unchecked
    )


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {name: _copied(inner) for name, inner in value.items()}
    if type(value) is list:
        return [_copied(item) for item in value]
    return value


def refused_nulls(kind: Type, value: Any, before: Any, path: Path = ROOT) -> Iterator[Path]:
    """Where a custom resource holds a null that its schema does not allow, among what differs from ``before``."""
    if value is before:
        return
    if type(value) is dict:
        known = before if type(before) is dict else {}
        for name, inner in value.items():
            type_ = kind.child[name]
            if type_ is None or type_.native or inner is known.get(name, kind):
                continue
            if inner is None:
                if not type_.nullable:
                    yield path / name
            else:
                yield from refused_nulls(type_, inner, known.get(name), path / name)
    elif type(value) is list and kind.is_list:
        for index, item in enumerate(value):
            yield from refused_nulls(kind.item, item, _counterpart(kind, item, before), path / index)
