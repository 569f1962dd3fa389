"""Submit jobs of a stack, or notebooks as jobs, and follow their runs."""

from functools import partial

from modelyard.cli.app import Verb
from modelyard.cli.subverbs import add_subverbs, run_subverb

_KNOWN = {
    "submit": Verb("job.submit", "start a job of a stack, or a notebook as a job"),
    "render": Verb("job.render", "print the objects of a run without a cluster"),
    "choices": Verb("job.choices", "show the options for submitting a notebook"),
    "list": Verb("job.list", "list queued, running and finished runs"),
    "why": Verb("job.why", "explain why a run waits or failed"),
    "logs": Verb("job.logs", "print the logs of a run's workers"),
    "cancel": Verb("job.cancel", "stop a run and free its GPUs"),
}

configure = partial(add_subverbs, known=_KNOWN)
run = run_subverb
