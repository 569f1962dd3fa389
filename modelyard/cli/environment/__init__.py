"""Lock, build and show Python environments of jobs."""

from functools import partial
from typing import TYPE_CHECKING

from modelyard.cli.exit import Exit, Stop
from modelyard.cli.parser import Verb, add_subverbs, run_subverb

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.stack import Stack
    from modelyard.stack.environments import Environment

_KNOWN = {
    "list": Verb("environment.list", "list the Python environments of a stack, and whether they are locked"),
    "show": Verb("environment.show", "show a Python environment, with every package of its lock"),
    "lock": Verb("environment.lock", "resolve the packages of a Python environment, and write the lock"),
    "build": Verb("environment.build", "build a locked Python environment on a namespace's volume"),
}

configure = partial(add_subverbs, known=_KNOWN)
run = run_subverb


def chosen_environment(stack: "Stack", name: str) -> "Environment":
    """The environment of that name; ends the run if there is none."""
    from modelyard.stack.names import instead

    found = [one for one in stack.config.environments if one.name == name]
    if not found:
        known = [one.name for one in stack.config.environments]
        raise Stop(
            Exit.USAGE, f"{stack.name} has no Python environment {name!r}", instead(name, known, "Python environments")
        )
    return found[0]


def namespace_for(stack: "Stack", team: str | None) -> str:
    """The namespace of a team's runs; the platform's namespace if no team is named."""
    from modelyard.stack.names import instead
    from modelyard.workloads.facts.pool import namespace_of

    if team is None:
        return stack.config.platform.namespace
    found = next((one for one in stack.config.teams if one.name == team), None)
    if found is None:
        known = [one.name for one in stack.config.teams]
        raise Stop(Exit.USAGE, f"{stack.name} has no team {team!r}", instead(team, known, "teams"))
    return namespace_of(found)


def team_option(stack: "Stack", namespace: str) -> str:
    """The option with which a build targets a namespace."""
    from modelyard.workloads.facts.pool import namespace_of

    found = next((one.name for one in stack.config.teams if namespace_of(one) == namespace), None)
    return f" --team {found}" if found is not None and namespace != stack.config.platform.namespace else ""


def need_built(client: "Client", stack: "Stack", environment: "Environment | None", namespace: str) -> None:
    """Ends the run if the environment is not built in the namespace: a run would wait for it or fail.

    Raises:
        ClusterError: the API server does not answer, or refuses.
    """
    from modelyard.cluster.present import build_state
    from modelyard.workloads.facts.environments import build_name

    if environment is None or environment.files is None:
        return
    job = build_name(environment.name, environment.files.digest)
    state = build_state(client, namespace, job)
    if state == "built":
        return
    what = {"building": "is still being built", "failed": "could not be built"}.get(state, "was not built")
    build = f"modelyard environment build {stack.name} {environment.name}{team_option(stack, namespace)}"
    remedy = {
        "building": f"wait for it: {build} --wait",
        "failed": f"see why: kubectl logs --namespace {namespace} job/{job}; then {build}",
    }.get(state, build)
    raise Stop(
        Exit.FINDINGS,
        f"Python environment {environment.name} {what} in namespace {namespace}; nothing was submitted",
        remedy,
    )
