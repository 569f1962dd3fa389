"""A box for a value that may hold secrets."""

from typing import Any, Generic, NoReturn, TypeVar

from modelyard.hiding.names import HIDDEN

T_co = TypeVar("T_co", covariant=True)


class Confidential(Generic[T_co]):
    """A value that may hold secrets: an object of a cluster, a rendered patch, a token.

    It cannot be printed by accident. Its text is always the same, and JSON, YAML, pickle and iteration raise an error.
    ``hidden`` and ``hidden_pair`` take the box and return what may be shown.
    """

    __slots__ = ("__value",)
    __value: T_co

    def __init__(self, value: T_co) -> None:
        object.__setattr__(self, "_Confidential__value", value)

    def reveal(self) -> T_co:
        """The value itself, for code that computes with it or sends it."""
        return self.__value

    def __repr__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return format(HIDDEN, spec)

    def __bool__(self) -> bool:
        return bool(self.__value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Confidential) and bool(self.__value == other.__value)

    def __hash__(self) -> int:
        return hash(self.__value)

    def __setattr__(self, *_: Any) -> NoReturn:
        raise AttributeError("a confidential value cannot be changed")

    __delattr__ = __setattr__

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuses pickle, copies and YAML's tags for Python objects, which all ask here."""
        raise TypeError("a confidential value is not written: use hidden(), or reveal() where its value is needed")
