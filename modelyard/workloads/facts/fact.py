"""A fact: its path, how its value is computed, and where the stack file sets it."""

from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, NamedTuple, TypeVar

from modelyard.stack.config import Config, StackPath

Given = TypeVar("Given")
FLAG: Final = (True, False)
"""The values of a fact that is true or false."""


class OtherSource(NamedTuple):
    """The source of a fact in some stacks, if it is not the usual one."""

    source: StackPath
    applies: Callable[[Config], bool]
    words: str
    """Which stacks: "if …"."""


class Fact(NamedTuple, Generic[Given]):
    """A row of a table of facts."""

    path: str
    """Dotted, as ``meta.yaml`` and assertions name it."""
    value: Callable[[Given], Any]
    """Computes a plain JSON-like value from what its table is about."""
    source: StackPath
    """Path in the stack file of the value that it follows from; empty if no line of a stack file decides it."""
    why: str = ""
    """Why it has no source; empty if it has one."""
    other_sources: tuple[OtherSource, ...] = ()
    """Its other sources; the first that applies counts."""
    meaning: str = ""
    """A sentence; empty if the schema of stack files describes its source, which has the same value."""
    values: tuple[Any, ...] | type = object
    """All values that it can have, or their type."""

    def can_be(self, value: Any) -> bool:
        """Whether it has this value in any stack."""
        return isinstance(value, self.values) if isinstance(self.values, type) else value in self.values

    def source_in(self, config: Config) -> StackPath:
        """Its source in a stack with this config."""
        return next((one.source for one in self.other_sources if one.applies(config)), self.source)


def written(path: str, value: Callable[[Given], Any], values: tuple[Any, ...] | type = object) -> Fact[Given]:
    """Returns a fact whose value stands in the stack file under the fact's own path."""
    return Fact(path, value, tuple(path.split(".")), values=values)


def flag(path: str, value: Callable[[Given], bool], source: StackPath, meaning: str) -> Fact[Given]:
    """Returns a fact that is true or false."""
    return Fact(path, value, source, meaning=meaning, values=FLAG)


def tree_of(table: Iterable[Fact[Given]]) -> dict[str, Any]:
    """Returns what computes the values of a table's facts, as nested dictionaries by the words of their paths."""
    tree: dict[str, Any] = {}
    for fact in table:
        *groups, last = fact.path.split(".")
        inner = tree
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[last] = fact.value
    return tree


def values_of(tree: dict[str, Any], given: Any) -> dict[str, Any]:
    """Returns the values of a table's facts; ``tree`` is from :func:`tree_of`, made once for many stacks."""
    return {name: values_of(inner, given) if type(inner) is dict else inner(given) for name, inner in tree.items()}
