"""Facts of notebooks: their workspace, and the servers in which people write them."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from modelyard import quantity
from modelyard.stack.config import Config
from modelyard.stack.jobs import Notebooks, NotebookServers, NotebookUser
from modelyard.stack.pool import Team
from modelyard.workloads.facts.fact import Fact, flag, written
from modelyard.workloads.facts.pool import namespace_of


class NotebookParts(NamedTuple):
    """What the facts of notebooks are computed from."""

    notebooks: Notebooks
    servers: NotebookServers | None
    placed: Mapping[str, str]
    """Namespaces of the servers by their users. One per name, as a finding reports duplicates; servers without a known
    namespace are left out, with a finding."""


def notebook_parts(config: Config) -> NotebookParts:
    """Returns the notebooks of a stack with the namespaces of their servers."""
    servers = config.notebooks.servers
    placed = {
        one.name: namespace
        for one in (servers.users if servers is not None else ())
        if (namespace := namespace_of_server(config, one)) is not None
    }
    return NotebookParts(config.notebooks, servers, placed)


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


def _server(name: str, value: Callable[[NotebookServers], Any], none: Any = "") -> Fact[NotebookParts]:
    """Returns a fact of every server; without servers it is ``none``."""
    return Fact(
        f"notebooks.servers.{name}",
        lambda given: value(given.servers) if given.servers is not None else none,
        ("notebooks", "servers", name),
    )


NOTEBOOKS: Final[tuple[Fact[NotebookParts], ...]] = (
    written("notebooks.claim", lambda given: given.notebooks.claim),
    written("notebooks.path", lambda given: given.notebooks.path),
    flag(
        "notebooks.servers.declared",
        lambda given: bool(given.placed),
        ("notebooks", "servers"),
        "Whether any user has a server.",
    ),
    Fact(
        "notebooks.servers.spaces",
        lambda given: sorted(set(given.placed.values())),
        ("notebooks", "servers", "users"),
        meaning="List of the namespaces with servers.",
    ),
    written(
        "notebooks.servers.users",
        lambda given: [{"name": name, "namespace": namespace} for name, namespace in given.placed.items()],
    ),
    _server("image", lambda servers: servers.image),
    _server("login", lambda servers: servers.login),
    written(
        "notebooks.servers.project",
        lambda given: given.servers.project or given.notebooks.path if given.servers is not None else "",
    ),
    _server("cpu", lambda servers: quantity.cpu(quantity.parse(servers.cpu))),
    _server("memory", lambda servers: quantity.memory(quantity.parse(servers.memory))),
    _server("kernelIdle", lambda servers: servers.kernel_idle, 0),
)
"""The facts of notebooks."""
