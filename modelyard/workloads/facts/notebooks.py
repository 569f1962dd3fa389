"""What patches may ask of notebooks: their workspace, and the servers in which people write them."""

from typing import Any

from modelyard import quantity
from modelyard.stack.config import Config
from modelyard.stack.jobs import NotebookUser
from modelyard.stack.pool import Team
from modelyard.workloads.facts.pool import namespace_of


def notebook_facts(config: Config) -> dict[str, Any]:
    """The facts, as plain JSON-like values. Servers that cannot be placed are left out: a finding says why."""
    notebooks, servers = config.notebooks, config.notebooks.servers
    # One of a name: that it is there twice is told.
    placed = {
        one.name: namespace
        for one in (servers.users if servers is not None else ())
        if (namespace := namespace_of_server(config, one)) is not None
    }
    return {
        "notebooks": {
            "claim": notebooks.claim,
            "path": notebooks.path,
            "servers": {
                "declared": bool(placed),
                "spaces": sorted(set(placed.values())),
                "users": [{"name": name, "namespace": namespace} for name, namespace in placed.items()],
                "image": servers.image if servers is not None else "",
                "login": servers.login if servers is not None else "",
                "project": servers.project or notebooks.path if servers is not None else "",
                "cpu": quantity.cpu(quantity.parse(servers.cpu)) if servers is not None else "",
                "memory": quantity.memory(quantity.parse(servers.memory)) if servers is not None else "",
                "kernelIdle": servers.kernel_idle if servers is not None else 0,
            },
        }
    }


def places_of_servers(config: Config) -> dict[str, tuple[str | int, ...]]:
    """By the name of its Deployment, the user of the stack file whose server it is."""
    servers = config.notebooks.servers
    users = enumerate(servers.users if servers is not None else ())
    return {f"notebook-server-{user.name}": ("notebooks", "servers", "users", index) for index, user in users}


def team_of_server(config: Config, user: NotebookUser) -> Team | None:
    """Whose quota a server's notebooks take; None where there are no teams, or it cannot be told which."""
    if user.team is None:
        return config.teams[0] if len(config.teams) == 1 else None
    return next((one for one in config.teams if one.name == user.team), None)


def namespace_of_server(config: Config, user: NotebookUser) -> str | None:
    """Where a server is: where its notebooks run. None where it cannot be told."""
    if not config.teams and user.team is None:
        return config.platform.namespace
    team = team_of_server(config, user)
    return namespace_of(team) if team is not None else None
