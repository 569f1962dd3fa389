"""How a run ends."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum

from modelyard.findings import Failure, Finding


class Exit(IntEnum):
    """Exit codes, the same for every verb. From 128 on: the run was ended by the signal of that number."""

    FINE = 0
    FINDINGS = 1
    USAGE = 2
    UNREACHABLE = 3
    STALE = 4
    CHANGES = 5
    INTERNAL = 70
    HANGUP = 129
    INTERRUPTED = 130
    PIPE = 141
    TERMINATED = 143


EXIT_CODES: dict[Exit, str] = {
    Exit.FINE: "success",
    Exit.FINDINGS: "a finding that is an error, drift, a failed verification or check of doctor, files that are not "
    "formatted, packages that cannot be locked, a rejected or failed run, a run without logs",
    Exit.USAGE: "bad input or usage, a stack that cannot be planned, an answer other than yes",
    Exit.UNREACHABLE: "a cluster, Pulumi, another tool, the package index or the Prometheus server cannot be reached; "
    "another Pulumi command has locked the state; an apply or destroy failed",
    Exit.STALE: "the plan is stale: its inputs or starting state have changed; for an apply or destroy, the cluster or "
    "Pulumi's state is not that of the last apply",
    Exit.CHANGES: "changes are pending (with --detailed-exitcode)",
    Exit.INTERNAL: "an internal error in modelyard",
}


class Stop(Exception):
    """Ends the run with a message for the user instead of a result."""

    def __init__(self, code: Exit, summary: str, remedy: str = "", findings: Iterable[Finding] = ()) -> None:
        # Pass all arguments, so that another process can pickle the exception.
        super().__init__(code, summary, remedy, tuple(findings))
        self.code = code
        self.summary = summary
        self.remedy = remedy
        self.findings = tuple(findings)

    def __str__(self) -> str:
        return self.summary


@contextmanager
def ended_by(code: Exit, *failures: type[Failure]) -> Iterator[None]:
    """Ends the run with an exit code if the block raises one of these failures."""
    try:
        yield
    except failures as error:
        raise Stop(code, error.summary, error.remedy) from error


def exit_code(findings: Iterable[Finding]) -> Exit:
    """The exit code of a run with these findings, if it got to its result."""
    return Exit.FINDINGS if any(finding.blocks for finding in findings) else Exit.FINE
