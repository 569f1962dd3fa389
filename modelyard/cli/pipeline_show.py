"""Show a pipeline: its stages in the order in which they run, what each takes, and the most GPUs at a time."""

import sys
from argparse import ArgumentParser, Namespace
from datetime import date

from modelyard.cli.app import style_for
from modelyard.cli.common import chosen_stack, json_option, project_root, say
from modelyard.cli.exit import Exit, Stop


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("stack", metavar="STACK", help="name of a stack, such as dev")
    parser.add_argument("pipeline", metavar="PIPELINE", help="name of one of its pipelines")
    parser.add_argument("--mermaid", action="store_true", help="print a flowchart in Mermaid's language")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Shows it, or what is wrong with it."""
    from modelyard.findings import Finding
    from modelyard.pipelines import chosen_pipeline, errors_of, summary
    from modelyard.report.pipeline import pipeline_document, pipeline_mermaid, pipeline_text
    from modelyard.sizing import sized

    if args.json and args.mermaid:
        raise Stop(Exit.USAGE, "both --json and --mermaid were given", "give one of them")
    stack = chosen_stack(project_root(args), args.stack)
    pipeline = chosen_pipeline(stack, args.pipeline)
    if isinstance(pipeline, Finding):
        raise Stop(Exit.FINDINGS, "there is nothing to show", "", [pipeline])
    everything = sized(stack.config)
    if errors := errors_of(stack, pipeline, everything, date.today()):
        raise Stop(Exit.FINDINGS, f"pipeline {pipeline.name} cannot run", "", errors)
    shown = summary(pipeline, everything)
    if args.json:
        from modelyard.report.json import json_text

        say([json_text(pipeline_document(stack.name, stack.file, shown))])
    elif args.mermaid:
        say(pipeline_mermaid(shown))
    else:
        say(pipeline_text(stack.name, shown, style_for(args, sys.stdout)))
    return Exit.FINE
