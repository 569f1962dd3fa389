"""Regular expressions that are compiled when they are first used: a command uses few of those in its modules."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as regex
else:

    class regex:  # noqa: N801 - used as the function that it is for a type checker
        """A compiled regular expression; ``re``'s own functions do not take it."""

        def __init__(self, text: str, flags: int = 0) -> None:
            self._given = (text, flags)

        def __getattr__(self, name: str) -> Any:
            found = getattr(_compile(*self._given), name)
            setattr(self, name, found)
            return found


_compile = re.compile


@contextmanager
def compiled_later() -> Iterator[None]:
    """Modules that are imported inside compile their regular expressions when they use them, as with ``regex``."""
    re.compile = regex
    try:
        yield
    finally:
        re.compile = _compile


__all__ = ["compiled_later", "regex"]
