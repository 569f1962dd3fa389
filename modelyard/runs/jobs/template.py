"""From a template of mode ``submitted`` to objects."""

import copy
from typing import Any, NamedTuple

from modelyard.catalog import Library, Selected, select_for_job
from modelyard.cluster.pool_objects import USER
from modelyard.findings import Finding
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey, key_of
from modelyard.runs.jobs import growth
from modelyard.stack.config import Stack
from modelyard.stack.environments import Environment
from modelyard.workloads import Facts, stack_facts, workloads


class Submission(NamedTuple):
    """The objects of a submission, or why there are none."""

    objects: Confidential[tuple[dict[str, Any], ...]]
    """The first owns the others, which are deleted with it, unless they are ``apart``."""
    findings: tuple[Finding, ...]
    template: str = ""
    """The patch version that the objects were rendered from."""
    environments: tuple[Environment, ...] = ()
    """Python environments that must be built first."""
    apart: bool = False
    """Whether each object ends on its own, as the trials of a search do."""
    remote: str = ""
    """Name of the remote resource whose cluster it runs on; empty: the home cluster."""

    @property
    def first(self) -> Confidential[dict[str, Any]]:
        """The first object."""
        return Confidential(self.objects.reveal()[0])

    def with_user(self, user: str) -> "Submission":
        """The submission with a label of the user on each object; unchanged without a user."""
        if not user:
            return self
        made = copy.deepcopy(self.objects.reveal())
        for body in made:
            body["metadata"].setdefault("labels", {})[USER] = user
        return self._replace(objects=Confidential(made))

    @property
    def key(self) -> ObjectKey:
        """The first object's key."""
        return key_of(self.first.reveal(), "")


def submission(stack: Stack, library: Library, template: str, given: Facts, known: Facts | None = None) -> Submission:
    """The objects rendered from a template.

    Args:
        stack: may pin the template's version, as of every patch.
        library: the project's patches.
        template: name of a patch with ``mode: submitted``.
        given: facts of the submission, beside the stack's.
        known: the stack's facts, if the caller already has them.
    """
    chosen, findings = chosen_template(stack, library, template, given, known)
    if chosen is None:
        return Submission(Confidential(()), (*library.findings, *findings))
    made = chosen.render_base()
    found = (*library.findings, *findings, *made.findings)
    objects = () if any(one.blocks for one in found) else tuple(document.body.reveal() for document in made.documents)
    return Submission(Confidential(objects), found, chosen.patch.id)


def chosen_template(
    stack: Stack, library: Library, template: str, given: Facts, known: Facts | None = None
) -> tuple[Selected | None, tuple[Finding, ...]]:
    """The version of a template that a stack uses, with its parameters; None if the findings say why not.

    The arguments are those of :func:`submission`.
    """
    known = stack_facts(stack, workloads(stack.config)) if known is None else known
    chosen, findings = select_for_job(library, stack, {**known, **given}, template)
    run = given.get("run", {})
    if chosen is not None and template == growth.TEMPLATE and run["leastWorkers"] is not None:
        wrong = tuple(growth.starts_whole(stack, run["job"], chosen.patch))
        return None if wrong else chosen, (*findings, *wrong)
    return chosen, findings
