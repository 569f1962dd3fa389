"""Only the findings of one or more stacks: the verb for CI. Ends with 1 when one is an error."""

import sys
from argparse import ArgumentParser, Namespace

from modelyard.cli.app import wants_colour
from modelyard.cli.common import exit_code, json_option, planned, project_root, say, stack_options
from modelyard.cli.exit import Exit
from modelyard.findings import Finding, Severity, ordered


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser)
    parser.add_argument("--notes", action="store_true", help="also show notes and waived findings")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Checks and prints."""
    results = planned(args, project_root(args))
    findings = ordered(
        finding for result in results for finding in (result.plan.findings if result.plan else result.findings)
    )
    if args.json:
        import json

        from modelyard.report.json import findings_document

        sys.stdout.write(json.dumps(findings_document(findings), indent=2, ensure_ascii=False) + "\n")
    else:
        _print(findings, len(results), args)
    return exit_code(findings, any(result.plan is None for result in results))


def _print(findings: tuple[Finding, ...], stacks: int, args: Namespace) -> None:
    from modelyard.report.finding import findings_text, tally
    from modelyard.report.style import Style
    from modelyard.report.values import count

    style = Style(wants_colour(args, sys.stdout))
    shown = [f for f in findings if args.notes or (f.severity is not Severity.ADVICE and not f.waived)]
    words = tally(findings)
    say([*findings_text(shown, style), f"{count(stacks, 'stack')} checked: {words or 'nothing is wrong'}"])
