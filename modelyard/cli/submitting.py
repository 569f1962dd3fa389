"""Shared by the verbs for jobs and pipelines: choose one, print the objects of a run, and wait for a Job."""

import getpass
import os
import re
import time
from argparse import Namespace
from collections.abc import Collection, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from modelyard.cli.exit import Exit, Stop
from modelyard.cli.printing import note, say, say_findings, say_json

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.cluster import Refusal
    from modelyard.kube.state import Node, ObjectKey
    from modelyard.runs.jobs import Submission
    from modelyard.stack import Stack
    from modelyard.stack.jobs import Pipeline

USER = "MODELYARD_USER"
_LONGEST = 63
"""Characters of a label's value."""
PAUSE: Final = 2.0
"""Seconds between two checks of a Job that a command waits for."""


def user_label() -> str:
    """The user of this command as a label's value: ``$MODELYARD_USER``, else the login name; empty if unknown."""
    name = os.environ.get(USER, "")
    if not name:
        try:
            name = getpass.getuser()
        except (ImportError, KeyError, OSError):
            # A container may run as a number without a name.
            return ""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)[:_LONGEST].strip("-_.")


def need_user() -> str:
    """The user of this command; ends the run if it is unknown."""
    if user := user_label():
        return user
    raise Stop(Exit.USAGE, "your user name is unknown, so --mine cannot be used", f"set ${USER} to your name")


def need_job(stack: "Stack", name: str) -> None:
    """Ends the run if the stack has no job of that name."""
    from modelyard.stack.names import instead

    if all(one.name != name for one in stack.config.jobs):
        runnable = [one.name for one in stack.config.jobs if one.command]
        raise Stop(Exit.USAGE, f"{stack.name} has no job {name!r}", instead(name, runnable, "jobs with a command"))


def chosen_pipeline(stack: "Stack", name: str, stage: str | None = None) -> "Pipeline":
    """The pipeline of that name, with the requested stage if any; ends the run if either is missing."""
    from modelyard.stack.names import instead

    found = next((one for one in stack.config.pipelines if one.name == name), None)
    if found is None:
        known = [one.name for one in stack.config.pipelines]
        raise Stop(Exit.USAGE, f"{stack.name} has no pipeline {name!r}", instead(name, known, "pipelines"))
    stages = [one.name for one in found.stages]
    if stage is not None and stage not in stages:
        raise Stop(Exit.USAGE, f"pipeline {name} has no stage {stage!r}", instead(stage, stages, "stages"))
    return found


def report_warnings(stack: "Stack", made: "Submission", args: Namespace, today: date) -> None:
    """Prints the warnings about a submission that the stack does not waive."""
    from modelyard.findings import loud, ordered
    from modelyard.stack import waive

    say_findings(loud(waive(ordered(made.findings), stack, today)[0]), args)


def report_unplaced(
    client: "Client", root: Path, stack: "Stack", *, names: Collection[str], args: Namespace, today: date
) -> None:
    """Warns of jobs that no node can ever hold; uses recorded nodes if you may not read the live ones.

    Raises:
        ClusterError: the API server does not answer, or refuses.
    """
    from modelyard.plan.admission import never_placed

    nodes, _ = nodes_for(client, root, stack, {})
    say_findings(never_placed(stack, names, nodes, today), args)


def nodes_for(
    client: "Client", root: Path, stack: "Stack", labels: Mapping[str, Collection[str]]
) -> "tuple[Collection[Node], bool]":
    """The nodes with these labels, and whether they are live; all recorded ones if you may not read the live ones."""
    from modelyard.cluster import load_recorded
    from modelyard.cluster.lists import nodes_with

    if (live := nodes_with(client, labels)) is not None:
        return live, True
    state, _ = load_recorded(root, stack.name)
    return state.nodes if state is not None else (), False


def not_taken(refusal: "Refusal") -> Stop:
    """The stop for a submission that the API server refuses."""
    remedy = "correct what the message names, or ask the cluster's administrator"
    if refusal.why == "rights":
        remedy = "ask for this right: modelyard's guide on rights has what jobs need"
    return Stop(Exit.FINDINGS, f"the cluster rejects it: {refusal.message}", f"{remedy}; nothing was submitted")


def rendered(stack: "Stack", run: str, made: "Submission", args: Namespace) -> Exit:
    """Prints the objects of a run, or ends with the reason why there are none.

    Args:
        stack: the stack of the run.
        run: the run's name.
        made: the result of the submission.
        args: the verb's arguments; reads ``json``.
    """
    from modelyard.report.job import rendered_document, rendered_text

    if not made.objects:
        raise Stop(Exit.FINDINGS, f"{run} cannot be rendered", "", [one for one in made.findings if one.blocks])
    report_warnings(stack, made, args, date.today())
    if args.json:
        say_json(rendered_document(stack.name, run, made), applied=True)
    else:
        say(rendered_text(made))
    return Exit.FINE


class Patience:
    """Tracks the reasons already reported for one Job."""

    def __init__(self, client: "Client", job: "ObjectKey", more: str = "") -> None:
        """Starts with no reasons reported.

        Args:
            client: the cluster's client.
            job: the Job.
            more: how to learn more about a Job that waits in a queue.
        """
        self._client, self._more = client, more
        # The kubelet alternates between reporting a failed pull and the pause before the next one.
        self._reported: set[str] = set()
        self._name, self._namespace = job.name, job.namespace

    def look(self, *, suspended: bool = False) -> None:
        """Prints to standard error why the Job does not start, if that is a new reason.

        Args:
            suspended: whether Kueue holds the Job back, so that it has no pods.

        Raises:
            ClusterError: the API server does not answer.
        """
        from modelyard.cluster.lists import pods_of_job
        from modelyard.cluster.pods import not_started

        if suspended:
            why = f"{self._name} is in its queue{self._more}"
        else:
            why = not_started(pods_of_job(self._client, self._namespace, self._name))
        if why and why not in self._reported:
            note(f"it waits: {why}")
            self._reported.add(why)


def wait_for_end(client: "Client", job: "ObjectKey", *, again: str, uid: str = "", more: str = "") -> str:
    """Waits for a Job, and returns its last state: ``succeeded`` or ``failed``; ends the run if the Job is deleted.

    Args:
        client: the cluster's client.
        job: the Job.
        again: what to do about a deleted Job.
        uid: the Job's UID, so that another Job of its name does not count; empty: it counts.
        more: how to learn more about a Job that waits in a queue.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    from modelyard.cluster.live import read
    from modelyard.runs.pool.states import ENDED, state_of

    patience = Patience(client, job, more)
    while True:
        found = read(client, job)
        if found is None or uid not in ("", found["metadata"]["uid"]):
            remedy = f"it was deleted while it ran; {again}"
            raise Stop(Exit.FINDINGS, f"job {job.namespace}/{job.name} no longer exists", remedy)
        state, _, _ = state_of(found)
        if state in ENDED:
            return state
        patience.look(suspended=bool(found["spec"].get("suspend")))
        time.sleep(PAUSE)
