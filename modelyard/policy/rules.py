"""What a rule is, and how a Python function becomes one."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from modelyard.findings import Finding
from modelyard.policy.subject import Subject

Level = Literal["mandatory", "advisory", "disabled"]
LEVELS: tuple[Level, ...] = get_args(Level)
Params = Mapping[str, Any]
Judge = Callable[[Subject, Params], Iterable[Finding]]
JudgeAll = Callable[[Sequence[Subject], Params], Iterable[Finding]]

CODE = re.compile(r"POL[1-9][0-9]{2}")
"""Codes of rules. POL0xx are mistakes around the rules; a project's own rules take POL900 to POL999."""
PARTS = ("Why", "Example", "Fix")
"""The parts of every rule's page, in this order."""

_MARK = "__modelyard_rule__"


class Rule(NamedTuple):
    """One rule, wherever it was written."""

    code: str
    title: str
    """What holds, in a few words, without a full stop."""
    page: str
    """Markdown: why, an example, how to mend it."""
    level: Level
    """Where nobody sets another."""
    judge: Judge | None
    """Looks at one object at a time; None where ``judge_all`` does it."""
    judge_all: JudgeAll | None
    """Looks at all objects of a stack in one cluster at once."""
    kinds: frozenset[str] = frozenset()
    """Of the objects that it looks at; empty for all."""
    roles: frozenset[str] = frozenset()
    """Of the workloads that it looks at; empty for all objects."""
    whole: bool = False
    """Whether it is about what is missing, so that it needs to see whole objects."""
    params: Mapping[str, Mapping[str, Any]] = {}
    """JSON Schema of each parameter; ``default`` is its value where nobody sets another."""
    needs: tuple[str, ...] = ()
    """Parameters without which it has nothing to compare with, and so does not run."""
    file: str = ""
    """As findings name it."""
    line: int = 0

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters' own values."""
        return {name: schema["default"] for name, schema in self.params.items() if "default" in schema}


class Declared(NamedTuple):
    """What a decorator noted on a function."""

    code: str
    level: Level
    kinds: frozenset[str]
    roles: frozenset[str]
    whole: bool
    params: Mapping[str, Mapping[str, Any]]
    needs: tuple[str, ...]
    every: bool
    """Whether the function takes all objects at once."""


OfOne = TypeVar("OfOne", bound=Judge)
OfAll = TypeVar("OfAll", bound=JudgeAll)


def rule(
    code: str,
    *,
    level: Level = "mandatory",
    kinds: Iterable[str] = (),
    roles: Iterable[str] = (),
    whole: bool = False,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    needs: Iterable[str] = (),
) -> Callable[[OfOne], OfOne]:
    """Makes a rule of a function that looks at one object and yields a finding for all that is wrong with it.

    The function stays what it is: pure, and callable in a test. Its docstring is the rule's page: the first line is the
    title, then come the parts **Why.**, **Example.** and **Fix.** in Markdown.

    Args:
        code: the rule's code, never given to another rule. Yours are POL900 to POL999.
        level: ``mandatory`` makes its findings errors, ``advisory`` warnings.
        kinds: kinds of the objects that it looks at; all where none is named.
        roles: workloads that it looks at (``rayWorker``, ``celery`` …); all objects where none is named.
        whole: whether it looks for what is missing, and so must see whole objects.
        params: JSON Schema of each parameter, with its ``default``.
        needs: parameters without which the rule does not run.
    """
    declared = Declared(
        code=code,
        level=level,
        kinds=_words(kinds),
        roles=_words(roles),
        whole=whole,
        params=params or {},
        needs=tuple(_words(needs)),
        every=False,
    )
    return _marker(declared)


def rule_of_all(
    code: str,
    *,
    level: Level = "mandatory",
    params: Mapping[str, Mapping[str, Any]] | None = None,
    needs: Iterable[str] = (),
) -> Callable[[OfAll], OfAll]:
    """Makes a rule of a function that looks at all objects of a stack in one cluster at once; otherwise as ``rule``."""
    nothing: frozenset[str] = frozenset()
    return _marker(
        Declared(
            code=code,
            level=level,
            kinds=nothing,
            roles=nothing,
            whole=False,
            params=params or {},
            needs=tuple(_words(needs)),
            every=True,
        )
    )


def _words(given: Iterable[str]) -> frozenset[str]:
    """One word or several: ``kinds="Job"`` is what people write."""
    return frozenset((given,) if isinstance(given, str) else given)


def _marker(declared: Declared) -> Callable[[Any], Any]:
    def mark(function: Any) -> Any:
        setattr(function, _MARK, declared)
        return function

    return mark


def declared_by(value: object) -> Declared | None:
    """What makes a value a rule, None for any other value."""
    found = getattr(value, _MARK, None)
    return found if isinstance(found, Declared) else None


def missing_parts(page: str) -> list[str]:
    """The parts that a page lacks, or has in another place than they belong."""
    places = [page.find(f"**{part}.**") for part in PARTS]
    return [
        part
        for index, part in enumerate(PARTS)
        if places[index] < 0 or any(before > places[index] for before in places[:index])
    ]


def line_of(error: BaseException, path: Path | str) -> int:
    """The line of a file in which an exception arose, 0 where it arose elsewhere."""
    line, at = 0, error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == str(path):
            line = at.tb_lineno
        at = at.tb_next
    return line
