"""Checks the worker clusters of teams: their names, and which teams lend GPUs of which cluster."""

from collections.abc import Iterator
from typing import Final

from modelyard.findings import Finding, Severity
from modelyard.stack.config import Path, Stack
from modelyard.stack.names import instead, named_twice, repeated
from modelyard.stack.pool import Team

LONGEST: Final = 63 - len("clusters-")
"""Characters in a team's name: the parameters of an AdmissionCheck name the MultiKueueConfig ``clusters-TEAM``, in 63
characters at most (Kueue 0.19.2, AdmissionCheckParametersReference)."""


def check_clusters(stack: Stack) -> Iterator[Finding]:
    """The findings about worker clusters and the teams that name them."""
    known = [cluster.name for cluster in stack.config.worker_clusters]
    yield from named_twice(stack, "QUE001", "workerClusters")
    for index, team in enumerate(stack.config.teams):
        yield from _names(stack, index, team, known)
    yield from _cohorts(stack)


def _names(stack: Stack, index: int, team: Team, known: list[str]) -> Iterator[Finding]:
    twice = repeated(team.clusters)
    for number, name in enumerate(team.clusters):
        where: Path = ("teams", index, "clusters", number)
        if name not in known:
            yield stack.finding(
                "QUE010",
                Severity.ERROR,
                where,
                f"team {team.name} sends its jobs to worker cluster {name}, which is not defined",
                instead(name, known, "workerClusters"),
            )
        elif number in twice:
            yield stack.finding(
                "QUE010",
                Severity.ERROR,
                where,
                f"team {team.name} lists {name} twice under clusters",
                "drop one of them",
            )
    if team.clusters and len(team.name) > LONGEST:
        yield stack.finding(
            "QUE010",
            Severity.ERROR,
            ("teams", index, "name"),
            f"the name of team {team.name} has {len(team.name)} characters, and that of a team with clusters "
            f"{LONGEST} at most",
            "give the team a shorter name",
        )


def _cohorts(stack: Stack) -> Iterator[Finding]:
    """Whether teams lend each other GPUs in clusters where the other team's jobs run."""
    first: dict[tuple[str, str], Team] = {}
    reported: set[tuple[str, str]] = set()
    for index, team in enumerate(stack.config.teams):
        if team.cohort is None:
            continue
        for quota in team.quotas:
            other = first.setdefault((team.cohort, quota.flavor), team)
            pair = (other.name, team.name)
            if frozenset(other.clusters) == frozenset(team.clusters) or pair in reported:
                continue
            reported.add(pair)
            yield stack.finding(
                "QUE012",
                Severity.WARNING,
                ("teams", index, "cohort"),
                f"teams {other.name} and {team.name} lend each other {quota.flavor}, but their jobs run in different "
                "clusters",
                "give them the same clusters, or different cohorts",
                detail=f"{other.name}: {_clusters(other)}; {team.name}: {_clusters(team)}",
            )


def _clusters(team: Team) -> str:
    return ", ".join(team.clusters) or "this cluster"
