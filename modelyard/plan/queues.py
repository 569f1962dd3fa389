"""What is wrong with the pool that teams share: flavors, quotas, and whether the nodes have what the quotas promise."""

from collections.abc import Iterable, Iterator

from modelyard.cluster.state import GPU_RESOURCE, Node
from modelyard.findings import Finding, Severity
from modelyard.hardware import near_cards, products, resolve
from modelyard.stack.config import Path, Stack
from modelyard.stack.names import instead, repeated
from modelyard.stack.pool import Flavor, Team
from modelyard.workloads import node_labels
from modelyard.workloads.nodepools import POOL, gives, is_for_pools

MANY = 4
"""Nodes that a finding names before it only counts."""


def check_queues(stack: Stack, nodes: Iterable[Node]) -> Iterator[Finding]:
    """The findings about flavors, teams and priorities; without nodes nobody says what they have."""
    config = stack.config
    for section in ("flavors", "teams", "priorities"):
        names = [one.name for one in getattr(config, section)]
        for index in repeated(names):
            yield stack.finding(
                "QUE001",
                Severity.ERROR,
                (section, index, "name"),
                f"{section} has {names[index]} twice",
                "give one of them another name, or drop it",
            )
    for index, flavor in enumerate(config.flavors):
        yield from _card(stack, index, flavor)
    known = {flavor.name for flavor in config.flavors}
    for index, team in enumerate(config.teams):
        yield from _quotas(stack, index, team, known)
    there = tuple(nodes)
    if there:
        yield from _capacity(stack, there)


def _card(stack: Stack, index: int, flavor: Flavor) -> Iterator[Finding]:
    """Whether the flavor's card can be found by one label."""
    if flavor.gpu is None:
        return
    card = resolve(flavor.gpu)
    if card is None:
        yield stack.finding(
            "QUE002",
            Severity.ERROR,
            ("flavors", index, "gpu"),
            f"flavor {flavor.name} is of the card {flavor.gpu}, which is in no table",
            near_cards(flavor.gpu),
        )
        return
    names = products(card)
    if len(names) != 1 and not any(name.startswith("nvidia.com/gpu.") for name in flavor.labels):
        have = ", ".join(names) or "none that is known"
        yield stack.finding(
            "QUE002",
            Severity.ERROR,
            ("flavors", index, "gpu"),
            f"nodes call the {card.short} by {len(names)} names, and a flavor has one",
            "name one of them in the flavor's labels: nvidia.com/gpu.product",
            detail=f"names of the product label: {have}",
        )


def _quotas(stack: Stack, index: int, team: Team, known: set[str]) -> Iterator[Finding]:
    flavors: set[str] = set()
    for number, quota in enumerate(team.quotas):
        where: Path = ("teams", index, "quotas", number)
        if quota.flavor not in known:
            yield stack.finding(
                "QUE003",
                Severity.ERROR,
                (*where, "flavor"),
                f"team {team.name} has a quota of {quota.flavor}, and there is no such flavor",
                instead(quota.flavor, known, "flavors"),
            )
        if quota.flavor in flavors:
            yield stack.finding(
                "QUE003",
                Severity.ERROR,
                (*where, "flavor"),
                f"team {team.name} has two quotas of {quota.flavor}",
                "make them one",
            )
        flavors.add(quota.flavor)
        if team.cohort is None and (quota.borrow is not None or quota.lend is not None):
            yield stack.finding(
                "QUE004",
                Severity.ERROR,
                (*where, "borrow" if quota.borrow is not None else "lend"),
                f"team {team.name} would borrow or lend, and is in no cohort",
                "name its cohort, or drop borrow and lend",
            )
        if quota.lend is not None and quota.lend > quota.gpus:
            yield stack.finding(
                "QUE004",
                Severity.ERROR,
                (*where, "lend"),
                f"team {team.name} would lend {quota.lend} GPUs of {quota.flavor}, and has {quota.gpus}",
                f"lend at most {quota.gpus}",
            )


def _capacity(stack: Stack, nodes: tuple[Node, ...]) -> Iterator[Finding]:
    """Whether the nodes of each flavor have the GPUs that the teams were promised."""
    for index, flavor in enumerate(stack.config.flavors):
        wanted = node_labels(flavor)
        fitting = [node for node in nodes if wanted.items() <= node.labels.items()]
        shares = [
            (team.name, quota.gpus)
            for team in stack.config.teams
            for quota in team.quotas
            if quota.flavor == flavor.name and quota.gpus
        ]
        pools = [pool for pool in stack.config.node_pools if gives(pool, wanted)]
        if not fitting and not pools:
            if is_for_pools(wanted, stack.config.node_pools) and stack.config.node_pools:
                continue  # that is an error of its own
            yield stack.finding(
                "QUE005",
                Severity.WARNING,
                ("flavors", index),
                f"no node has the labels of flavor {flavor.name}",
                "correct the flavor, or add such nodes; where an autoscaler adds them there is nothing to do",
                detail=", ".join(f"{key}={value}" for key, value in sorted(wanted.items())),
            )
            continue
        # Of nodes that Karpenter adds there may be more than now.
        lasting = [node for node in fitting if node.labels.get(POOL) not in {pool.name for pool in pools}]
        have = int(sum(node.allocatable.get(GPU_RESOURCE, 0) for node in lasting)) + sum(pool.gpus for pool in pools)
        promised = sum(gpus for _, gpus in shares)
        if promised > have:
            names = ", ".join(f"{name} {gpus}" for name, gpus in shares[:MANY])
            more = f" and {len(shares) - MANY} more" if len(shares) > MANY else ""
            yield stack.finding(
                "QUE006",
                Severity.WARNING,
                ("flavors", index),
                f"teams have quotas of {promised} GPUs of {flavor.name}, and its nodes have {have}",
                "lower the quotas to what there is; where an autoscaler adds nodes there is nothing to do",
                detail=f"{names}{more}; {len(fitting)} node{'s' if len(fitting) != 1 else ''}",
            )
