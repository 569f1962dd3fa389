"""Defines a rule, and makes one from a Python function."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from modelyard.findings import Finding
from modelyard.kube.kinds import KINDS
from modelyard.kube.merge import known_kinds
from modelyard.patterns import regex
from modelyard.policy.subject import Subject
from modelyard.stack.words import did_you_mean

Level = Literal["mandatory", "advisory", "disabled"]
LEVELS: tuple[Level, ...] = get_args(Level)
Params = Mapping[str, Any]
Judge = Callable[[Subject, Params], Iterable[Finding]]
JudgeAll = Callable[[Sequence[Subject], Params], Iterable[Finding]]

CODE = regex(r"POL[1-9][0-9]{2}")
"""Codes of rules. POL0xx are findings about the rules themselves; a project's own rules take POL900 to POL999."""
PARTS = ("Why", "Example", "Fix")
"""The parts of every rule's page, in this order."""

_WITHOUT_SCHEMA = frozenset(("ScaledJob", "SparkApplication"))
"""Kinds of the operators in use here whose schema is not shipped."""
_MARK = "__modelyard_rule__"


class Rule(NamedTuple):
    """One rule, from Python or an assertion."""

    code: str
    title: str
    """What must hold, in a few words, without a full stop."""
    page: str
    """Markdown: why, an example, how to fix it."""
    level: Level
    """The default level."""
    judge: Judge | None
    """Looks at one object at a time; None if ``judge_all`` does the work."""
    judge_all: JudgeAll | None
    """Looks at all objects of a stack in one cluster at once."""
    kinds: frozenset[str] = frozenset()
    """Kinds of the objects that it looks at, as ``Kind`` or ``GROUP/Kind``; empty for all."""
    roles: frozenset[str] = frozenset()
    """Workloads that it looks at; empty for all objects."""
    whole: bool = False
    """Whether it looks for missing fields and so needs whole objects."""
    params: Mapping[str, Mapping[str, Any]] = {}
    """JSON Schema of each parameter; ``default`` is the default value."""
    needs: tuple[str, ...] = ()
    """Parameters that it compares with; without them it does not run."""
    file: str = ""
    """Path of the file in findings."""
    line: int = 0

    def looks_at(self, api_version: str, kind: str) -> bool:
        """Whether it looks at objects of a kind."""
        group = api_version.rpartition("/")[0]
        return not self.kinds or kind in self.kinds or f"{group}/{kind}" in self.kinds

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters' default values."""
        return {name: schema["default"] for name, schema in self.params.items() if "default" in schema}


class Declared(NamedTuple):
    """The marks of a decorator on a function."""

    code: str
    level: Level
    params: Mapping[str, Mapping[str, Any]]
    needs: tuple[str, ...]
    kinds: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    whole: bool = False
    every: bool = False
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
    """Makes a rule from a function that looks at one object and yields a finding for everything wrong with it.

    The function stays what it is: pure, and callable in a test. Its docstring is the rule's page: the first line is the
    title, then come the parts **Why.**, **Example.** and **Fix.** in Markdown.

    Args:
        code: the rule's code, never given to another rule. Yours are POL900 to POL999.
        level: ``mandatory`` makes its findings errors, ``advisory`` warnings.
        kinds: kinds of the objects that it looks at, such as ``Deployment`` or ``example.com/Widget``; empty for all.
        roles: workloads that it looks at (``rayWorker``, ``celery`` …); empty for all objects.
        whole: whether it looks for missing fields, and so must see whole objects.
        params: JSON Schema of each parameter, with its ``default``.
        needs: parameters without which the rule does not run.
    """
    return _marker(
        Declared(
            code=code,
            level=level,
            params=params or {},
            needs=tuple(_words(needs)),
            kinds=_words(kinds),
            roles=_words(roles),
            whole=whole,
        )
    )


def rule_of_all(
    code: str,
    *,
    level: Level = "mandatory",
    params: Mapping[str, Mapping[str, Any]] | None = None,
    needs: Iterable[str] = (),
) -> Callable[[OfAll], OfAll]:
    """Makes a rule from a function that looks at all objects of a stack in one cluster; otherwise like ``rule``."""
    return _marker(Declared(code, level, params or {}, tuple(_words(needs)), every=True))


def _words(given: Iterable[str]) -> frozenset[str]:
    """The words of an argument that is one word or several: people write ``kinds="Job"``."""
    return frozenset((given,) if isinstance(given, str) else given)


def _marker(declared: Declared) -> Callable[[Any], Any]:
    def mark(function: Any) -> Any:
        setattr(function, _MARK, declared)
        return function

    return mark


def declared_by(value: object) -> Declared | None:
    """The declaration that makes a value a rule, None for any other value."""
    found = getattr(value, _MARK, None)
    return found if isinstance(found, Declared) else None


def unknown_kind(kinds: Iterable[str]) -> tuple[str, str]:
    """The first kind without its group that no shipped schema has, and what to do; empty if there is none."""
    known = {kind for _, kind in KINDS} | _WITHOUT_SCHEMA
    for kind in sorted(kinds):
        if "/" not in kind and kind not in known and kind not in known_kinds():
            close = did_you_mean(kind, known_kinds() | known)
            return kind, close or "write the kind of a custom resource with its group, such as example.com/Widget"
    return "", ""


def missing_parts(page: str) -> list[str]:
    """The parts that a page lacks or has in the wrong order."""
    places = [page.find(f"**{part}.**") for part in PARTS]
    return [
        part
        for index, part in enumerate(PARTS)
        if places[index] < 0 or any(before > places[index] for before in places[:index])
    ]


def line_of(error: BaseException, path: Path | str) -> int:
    """The line of a file in which an exception arose, 0 if it arose elsewhere."""
    line, at = 0, error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == str(path):
            line = at.tb_lineno
        at = at.tb_next
    return line
