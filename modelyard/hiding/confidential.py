"""A box for a value that may hold secrets."""

from typing import Any, Generic, NoReturn, TypeVar

from modelyard.hiding.names import HIDDEN

T_co = TypeVar("T_co", covariant=True)


class Confidential(Generic[T_co]):
    """A value that may hold secrets: an object of a cluster, a rendered patch, a token.

    It cannot be printed by accident. Its text is always the same, and JSON, YAML, pickle and iteration raise an error.
    ``hidden`` and ``hidden_pair`` take the box and return what may be shown.
    """

    __slots__ = ("_value",)
    _value: T_co

    def __init__(self, value: T_co) -> None:
        object.__setattr__(self, "_value", value)

    def reveal(self) -> T_co:
        """The value itself, for code that computes with it or sends it."""
        return self._value

    def __repr__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return format(HIDDEN, spec)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Confidential) and bool(self._value == other._value)

    def __hash__(self) -> int:
        return hash(self._value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError("a confidential value cannot be changed")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuses pickle, copies and YAML's tags for Python objects, which all ask here."""
        raise TypeError("a confidential value is not written: use hidden(), or reveal() where its value is needed")
