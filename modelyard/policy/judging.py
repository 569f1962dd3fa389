"""Runs rules over objects.

Sends what rules print to standard error, where no document reader and no CI system misreads it.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import TextIOBase
from threading import RLock
from typing import Any, TextIO

from modelyard.findings import Finding, Severity
from modelyard.patterns import regex
from modelyard.plan.secrets import findings_without
from modelyard.policy.rules import line_of
from modelyard.policy.settings import RuleSetting, Settings
from modelyard.policy.subject import Subject
from modelyard.stack.words import few, plain
from modelyard.timelimit import TimeBudget, TimeUp

SECONDS = 10.0
"""The most time that all rules may take for one stack, and that the file of a rule may take to load."""
BUDGET = TimeBudget(total=60.0, refill=0.1)
"""The time that all rules of a run may take together."""
MARK = "  policies print: "
"""Prefix of each line: CI systems obey commands such as ``::set-env …`` at the start of a line."""
_COMMAND = regex(r"##(?=[a-z]*\[)")
"""Commands that CI systems obey anywhere in a line."""
_BROKEN = "correct the rule; it must accept objects of any shape"
_LONGEST = 1000
_ONE_AT_A_TIME = RLock()
"""Python's streams belong to the whole process, and the policy pack serves the engine from several threads."""
_printed = False


def judge(settings: Settings, subjects: Sequence[Subject]) -> list[Finding]:
    """Every violation of a rule, with the rule's code and severity.

    A rule that does not end is an error, and the rules after it do not run.
    """
    found: list[Finding] = []
    broken: dict[tuple[str, Finding], list[str]] = {}
    running: tuple[RuleSetting, str] | None = None
    try:
        with BUDGET.limit(SECONDS):
            for subject in subjects:
                for setting in settings.of(subject.api_version, subject.kind):
                    if applies(setting, subject):
                        running = setting, subject.name
                        judged, error = _of_one(setting, subject)
                        found += judged
                        if error is not None:
                            broken.setdefault((setting.rule.code, error), []).append(subject.name)
            for setting in settings.of_objects:
                running = setting, ""
                found += of_objects(setting, subjects)
    except TimeUp:
        found.append(_unfinished(running))
    return [*found, *(_broken(code, error, targets) for (code, error), targets in broken.items())]


def applies(setting: RuleSetting, subject: Subject) -> bool:
    """Whether a rule looks at an object at all."""
    rule = setting.rule
    return (
        rule.looks_at(subject.api_version, subject.kind)
        and (not rule.roles or subject.role in rule.roles)
        and (subject.whole or not rule.whole)
    )


def of_object(setting: RuleSetting, subject: Subject) -> Iterable[Finding]:
    """The findings of one rule about one object."""
    found, error = _of_one(setting, subject)
    return found if error is None else [*found, _broken(setting.rule.code, error, [subject.name])]


def of_objects(setting: RuleSetting, subjects: Sequence[Subject]) -> Iterable[Finding]:
    """The findings of one rule about all objects together."""
    judge_all = setting.rule.judge_all
    assert judge_all is not None
    found, error = _judged(setting, subjects, lambda: judge_all(subjects, setting.params))
    return found if error is None else [*found, _broken(setting.rule.code, error, [])]


def _of_one(setting: RuleSetting, subject: Subject) -> tuple[list[Finding], Finding | None]:
    judge_one = setting.rule.judge
    assert judge_one is not None
    return _judged(setting, (subject,), lambda: judge_one(subject, setting.params))


def _judged(
    setting: RuleSetting, subjects: Iterable[Subject], run: Callable[[], Iterable[Finding]]
) -> tuple[list[Finding], Finding | None]:
    """The findings of a rule, and its error if it broke: the exception as a summary, and its place."""
    # A rule is a project's code and meets unexpected objects: a rule that fails must not hide the others.
    found: list[Finding] = []
    errors: list[Finding] = []
    try:
        with kept_apart():
            found.extend(
                finding._replace(code=setting.rule.code, severity=setting.severity(finding.severity))
                for finding in _made(run())
            )
    except (Exception, SystemExit) as error:
        rule = setting.rule
        code = getattr(rule.judge or rule.judge_all, "__code__", None)
        line = line_of(error, code.co_filename) if code is not None else 0
        words, remedy = f"{type(error).__name__}: {plain(str(error), 200)}", _BROKEN
        if isinstance(error, _NotFindings):
            words, remedy = str(error), "yield subject.finding(…) for each violation, or return a list of them"
        errors.append(Finding("POL005", Severity.ERROR, words, file=rule.file, line=line or rule.line, remedy=remedy))
    # A reader of findings may not have the right to read what the rule has read.
    hidden = findings_without([*found, *errors], (subject.object for subject in subjects))
    return (hidden[:-1], hidden[-1]) if errors else (hidden, None)


class _NotFindings(TypeError):
    """A rule returned or yielded something else than findings."""


def _made(returned: Any) -> Iterator[Finding]:
    """The findings that a rule returned.

    Raises:
        _NotFindings: it returned something else.
    """
    # A finding is a tuple, but not a list of findings.
    if isinstance(returned, Finding) or not (isinstance(returned, Iterable) or hasattr(returned, "__getitem__")):
        raise _NotFindings(f"it returned {_kind(returned)}")
    for one in returned:
        if not isinstance(one, Finding):
            raise _NotFindings(f"it returned {_kind(one)}")
        yield one


def _kind(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, Finding):
        return "a single finding, not a list"
    name = plain(type(value).__name__)
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def time_up() -> str:
    """When a rule was interrupted, in words."""
    if BUDGET.spent:
        return f"when the rules of this run had taken {BUDGET.total:g} seconds together"
    return f"after {SECONDS:g} seconds"


def _unfinished(running: tuple[RuleSetting, str] | None) -> Finding:
    remedy = "look for an endless loop, or compare fewer objects"
    if running is None:
        why = (
            f": the rules of this run have taken {BUDGET.total:g} seconds together" if BUDGET.spent else f" {time_up()}"
        )
        return Finding("POL005", Severity.ERROR, f"no rule has checked this stack{why}", remedy=remedy)
    setting, target = running
    return Finding(
        "POL005",
        Severity.ERROR,
        f"rule {setting.rule.code} was still running{f' on {target}' if target else ''} {time_up()}",
        target=target,
        detail="later rules have not checked this stack",
        remedy=remedy,
        file=setting.rule.file,
        line=setting.rule.line,
    )


def _broken(code: str, error: Finding, targets: Sequence[str]) -> Finding:
    """The finding about a rule that broke with one error on some objects; on none: on all objects together."""
    several = len(targets) > 1
    where = f"{len(targets)} objects" if several else "".join(targets)
    detail = f"it is unknown whether the {'object' if targets else 'stack'} follows the rule"
    if several:
        detail = f"it is unknown whether these {where} follow the rule: {few(targets)}"
    return error._replace(
        summary=f"rule {code} failed{f' on {where}' if where else ''}: {error.summary}",
        target="" if several else where,
        detail=detail,
    )


def printed() -> bool:
    """Whether rules have printed anything in this process."""
    return _printed


@contextmanager
def kept_apart() -> Iterator[None]:
    """Redirects what is printed inside, to standard output or error, to standard error line by line, made safe."""
    with _ONE_AT_A_TIME:
        lines = _Lines(sys.stderr)
        with redirect_stdout(lines), redirect_stderr(lines):
            try:
                yield
            finally:
                lines.end()


class _Lines(TextIOBase):
    def __init__(self, stream: TextIO) -> None:
        self._stream, self._rest = stream, ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._say(line)
        return len(text)

    def end(self) -> None:
        """Prints the last line, which has no line feed."""
        if self._rest:
            self._say(self._rest)
            self._rest = ""

    def _say(self, line: str) -> None:
        global _printed
        _printed = True
        self._stream.write(f"{MARK}{_COMMAND.sub('# #', plain(line, _LONGEST))}\n")
