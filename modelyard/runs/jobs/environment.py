"""The Job that builds an environment, and what keeps a run from having one."""

from typing import Final

from modelyard.catalog import Library
from modelyard.findings import Finding
from modelyard.runs.jobs.template import Submission, submission
from modelyard.stack.config import Stack
from modelyard.stack.environments import Environment
from modelyard.stack.jobs import Job
from modelyard.workloads.environments.rules import check_environments, environment_of
from modelyard.workloads.facts.environments import build_facts

TEMPLATE: Final = "environment-build"
"""Name of the patch."""


def environment_build(stack: Stack, library: Library, environment: Environment, namespace: str) -> Submission:
    """What a build of one of the stack's environments makes.

    Args:
        stack: whose environment it is, with its files.
        library: the project's patches.
        environment: that is built.
        namespace: in which.
    """
    if problems := problems_of(stack, environment):
        return Submission((), problems)
    return submission(stack, library, TEMPLATE, build_facts(stack.config, environment, namespace, stack.name))


def problems_of(stack: Stack, environment: Environment) -> tuple[Finding, ...]:
    """The errors about an environment itself: after them there is nothing to build or to run in."""
    index = stack.config.environments.index(environment)
    bare = stack._replace(config=stack.config._replace(jobs=(), resources=()))
    return tuple(
        one for one in check_environments(bare) if one.blocks and one.field.startswith(f"environments[{index}]")
    )


def notebook_environment(stack: Stack) -> tuple[Environment | None, tuple[Finding, ...]]:
    """The environment of notebooks, None where they have none; with errors none is submitted."""
    name = stack.config.notebooks.environment
    if name is None:
        return None, ()
    found = next((one for one in stack.config.environments if one.name == name), None)
    used = tuple(one for one in check_environments(stack) if one.blocks and one.field.startswith("notebooks."))
    return found, (*used, *(problems_of(stack, found) if found is not None else ()))


def job_environment(stack: Stack, job: Job) -> tuple[Environment | None, tuple[Finding, ...]]:
    """The environment of a job's runs, None where it has none; with errors there is no run."""
    resource = next((one for one in stack.config.resources if one.name == job.resource), None)
    name = environment_of(job, resource)
    if name is None:
        return None, ()
    mine = {f"jobs[{stack.config.jobs.index(job)}]"}
    if resource is not None and job.environment is None:
        mine.add(f"resources[{stack.config.resources.index(resource)}]")
    found = next((one for one in stack.config.environments if one.name == name), None)
    used = tuple(one for one in check_environments(stack) if one.blocks and one.field.partition(".")[0] in mine)
    own = problems_of(stack, found) if found is not None else ()
    return found, (*used, *own)
