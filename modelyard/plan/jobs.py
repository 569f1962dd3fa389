"""Whether jobs can ever run: on a node, as many workers as they ask for, within their team's quota."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from modelyard.cluster.state import GPU_RESOURCE, Node
from modelyard.findings import Finding, Severity
from modelyard.hardware import Card, products, resolve
from modelyard.hardware.partitions import CONFIG_LABEL
from modelyard.plan.capacity import MANY, PRODUCT_LABEL, amount, obstacle, on_node
from modelyard.plan.pods import Pods
from modelyard.sizing import Sized
from modelyard.stack.config import Config, Stack
from modelyard.stack.jobs import Job
from modelyard.stack.pool import Flavor, Team
from modelyard.workloads import node_labels


class _Ask(NamedTuple):
    """What runs of jobs ask of nodes. Jobs that ask for the same are judged once."""

    team: str | None
    requests: tuple[tuple[str, Fraction], ...]
    products: tuple[str, ...]
    workers: int
    """That start together, or not at all."""
    together: str | None
    resource: str = GPU_RESOURCE
    """By which its GPUs are called."""
    selector: tuple[tuple[str, str], ...] = ()
    """Labels of nodes with its slices."""


def check_job_room(stack: Stack, everything: Iterable[Sized], nodes: Iterable[Node]) -> Iterator[Finding]:
    """The findings about jobs with a command; without nodes nobody says what there is.

    Time grows with the jobs, and with the kinds of nodes for each different size of a job.
    """
    config = stack.config
    if not any(job.command for job in config.jobs):
        return
    by_job = {id(job): one for one in everything for job, _ in one.jobs}
    teams = {team.name: team for team in config.teams}
    lends = Counter[tuple[str | None, str]]()
    for lender in config.teams:
        for quota in lender.quotas:
            lends[lender.cohort, quota.flavor] += quota.gpus
    keys = {PRODUCT_LABEL, CONFIG_LABEL, *(key for flavor in config.flavors for key in node_labels(flavor))}
    kinds = _Kinds(tuple(nodes), frozenset(keys), config.flavors)
    told: dict[_Ask, tuple[str, str] | None] = {}
    for index, job in enumerate(config.jobs):
        one = by_job.get(id(job))
        if not job.command or one is None or one.resource.remote is not None:
            continue
        ask = _ask(config, job, one)
        team = teams.get(ask.team or "")
        if ask.team is not None and team is None:
            continue  # It is told that there is no such team.
        # Quotas of GPUs say nothing of slices with a name of their own.
        if team is not None and ask.resource == GPU_RESOURCE and (short := _quota(ask, team, lends)) is not None:
            yield stack.finding(
                "RES213",
                Severity.ERROR,
                ("jobs", index),
                f"job {job.name} asks for {short[0]} GPUs at once, and team {ask.team} never has more than {short[1]}",
                "ask for fewer workers or set leastWorkers, raise the team's quota, or let it borrow more",
                detail=f"{ask.workers} workers of {_gpus(ask)} GPUs; Kueue admits all of them or none",
            )
        elif kinds.there:
            if ask not in told:
                told[ask] = _unplaced(ask, kinds, team)
            if (problem := told[ask]) is not None:
                yield stack.finding(
                    "RES212",
                    Severity.WARNING,
                    ("jobs", index),
                    f"job {job.name} can never run: {problem[0]}",
                    "ask for less, or add such nodes; where an autoscaler adds them there is nothing to do",
                    detail=problem[1],
                )


class _Kinds:
    """The nodes of a cluster by what jobs can see of them: alike ones are counted, not looked at again."""

    def __init__(self, nodes: tuple[Node, ...], keys: frozenset[str], flavors: Iterable[Flavor]) -> None:
        self.there = nodes
        self._keys = keys
        self.flavors: Mapping[str, Flavor] = {flavor.name: flavor for flavor in flavors}
        self._by_label: dict[str | None, list[tuple[Node, str, int]]] = {}

    def by(self, label: str | None) -> list[tuple[Node, str, int]]:
        """One node of each kind, its value of the label, and how many such nodes there are."""
        if label not in self._by_label:
            keys = self._keys if label is None else self._keys | {label}
            counts = Counter[Any]()
            first: dict[Any, Node] = {}
            for node in self.there:
                kind = (
                    tuple((key, node.labels.get(key)) for key in sorted(keys)),
                    tuple(node.allocatable.items()),
                    tuple(tuple(taint.items()) for taint in node.taints),
                    node.schedulable,
                )
                counts[kind] += 1
                first.setdefault(kind, node)
            self._by_label[label] = [
                (first[kind], first[kind].labels.get(label or "", ""), count) for kind, count in counts.items()
            ]
        return self._by_label[label]


def _ask(config: Config, job: Job, one: Sized) -> _Ask:
    size, resource, part = one.size, one.resource, one.part
    name = part.resource if part is not None else GPU_RESOURCE
    amounts = {"cpu": size.cpu, "memory": size.memory, name: Fraction(size.gpus)}
    card = resolve(resource.gpu or config.gpu.model) if size.gpus and part is None else None
    workers = 1 if job.trials is not None else job.least_workers or size.workers
    return _Ask(
        job.team or resource.team,
        tuple(amounts.items()),
        products(card) if isinstance(card, Card) else (),
        workers,
        job.together,
        name,
        tuple(part.nodes.items()) if part is not None else (),
    )


def _gpus(ask: _Ask) -> int:
    return int(dict(ask.requests)[ask.resource])


def _quota(ask: _Ask, team: Team, lends: Mapping[tuple[str | None, str], int]) -> tuple[int, int] | None:
    """GPUs that a run asks for at once and the most that its team can ever have of one flavor, where that is less."""
    wanted = _gpus(ask) * ask.workers
    most = 0
    for quota in team.quotas:
        others = lends[team.cohort, quota.flavor] - quota.gpus if team.cohort is not None else 0
        most = max(most, quota.gpus + (others if quota.borrow is None else min(quota.borrow, others)))
    return (wanted, most) if wanted > most else None


def _unplaced(ask: _Ask, kinds: _Kinds, team: Team | None) -> tuple[str, str] | None:
    """Why no nodes, however empty, hold all workers of a run: in short, and node by node in long."""
    flavors: list[Flavor | None] = (
        [kinds.flavors[one.flavor] for one in team.quotas if one.flavor in kinds.flavors]
        if (team is not None and _gpus(ask))
        else [None]
    )
    best, reasons = 0, Counter[str]()
    for flavor in flavors:
        groups = Counter[str]()
        pods = _pods(ask, flavor)
        labels = node_labels(flavor) if flavor is not None else {}
        for node, value, count in kinds.by(ask.together):
            if not labels.items() <= node.labels.items():
                continue
            reason = obstacle(pods, node)
            if reason:
                reasons[reason] += count
                continue
            room, short = on_node(pods.requests, node, ())
            groups[value] += room * count
            if not room and short is not None:
                reasons[
                    f"{short.resource}: a pod needs {amount(short.resource, short.wanted)}, "
                    f"a node has {amount(short.resource, short.have)}"
                ] += count
        best = max(best, max(groups.values(), default=0))
    if best >= min(ask.workers, MANY):
        return None
    if best:
        place = f"nodes with one {ask.together}" if ask.together else "nodes of one flavor" if team else "the nodes"
        return f"{place} hold {best} of its {ask.workers} workers", "counted on empty nodes"
    why = "; ".join(f"{count} node{'s' if count != 1 else ''}: {reason}" for reason, count in reasons.most_common(4))
    return "no node takes a worker", why or "no node has the labels of its flavors"


def _pods(ask: _Ask, flavor: Flavor | None) -> Pods:
    spec: dict[str, Any] = {"tolerations": [one._asdict() for one in flavor.tolerations] if flavor is not None else []}
    if _gpus(ask):
        spec["tolerations"].append({"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"})
    if ask.selector:
        spec["nodeSelector"] = dict(ask.selector)
    if ask.products:
        rule = {"key": PRODUCT_LABEL, "operator": "In", "values": list(ask.products)}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return Pods(spec, dict(ask.requests), _gpus(ask) if ask.resource == GPU_RESOURCE else 0)
