"""One run of checks, with the places of its findings as CI systems name them: a file of the repository, a line."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from modelyard.explanations import Explanation, explanations
from modelyard.findings import Finding
from modelyard.report.finding import tally
from modelyard.stack.words import few, plural

_WORD = re.compile(r"[a-z]+(?=[ ,])")


class Location(NamedTuple):
    """Where a finding is shown."""

    file: str
    """Relative to the repository's root, with slashes; absolute if it lies outside the project."""
    line: int
    """1-based. A finding about a whole file is shown on its first line, because CI systems need a line."""
    column: int
    """1-based, 0 if unknown."""


class Checked(NamedTuple):
    """The findings of one run, and the stacks that they concern."""

    findings: tuple[Finding, ...]
    """Sorted, without repeats."""
    stacks: Mapping[str, str]
    """File of each stack by its name, relative to the project."""
    unplanned: frozenset[str] = frozenset()
    """Stacks that could not be planned: only their findings are known."""
    folder: str = ""
    """The project's path inside its repository, with slashes; empty if the project is the repository."""
    left_out: tuple[Finding, ...] = ()
    """Findings that are counted and not shown, because ``--notes`` was not given."""
    rules: Mapping[str, Explanation] = {}
    """The pages of the project's own rules, by code."""
    documentation: str = ""
    """Address of the documentation site, for links to the pages of its rules; empty: none."""

    @property
    def known(self) -> Mapping[str, Explanation]:
        """The page of every code that a finding may have, sorted."""
        return dict(sorted({**explanations(), **self.rules}.items()))

    @property
    def counted(self) -> str:
        """How many stacks were checked, and how many findings they have."""
        words = tally((*self.findings, *self.left_out)) or "no findings"
        hint = " (list them with --notes)" if self.left_out else ""
        unplanned = few(sorted(self.unplanned))
        part = f"; {unplanned} could not be planned, so some checks did not run" if unplanned else ""
        return f"{plural(len(self.stacks), 'stack')} checked: {words}{hint}{part}"

    def place(self, finding: Finding) -> Location:
        """Where to show a finding: in its own file, else its stack's, else the project's."""
        file = finding.file or self.stacks.get(finding.stack, "") or "Pulumi.yaml"
        return Location((PurePosixPath(self.folder) / file).as_posix(), finding.line or 1, finding.column)


def sentences(finding: Finding) -> tuple[str, ...]:
    """What is wrong, why, and what to do: up to three texts that end like sentences, each on one line."""
    detail = " ".join(finding.detail.split())
    # A summary may begin with a name; a detail that begins with an ordinary word begins a sentence.
    detail = detail[0].upper() + detail[1:] if _WORD.match(detail) else detail
    remedy = f"Remedy: {finding.remedy}" if finding.remedy else ""
    return tuple(_ended(" ".join(text.split())) for text in (finding.summary, detail, remedy) if text.strip())


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", ":", "…")) else f"{text}."
