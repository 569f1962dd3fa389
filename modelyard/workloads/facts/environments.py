"""Facts about Python environments: where one is mounted, and what builds it."""

from typing import Any, Final

from modelyard.stack.config import Config
from modelyard.stack.environments import Environment
from modelyard.workloads.facts.pool import namespace_of

FOLDER: Final = "/opt/environments"
"""Where the volume with all environments is mounted, in builds and in runs."""
CPU: Final = "2"
MEMORY: Final = "4Gi"
"""Of a build: pip unpacks one wheel at a time."""
TIME_LIMIT: Final = 3600
"""Seconds that a build may take."""


def environment_named(config: Config, name: str | None) -> Environment | None:
    """The environment of a name; None where none is named, or there is none."""
    return next((one for one in config.environments if one.name == name), None) if name is not None else None


def run_environment(config: Config, name: str | None) -> dict[str, Any] | None:
    """The facts about the environment of a run: name, claim, path. None where it has none."""
    found = environment_named(config, name)
    if found is None or found.files is None or not found.files.digest:
        return None
    return {"name": found.name, "claim": found.claim, "folder": FOLDER, "path": f"{FOLDER}/{found.files.digest}"}


def image_with(config: Config, name: str | None, image: str | None) -> str | None:
    """The image of a run: its environment's, else the one that is given."""
    found = environment_named(config, name)
    return (found.image or config.runtime.image) if found is not None else image


def namespaces(config: Config) -> tuple[str, ...]:
    """Where runs may be: the teams' namespaces, and the platform's."""
    return tuple(dict.fromkeys((*(namespace_of(one) for one in config.teams), config.platform.namespace)))


def build_name(name: str, digest: str) -> str:
    """Of the Job that builds an environment: the same for the same content, so that nobody builds it twice."""
    return f"environment-{name[:24].rstrip('-')}-{digest[:16]}"


def build_facts(config: Config, environment: Environment, namespace: str, stack: str) -> dict[str, Any]:
    """A build, as plain JSON-like values.

    Args:
        config: of the stack.
        environment: one of its environments, locked and with an image.
        namespace: whose claim it is built on.
        stack: name of the stack.
    """
    from modelyard.workloads.environments.conda import (  # a plan builds nothing, and is to be short
        SOLVER_SHA256,
        SOLVER_VERSION,
    )

    files = environment.files
    if files is None or files.lock is None:
        raise ValueError(f"environment {environment.name} is not locked")
    return {
        "build": {
            "name": build_name(environment.name, files.digest),
            "environment": environment.name,
            "stack": stack,
            "namespace": namespace,
            "image": environment.image or config.runtime.image,
            "claim": environment.claim,
            "folder": FOLDER,
            "index": environment.index_secret,
            "digest": files.digest,
            "python": environment.python,
            "lock": files.lock.pip,
            "conda": "".join(f"{line}\n" for line in files.lock.conda),
            "solver": f"py-rattler=={SOLVER_VERSION} --hash=sha256:{SOLVER_SHA256}",
            "cpu": CPU,
            "memory": MEMORY,
            "timeLimit": TIME_LIMIT,
        }
    }
