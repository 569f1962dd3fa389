"""Print the objects of a pipeline's run as YAML, without a cluster.

The run has the name of the pipeline, so the output is always the same; a submission gives every run its own name.
"""

from argparse import ArgumentParser, Namespace
from datetime import date

from modelyard.cli.common import chosen_stack, project_root
from modelyard.cli.exit import Exit
from modelyard.cli.options import json_option, stack_argument
from modelyard.cli.submitting import chosen_pipeline, rendered


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument("pipeline", metavar="PIPELINE", help="name of one of its pipelines")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Renders and prints."""
    from modelyard.plan.admission import admitted
    from modelyard.plan.project import library_of
    from modelyard.runs.pipelines import pipeline_run_name, pipeline_submission

    root = project_root(args)
    stack = chosen_stack(root, args.stack, "pipeline", args.pipeline)
    pipeline = chosen_pipeline(stack, args.pipeline)
    name, today = pipeline_run_name(pipeline, shown=True), date.today()
    made = pipeline_submission(stack, library_of(root), pipeline, run=name, since=None, today=today)
    return rendered(stack, name, admitted(stack, made, pipeline.jobs, today), args)
