"""Jobs of a cluster: submit one of a stack's, or a notebook as one, and see what becomes of it."""

from functools import partial

from modelyard.cli.app import Verb
from modelyard.cli.subverbs import add_subverbs, run_subverb

_KNOWN = {
    "submit": Verb("job.submit", "start a job of a stack, or a notebook as a job"),
    "render": Verb("job.render", "print what a run of a job would be, without a cluster"),
    "choices": Verb("job.choices", "what a notebook can be submitted with"),
    "list": Verb("job.list", "runs that wait, run, or have ended"),
    "why": Verb("job.why", "why a run waits, or why it failed"),
    "logs": Verb("job.logs", "what a run's workers wrote"),
    "cancel": Verb("job.cancel", "stop a run, so that its GPUs come free"),
}

configure = partial(add_subverbs, known=_KNOWN)
run = run_subverb
