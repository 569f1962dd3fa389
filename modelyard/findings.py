"""Findings: what is wrong, as a value.

A finding carries a code, a severity, an address, a summary and a remedy. Findings accumulate: a user sees all of
them at once, sorted. Exceptions are for bugs and for input or output that failed.
"""

from collections.abc import Iterable
from enum import Enum
from itertools import islice
from typing import Final, NamedTuple

MOST_SHOWN: Final = 100
"""The most findings of one file that are reported; a user corrects these and runs the command again."""
MOST_COUNTED: Final = 1000
"""The most findings of one file that are counted. The search stops after one more, so a file cannot take long."""
MORE_REMEDY: Final = "correct these first, then run it again"


class Severity(Enum):
    """How serious a finding is. Only ``ERROR`` stops an apply and sets the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"

    @property
    def word(self) -> str:
        """The name in texts. JSON has the value."""
        return "note" if self is Severity.ADVICE else self.value


_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.ADVICE: 2}


class Finding(NamedTuple):
    """One thing that is wrong, where it is, and what to do about it."""

    code: str
    """Family and number, such as ``GPU001``; never reused. ``modelyard explain CODE`` prints the reason and the fix."""
    severity: Severity
    summary: str
    """One line without a full stop: what is wrong, with the values that show it."""
    stack: str = ""
    target: str = ""
    """Name of the Deployment or other object; empty if the finding is about the whole stack."""
    field: str = ""
    """Path in the stack file (``rayWorker.memory``) or in the target (``spec.replicas``)."""
    detail: str = ""
    """Why it is wrong: the rule and the numbers it compared."""
    remedy: str = ""
    """What to do next, as an instruction."""
    file: str = ""
    """Path of the file to edit, relative to the project if it is inside."""
    line: int = 0
    """1-based, 0 where there is no line."""
    column: int = 0
    waived: str = ""
    """The waiver's reason; a waived finding is shown but no longer an error."""

    @property
    def location(self) -> str:
        """``file:line:column`` as far as they are known."""
        if not self.file:
            return ""
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"

    @property
    def blocks(self) -> bool:
        """Whether this finding stops an apply."""
        return self.severity is Severity.ERROR and not self.waived


class Failure(Exception):
    """Input or output that failed: why, and what to do about it."""

    def __init__(self, summary: str, remedy: str = "", *, lasting: bool = False) -> None:
        # Pass all arguments, so that another process can pickle the exception.
        super().__init__(summary, remedy)
        self.summary = summary
        self.remedy = remedy
        self.lasting = lasting
        """Whether another attempt would fail in the same way, as with a wrong address or password."""

    def __str__(self) -> str:
        return self.summary


def about(finding: Finding) -> tuple[str, ...]:
    """What a finding is about, which is what it is recognized by later: neither its line nor its words.

    Lines move with every edit, and the numbers in the words with the platform.
    """
    return finding.code, finding.stack, finding.target, finding.field, finding.file


def loud(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The errors and warnings that are not waived."""
    return tuple(finding for finding in findings if finding.severity is not Severity.ADVICE and not finding.waived)


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings as a report shows them: in order, and of one code about one file the first and how many there are.

    Of each severity, and of waived findings, as many stay as it takes for the same exit code. Calling it again changes
    nothing.
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    found = in_order(findings)
    for finding in found:
        if finding.file and finding.remedy != MORE_REMEDY:
            groups.setdefault(_kind(finding), []).append(finding)
    many = {kind: group for kind, group in groups.items() if len(group) > MOST_SHOWN}
    if not many:
        return found
    dropped = {finding for group in many.values() for finding in group[MOST_SHOWN:]}
    counted = {_kind(finding) for finding in found if finding.remedy == MORE_REMEDY}
    counts = [first(group)[-1] for kind, group in many.items() if kind not in counted]
    return in_order((*(finding for finding in found if finding not in dropped), *counts))


def _kind(finding: Finding) -> tuple[object, ...]:
    """What the findings have in common of which a report shows the first."""
    return finding.code, finding.severity, finding.stack, finding.file, finding.waived != ""


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """All findings without repeats, the most serious first, then by place and code: the same order on every run.

    Errors in patches come before other errors: those may come from them.
    """
    return tuple(
        sorted(
            set(findings),
            key=lambda f: (
                f.waived != "",
                _RANK[f.severity],
                f.severity is not Severity.ERROR or not f.code.startswith("PAT"),
                f.stack,
                f.file,
                f.line,
                f.column,
                f.code,
                f.target,
                f.field,
                f.summary,
            ),
        )
    )


def first(findings: Iterable[Finding], *, whole: bool = True, what: str = "the file") -> list[Finding]:
    """The first findings about one thing, and how many there are.

    Args:
        findings: in their order; behind ``MOST_COUNTED`` and one more, none is asked for.
        whole: whether all of the thing was looked at.
        what: the thing, in words.
    """
    found = list(islice(findings, MOST_COUNTED + 1))
    if len(found) <= MOST_SHOWN:
        return found
    counted = f"{len(found):,}" if whole and len(found) <= MOST_COUNTED else f"more than {len(found) - whole:,}"
    summary = f"{what} has {counted} findings, of which these are the first {MOST_SHOWN}"
    last = found[0]._replace(summary=summary, remedy=MORE_REMEDY, target="", field="", detail="", line=0, column=0)
    return [*found[:MOST_SHOWN], last]


def first_of_each(findings: Iterable[Finding], what: str) -> list[Finding]:
    """The first findings of each code in each file, and how many there are; ``what`` they are of, in words."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.file), []).append(finding)
    return [finding for group in groups.values() for finding in first(group, what=what)]
