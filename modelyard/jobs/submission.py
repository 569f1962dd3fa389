"""The objects that a submission makes."""

from collections.abc import Mapping
from typing import Final

from modelyard.catalog import Library
from modelyard.environments.rules import environment_of
from modelyard.findings import Finding, Severity
from modelyard.hardware.partitions import slice_of
from modelyard.jobs.environment import job_environment
from modelyard.jobs.spark import check_spark
from modelyard.jobs.template import Submission, submission
from modelyard.sizing import sized
from modelyard.stack.config import Path, Stack
from modelyard.stack.jobs import Engine, Job
from modelyard.stack.names import fresh, instead
from modelyard.workloads import job_facts

TEMPLATES: Final[Mapping[Engine, str]] = {"job": "job-run", "ray": "job-ray", "spark": "job-spark"}
"""The patch that a job is rendered from, by who runs its workers."""
LONGEST_RUN: Final = 54
"""Characters of the longest name of a run: pods add an index and an ending, and 63 is the most for a label."""


def run_name(job: str) -> str:
    """A name for a new run of a job: the job's, and five characters by chance."""
    return fresh(job, LONGEST_RUN, "run")


def job_submission(stack: Stack, library: Library, name: str, run: str) -> Submission:
    """What a submission of one of the stack's jobs makes.

    Args:
        stack: whose job it is.
        library: the project's patches.
        name: of the job.
        run: name of the run, see :func:`run_name`.
    """
    index, job = next(((index, job) for index, job in enumerate(stack.config.jobs) if job.name == name), (-1, None))
    if job is None:
        runnable = [one.name for one in stack.config.jobs if one.command]
        finding = Finding(
            "RES214",
            Severity.ERROR,
            f"{stack.name} has no job {name}",
            stack=stack.name,
            file=stack.file,
            remedy=instead(name, runnable, "jobs with a command"),
        )
        return Submission((), (finding,))
    if problem := _unfit(stack, index, job):
        return Submission((), (problem,))
    if errors := tuple(one for one in check_spark(stack, sized(stack.config)) if one.blocks and _is_of(one, index)):
        return Submission((), errors)
    environment, wrong = job_environment(stack, job)
    if wrong:
        return Submission((), wrong)
    made = submission(stack, library, TEMPLATES[job.engine], job_facts(stack.config, job, run, stack.name))
    return made._replace(environments=(environment,) if environment is not None else ())


def _is_of(finding: Finding, index: int) -> bool:
    mine = f"jobs[{index}]"
    return finding.field == mine or finding.field.startswith(f"{mine}.")


def _unfit(stack: Stack, index: int, job: Job) -> Finding | None:
    """Why a job cannot be submitted."""
    resource = next((one for one in stack.config.resources if one.name == job.resource), None)
    where: Path = ("jobs", index)
    if not job.command:
        summary = "has no command, so there is nothing to run once"
        remedy = "give it a command; without one it is work for the pods of its resource"
    elif job.resource is not None and (resource is None or resource.type != job.type):
        where = (*where, "resource")
        summary = "is on no resource of its type"
        remedy = f"correct it first: modelyard check {stack.name}"
    elif resource is not None and resource.remote is not None:
        where = (*where, "resource")
        summary = f"is on the remote resource {resource.name}, which is not the platform's cluster"
        remedy = f"modelyard remote {stack.name} --write DIR writes what launches it there"
    elif resource is not None and (resource.partition or resource.grow) and slice_of(stack.config, resource) is None:
        where = (*where, "resource")
        summary = f"is on {resource.name}, whose slices are none that a partition has"
        remedy = f"correct it first: modelyard check {stack.name}"
    elif not (job.image or (resource is not None and resource.image) or stack.config.runtime.image) and (
        environment_of(job, resource) is None
    ):
        summary = "has no image to run in"
        remedy = "set image of the job, of its resource, or of modelyard:runtime"
    else:
        return None
    return stack.finding("RES214", Severity.ERROR, where, f"job {job.name} {summary}", remedy)
