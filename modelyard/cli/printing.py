"""What verbs print: lines and JSON to standard output, findings and remarks to standard error."""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

from modelyard.cli.exit import Exit, Stop
from modelyard.cli.streams import columns, style_for, to_nowhere
from modelyard.findings import Finding
from modelyard.report.style import hanging


def say(lines: Iterable[str]) -> None:
    """Prints lines to standard output in one write."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def say_json(document: object, *, applied: bool = False) -> None:
    """Prints a document as JSON to standard output; ``applied`` as for ``json_text``."""
    from modelyard.report.json import json_text

    say([json_text(document, applied=applied)])


def say_wrapped(lines: Iterable[str]) -> None:
    """Prints lines to standard output, those that are too wide for it on more than one."""
    say(part for line in lines for part in hanging(line, 2, columns(sys.stdout)))


def note(text: str, indent: int = 0) -> None:
    """Prints a sentence to standard error, on as many lines as its width needs; all but the first are indented."""
    sys.stderr.write("".join(f"{line}\n" for line in hanging(text, indent, columns(sys.stderr))))


def say_findings(findings: Sequence[Finding], args: Namespace) -> None:
    """Prints findings to standard error."""
    if findings:
        from modelyard.report.finding import findings_text

        sys.stderr.write("\n".join(findings_text(findings, style_for(args, sys.stderr))) + "\n")


def say_errors(findings: Iterable[Finding], args: Namespace) -> None:
    """Prints the errors that stop an apply to standard error, for verbs that print something else."""
    say_findings([finding for finding in findings if finding.blocks], args)


def show_plan(text: Callable[[TextIO], list[str]], args: Namespace, *, asks: bool) -> None:
    """Shows all that a verb is about to do; ends the run if nobody reads it.

    With ``--json``, standard output has the outcome only, so a user who is asked sees the plan on standard error.

    Args:
        text: the plan as lines for a stream.
        args: the verb's arguments; reads ``json``.
        asks: whether the verb asks before it goes on.
    """
    if args.json:
        if asks and sys.stdin.isatty():
            sys.stderr.write("".join(f"{line}\n" for line in text(sys.stderr)))
        return
    try:
        say(text(sys.stdout))
        sys.stdout.flush()
    except BrokenPipeError:
        to_nowhere(sys.stdout)
        raise Stop(
            Exit.USAGE,
            "the output of the plan was closed; nothing was changed",
            "read it to the end, or write it to a file",
        ) from None
