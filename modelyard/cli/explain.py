"""Explain a finding's code: why the rule exists, an example, and how to fix it."""

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.exit import Exit, Stop
from modelyard.cli.judging import base_option, judging
from modelyard.cli.options import json_option
from modelyard.cli.printing import say, say_json
from modelyard.cli.streams import style_for

if TYPE_CHECKING:
    from modelyard.explanations import Explanation


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "code", nargs="?", metavar="CODE", help="a code such as GPU001, or its letters to list codes (default: all)"
    )
    base_option(parser)
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Prints one explanation, or the list."""
    from modelyard.explanations import explanations
    from modelyard.report.explanation import explanation_text, list_text

    known = explanations()
    # Run the project's own Python only for a code that modelyard does not explain itself.
    if args.code is None or args.code.upper() not in known:
        known = dict(sorted({**known, **_rules(args)}.items()))
    style = style_for(args, sys.stdout)
    code = (args.code or "").upper()
    family = {one: text for one, text in known.items() if one[:3] == code} if args.code is not None else known
    if family:
        if args.json:
            say_json({"formatVersion": 1, "codes": {one: text.title for one, text in family.items()}})
        else:
            say(list_text(family, style))
        return Exit.FINE
    if code not in known:
        from modelyard.stack.words import did_you_mean

        padded = re.sub(r"^([A-Z]{3})[ _-]?([0-9]{1,2})$", lambda found: f"{found[1]}{found[2]:0>3}", code)
        close = f"did you mean {padded}?" if padded in known else did_you_mean(code, known, 3)
        remedy = close or "modelyard explain lists all codes"
        raise Stop(Exit.USAGE, f"unknown finding code {args.code!r}", remedy)
    if args.json:
        say_json({"formatVersion": 1, "code": code, "title": known[code].title, "markdown": known[code].body})
    else:
        say(explanation_text(known[code], style))
    return Exit.FINE


def _rules(args: Namespace) -> "Mapping[str, Explanation]":
    """The pages of the policies of the surrounding project, if there is one."""
    from modelyard.stack import find_project

    root = find_project(Path(args.directory or ".").resolve())
    if root is None or not (root / "policies").is_dir():
        return {}
    from modelyard.policy.loading import explained

    with judging(root, args) as by:
        return explained(root, by.base) if by.policies else {}
