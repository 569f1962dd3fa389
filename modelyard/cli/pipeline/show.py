"""Show pipelines: their stages in the order in which they run, what each requests, and the most GPUs at a time."""

import sys
from argparse import ArgumentParser, Namespace
from datetime import date

from modelyard.cli.common import chosen_stack, project_root, stack_and_name
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import json_option, stack_argument
from modelyard.cli.printing import say, say_json, say_wrapped
from modelyard.cli.streams import style_for
from modelyard.cli.submitting import chosen_pipeline


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument(
        "pipeline",
        nargs="?",
        metavar="PIPELINE",
        help="name of one of its pipelines (default: all; --json and --mermaid show one)",
    )
    parser.add_argument("--mermaid", action="store_true", help="print a flowchart in Mermaid's language")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Shows the pipelines, or their findings."""
    from modelyard.report.pipeline import pipeline_document, pipeline_mermaid, pipeline_text
    from modelyard.runs.pipelines import findings_of, summary
    from modelyard.workloads.sizing import sized

    if args.json and args.mermaid:
        raise Stop(Exit.USAGE, "both --json and --mermaid were given", "give one of them")
    root = project_root(args)
    named, pipeline_name = stack_and_name(root, args.stack, args.pipeline)
    stack = chosen_stack(root, named)
    names = [pipeline_name] if pipeline_name is not None else [one.name for one in stack.config.pipelines]
    if not names and (args.json or args.mermaid):
        raise Stop(Exit.USAGE, f"{stack.name} has no pipelines", "add some to modelyard:pipelines")
    if not names:
        say_wrapped([f"{stack.name} has no pipelines; add them under modelyard:pipelines"])
    if len(names) > 1 and (args.json or args.mermaid):
        raise Stop(Exit.USAGE, f"{stack.name} has several pipelines", f"name one of them: {', '.join(names)}")
    everything = sized(stack.config)
    for index, name in enumerate(names):
        pipeline = chosen_pipeline(stack, name)
        found = findings_of(stack, pipeline, everything, date.today())
        if errors := [one for one in found if one.blocks]:
            raise Stop(Exit.FINDINGS, f"pipeline {pipeline.name} cannot run", "", errors)
        shown = summary(pipeline, everything)
        if args.json:
            say_json(pipeline_document(stack.name, stack.file, shown))
        elif args.mermaid:
            say(pipeline_mermaid(shown))
        else:
            say([*([""] if index else []), *pipeline_text(stack.name, shown, style_for(args, sys.stdout))])
    return Exit.FINE
