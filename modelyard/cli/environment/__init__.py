"""Lock, build and show Python environments of jobs."""

from functools import partial

from modelyard.cli.app import Verb
from modelyard.cli.subverbs import add_subverbs, run_subverb

_KNOWN = {
    "list": Verb("environment.list", "list the Python environments of a stack, and whether they are locked"),
    "show": Verb("environment.show", "show one environment with every package of its lock"),
    "lock": Verb("environment.lock", "resolve a list to exact versions with hashes"),
    "build": Verb("environment.build", "build a locked environment in the cluster, once"),
}

configure = partial(add_subverbs, known=_KNOWN)
run = run_subverb
