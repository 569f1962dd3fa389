"""Show pipelines: their stages in the order in which they run, what each requests, and the most GPUs at a time."""

import sys
from argparse import ArgumentParser, Namespace
from datetime import date

from modelyard.cli.common import chosen_stack, project_root, stack_and_name
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import json_option, stack_argument
from modelyard.cli.printing import say, say_findings, say_json, say_wrapped
from modelyard.cli.streams import style_for
from modelyard.cli.submitting import chosen_pipeline
from modelyard.findings import Finding, loud, ordered


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
    """Shows the pipelines, and the findings that ``pipeline submit`` reports without a cluster."""
    from modelyard.plan.admission import admitted
    from modelyard.plan.project import library_of
    from modelyard.report.pipeline import pipeline_document, pipeline_mermaid, pipeline_text
    from modelyard.runs.pipelines import findings_of, pipeline_run_name, pipeline_submission, summary
    from modelyard.stack import waive
    from modelyard.stack.words import listed
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
    pipelines = stack.config.pipelines if pipeline_name is None else (chosen_pipeline(stack, pipeline_name),)
    everything, library, today = sized(stack.config), library_of(root), date.today()
    errors, warnings, broken, shown = list[Finding](), list[Finding](), list[str](), 0
    for pipeline in pipelines:
        found = findings_of(stack, pipeline, everything, today)
        if not any(one.blocks for one in found):
            size = summary(pipeline, everything)
            if args.json:
                say_json(pipeline_document(stack.name, stack.file, size))
            elif args.mermaid:
                say(pipeline_mermaid(size))
            else:
                say([*([""] if shown else []), *pipeline_text(stack.name, size, style_for(args, sys.stdout))])
            shown += 1
            run_name = pipeline_run_name(pipeline, shown=True)
            made = pipeline_submission(stack, library, pipeline, run=run_name, since=None, today=today)
            made = admitted(stack, made, pipeline.jobs, today)
            found = made.findings
        if blocking := [one for one in found if one.blocks]:
            errors += blocking
            broken.append(pipeline.name)
        else:
            warnings += found
    say_findings(loud(waive(ordered(dict.fromkeys(warnings)), stack, today)[0]), args)
    if broken and args.json and shown:
        # Standard output holds the pipeline's document.
        say_findings(errors, args)
        return Exit.FINDINGS
    if broken:
        which = f"pipeline{'s' * (len(broken) > 1)} {listed(dict.fromkeys(broken), 'and')}"
        raise Stop(Exit.FINDINGS, f"{which} cannot run", "", dict.fromkeys(errors))
    return Exit.FINE
