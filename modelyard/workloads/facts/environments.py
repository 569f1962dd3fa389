"""Facts of Python environments: where they are mounted, and what builds them."""

from typing import Any, Final

from modelyard.stack.config import Config
from modelyard.stack.environments import Environment

FOLDER: Final = "/opt/environments"
"""Mount path of the volume with all environments, in builds and in runs."""
CPU: Final = "2"
MEMORY: Final = "4Gi"
"""Memory of a build: pip unpacks one wheel at a time."""
TIME_LIMIT: Final = 3600
"""Seconds that a build may take."""


def environment_named(config: Config, name: str | None) -> Environment | None:
    """Returns the environment with a name; None if no name is given, or it is not defined."""
    return next((one for one in config.environments if one.name == name), None)


def run_environment(config: Config, name: str | None) -> dict[str, Any] | None:
    """Returns the facts of a run's environment: name, claim, path. None if it has none."""
    found = environment_named(config, name)
    if found is None or found.files is None or not found.files.digest:
        return None
    return {"name": found.name, "claim": found.claim, "folder": FOLDER, "path": f"{FOLDER}/{found.files.digest}"}


def image_with(config: Config, name: str | None, image: str | None) -> str | None:
    """Returns the image of a run: its environment's, else the given one."""
    found = environment_named(config, name)
    return image_of(config, found) if found is not None else image


def image_of(config: Config, environment: Environment) -> str | None:
    """Returns the image in which the environment is built and its runs run; None if none is set."""
    return environment.image or config.runtime.image


def build_name(name: str, digest: str) -> str:
    """Returns the name of an environment's build Job: equal content has an equal name, to build it only once."""
    return f"environment-{name[:24].rstrip('-')}-{digest[:16]}"


def build_facts(config: Config, environment: Environment, namespace: str, stack: str) -> dict[str, Any]:
    """Returns the build of an environment, locked and with an image, as plain JSON-like values.

    The claim that holds the result is in ``namespace``.
    """
    from modelyard.workloads.environments.conda import (  # a plan builds nothing, and should be fast
        SOLVER_SHA256,
        SOLVER_VERSION,
    )

    files = environment.files
    assert files is not None and files.lock is not None, environment.name
    return {
        "build": {
            "name": build_name(environment.name, files.digest),
            "environment": environment.name,
            "stack": stack,
            "namespace": namespace,
            "image": image_of(config, environment),
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
