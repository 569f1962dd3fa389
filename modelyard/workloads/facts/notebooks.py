"""Facts of notebooks: their workspace, and the servers in which people write them."""

from typing import Any

from modelyard import quantity
from modelyard.stack.config import Config
from modelyard.stack.jobs import NotebookUser
from modelyard.stack.pool import Team
from modelyard.workloads.facts.pool import namespace_of


def notebook_facts(config: Config) -> dict[str, Any]:
    """Returns the facts as plain JSON-like values. Servers without a known namespace are left out, with a finding."""
    notebooks, servers = config.notebooks, config.notebooks.servers
    # One per name: a finding reports duplicates.
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
    """Maps the names of server Deployments to their users in the stack file."""
    servers = config.notebooks.servers
    users = enumerate(servers.users if servers is not None else ())
    return {f"notebook-server-{user.name}": ("notebooks", "servers", "users", index) for index, user in users}


def team_of_server(config: Config, user: NotebookUser) -> Team | None:
    """Returns the team whose quota a server's notebooks use; None if there are no teams, or the team is unclear."""
    if user.team is None:
        return config.teams[0] if len(config.teams) == 1 else None
    return next((one for one in config.teams if one.name == user.team), None)


def namespace_of_server(config: Config, user: NotebookUser) -> str | None:
    """Returns the namespace of a server and its notebooks. None if it is unclear."""
    if not config.teams and user.team is None:
        return config.platform.namespace
    team = team_of_server(config, user)
    return namespace_of(team) if team is not None else None
