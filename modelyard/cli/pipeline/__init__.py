"""Show pipelines of a stack, and start runs of them."""

from functools import partial

from modelyard.cli.parser import Verb, add_subverbs, run_subverb

_KNOWN = {
    "show": Verb("pipeline.show", "show the stages in order, with their GPUs and times"),
    "render": Verb("pipeline.render", "print a run's objects as YAML (needs no cluster)"),
    "submit": Verb("pipeline.submit", "start a run of a pipeline"),
}

configure = partial(add_subverbs, known=_KNOWN)
run = run_subverb
