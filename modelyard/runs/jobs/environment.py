"""The Job that builds a Python environment, and the errors that keep a run from having one."""

from collections.abc import Container
from typing import Final

from modelyard.catalog import Library
from modelyard.findings import Finding
from modelyard.hiding import Confidential
from modelyard.runs.jobs.template import Submission, submission
from modelyard.stack.config import Stack, about_entries
from modelyard.stack.environments import Environment
from modelyard.stack.jobs import Job
from modelyard.workloads.environments.rules import check_environments, environment_of
from modelyard.workloads.facts.environments import build_facts, environment_named

TEMPLATE: Final = "environment-build"
"""Name of the patch that builds a Python environment."""


def environment_build(stack: Stack, library: Library, environment: Environment, namespace: str) -> Submission:
    """The objects of a build of one of the stack's Python environments.

    Args:
        stack: the stack, with the environment's files.
        library: the project's patches.
        environment: the Python environment to build.
        namespace: where the build runs.
    """
    if problems := problems_of(stack, environment):
        return Submission(Confidential(()), problems)
    return submission(stack, library, TEMPLATE, build_facts(stack.config, environment, namespace, stack.name))


def problems_of(stack: Stack, environment: Environment) -> tuple[Finding, ...]:
    """The errors about a Python environment itself: with any of them, it can be neither built nor used."""
    mine = stack.config.entries(environment)
    bare = stack._replace(config=stack.config._replace(jobs=(), resources=()))
    return tuple(one for one in about_entries(check_environments(bare), mine) if one.blocks)


def notebook_environment(stack: Stack) -> tuple[Environment | None, tuple[Finding, ...]]:
    """The Python environment of notebooks, or None; errors block the submission."""
    return _environment(stack, stack.config.notebooks.environment, {"notebooks"})


def job_environment(stack: Stack, job: Job) -> tuple[Environment | None, tuple[Finding, ...]]:
    """The Python environment of a job's runs, or None; errors block the run."""
    resource = next((one for one in stack.config.resources if one.name == job.resource), None)
    using = (job, resource) if resource is not None and job.environment is None else (job,)
    return _environment(stack, environment_of(job, resource), stack.config.entries(*using))


def _environment(
    stack: Stack, name: str | None, users: Container[str]
) -> tuple[Environment | None, tuple[Finding, ...]]:
    """The Python environment with a name, and the errors about it and about those who use it."""
    if name is None:
        return None, ()
    found = environment_named(stack.config, name)
    used = (one for one in about_entries(check_environments(stack), users) if one.blocks)
    return found, (*used, *(problems_of(stack, found) if found is not None else ()))
