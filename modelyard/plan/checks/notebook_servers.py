"""Checks the notebook servers of a stack."""

from collections.abc import Iterator

from modelyard.findings import Finding, Severity
from modelyard.stack.config import Stack
from modelyard.stack.names import instead, repeated
from modelyard.workloads.facts.notebooks import team_of_server


def check_notebook_servers(stack: Stack) -> Iterator[Finding]:
    """The findings about notebook servers; none where the stack has none."""
    notebooks, servers = stack.config.notebooks, stack.config.notebooks.servers
    if servers is None:
        return
    names = [one.name for one in servers.users]
    for index in repeated(names):
        yield stack.finding(
            "RES222",
            Severity.ERROR,
            ("notebooks", "servers", "users", index, "name"),
            f"notebooks.servers lists {names[index]} twice",
            "rename or drop one of them",
        )
    teams = [one.name for one in stack.config.teams]
    for index, user in enumerate(servers.users):
        if user.team is None and len(teams) > 1:
            yield stack.finding(
                "RES223",
                Severity.ERROR,
                ("notebooks", "servers", "users", index),
                f"notebook server {user.name} names no team, and the stack has several",
                f"set the team whose quota its notebooks use: team: {' or '.join(sorted(teams)[:3])}",
            )
        elif user.team is not None and user.team not in teams:
            yield stack.finding(
                "RES210",
                Severity.ERROR,
                ("notebooks", "servers", "users", index, "team"),
                f"notebook server {user.name} names the team {user.team}, which is not defined",
                instead(user.team, teams, "teams"),
            )
        elif (team := team_of_server(stack.config, user)) is not None and team.clusters:
            yield stack.finding(
                "RES224",
                Severity.WARNING,
                ("notebooks", "servers", "users", index),
                f"notebook server {user.name} cannot submit jobs: team {team.name} runs its jobs in worker clusters",
                "give the user a team whose jobs run in the home cluster, where the workspace is",
            )
    if notebooks.image is None and notebooks.environment is None:
        yield stack.finding(
            "RES224",
            Severity.WARNING,
            ("notebooks", "servers"),
            "notebook servers cannot submit jobs: notebooks.image is not set",
            "set it to an image with papermill and the notebooks' kernel, or set notebooks.environment",
        )
