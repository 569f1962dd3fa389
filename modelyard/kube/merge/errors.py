"""What is wrong with a value that does not fit its type."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar

from modelyard.kube.merge.path import ROOT, Path

_P = ParamSpec("_P")
_T = TypeVar("_T")


class SchemaError(NamedTuple):
    """One thing that is wrong, and where."""

    path: Path
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class MergeError(ValueError):
    """A patch or an object that cannot be merged: every reason at once, in ``errors``."""

    def __init__(self, errors: Iterable[SchemaError]) -> None:
        self.errors = tuple(sorted(errors, key=lambda error: (error.path.sort_key, error.message)))
        super().__init__("; ".join(map(str, self.errors)))


TOO_DEEP = SchemaError(ROOT, "the object is nested too deeply to be merged; no Kubernetes type needs that many levels")


def depth_checked(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """The function, raising ``MergeError`` for values that are nested deeper than Python's stack."""

    @wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return function(*args, **kwargs)
        except RecursionError:
            raise MergeError([TOO_DEEP]) from None

    return checked
