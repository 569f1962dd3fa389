"""Whether jobs can ever run: on a node, as many workers as they ask for, within their team's quota."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from modelyard import quantity
from modelyard.cluster.state import GPU_RESOURCE, Node
from modelyard.findings import Finding, Severity
from modelyard.hardware import Card, products, resolve
from modelyard.hardware.partitions import CONFIG_LABEL
from modelyard.plan.capacity import MANY, PRODUCT_LABEL, amount, obstacle, on_node
from modelyard.plan.pods import Pods
from modelyard.plan.queues import HOST
from modelyard.sizing import Sized
from modelyard.stack.config import Config, Stack
from modelyard.stack.jobs import Job
from modelyard.stack.pool import Flavor, Team
from modelyard.workloads import node_labels
from modelyard.workloads.jobs import RAY_HEAD, is_deployed
from modelyard.workloads.pool import apart, gpu_flavors, has_gpus
from modelyard.workloads.quotas import Quotas
from modelyard.workloads.spark import driver_of

NAMED: Final = 4
"""Jobs that a finding names before it only counts."""


class _Ask(NamedTuple):
    """What runs of jobs ask of nodes. Jobs that ask for the same are judged once."""

    team: str | None
    requests: tuple[tuple[str, Fraction], ...]
    products: tuple[str, ...]
    workers: int
    """That start together, or not at all."""
    together: str | None
    head: tuple[str, tuple[tuple[str, Fraction], ...]] | None
    """What starts with them and has no GPU: a Ray head, or Spark's driver."""
    resource: str = GPU_RESOURCE
    """By which its GPUs are called."""
    selector: tuple[tuple[str, str], ...] = ()
    """Labels of nodes with its slices."""


def check_job_room(
    stack: Stack, everything: Iterable[Sized], nodes: Iterable[Node], growth: Iterable[Node] = ()
) -> Iterator[Finding]:
    """The findings about jobs with a command; without nodes nobody says what there is.

    Time grows with the jobs, and with the kinds of nodes for each different size of a job.

    Args:
        stack: whose jobs they are.
        everything: its resources, as ``sizing.sized`` gives them.
        nodes: of the cluster.
        growth: nodes of the kinds that may be added, one of each.
    """
    config = stack.config
    everything = tuple(everything)
    yield from _on_gpu_nodes(stack, everything)
    teams = {team.name: team for team in config.teams}
    pool = Quotas(config)
    yield from _beyond(stack, everything, teams, pool)
    if not any(job.command for job in config.jobs):
        return
    by_job = {id(job): one for one in everything for job, _ in one.jobs}
    keys = {PRODUCT_LABEL, CONFIG_LABEL, *(key for flavor in config.flavors for key in node_labels(flavor))}
    kinds = _Kinds(tuple(nodes), frozenset(keys), config.flavors, tuple(growth))
    told: dict[_Ask, tuple[str, str] | None] = {}
    for index, job in enumerate(config.jobs):
        one = by_job.get(id(job))
        if not job.command or one is None or one.resource.remote is not None:
            continue
        ask = _ask(config, job, one)
        team = teams.get(ask.team or "")
        if ask.team is not None and team is None:
            continue  # It is told that there is no such team.
        if team is not None and (level := _missing_level(config, ask, team)) is not None:
            yield stack.finding(
                "RES215",
                Severity.ERROR,
                ("jobs", index, "together"),
                f"job {job.name} wants its workers together by {job.together}, and no flavor of team {team.name} that "
                "it may take has that level",
                level[0],
                detail=level[1],
            )
        elif team is not None and (short := _short(config, pool, ask, team)) is not None:
            wanted, most, why, remedy = short
            yield stack.finding(
                "RES213",
                Severity.ERROR,
                ("jobs", index),
                f"job {job.name} asks for {wanted} at once, and team {ask.team} never has more than {most}",
                remedy,
                detail=why,
            )
        elif kinds.there and not (team is not None and team.clusters):  # Nobody knows the nodes of other clusters.
            if ask not in told:
                told[ask] = _unplaced(ask, kinds, team) or _unplaced_head(ask, kinds, team)
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

    def __init__(
        self, nodes: tuple[Node, ...], keys: frozenset[str], flavors: Iterable[Flavor], growth: tuple[Node, ...]
    ) -> None:
        self.there, self.growth = nodes, growth
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
        _head(job),
        name,
        tuple(part.nodes.items()) if part is not None else (),
    )


def _head(job: Job) -> tuple[str, tuple[tuple[str, Fraction], ...]] | None:
    if job.engine == "ray":
        return "head", tuple((key, quantity.parse(value)) for key, value in RAY_HEAD.items())
    return ("driver", tuple(driver_of(job.spark).items())) if job.engine == "spark" else None


def _gpus(ask: _Ask) -> int:
    return int(dict(ask.requests)[ask.resource])


def _missing_level(config: Config, ask: _Ask, team: Team) -> tuple[str, str] | None:
    """A remedy and the levels that there are, where no flavor that a run may take has the one that it names."""
    named = {quota.flavor for quota in team.quotas}
    flavors = gpu_flavors(config, team, ask.products, ask.resource) if _gpus(ask) else ()
    flavors = flavors or tuple(flavor for flavor in config.flavors if flavor.name in named)
    if ask.together is None or any(ask.together in flavor.topology for flavor in flavors):
        return None
    levels = {flavor.name: ", ".join(flavor.topology) or "none" for flavor in flavors}
    have = [level for flavor in flavors for level in flavor.topology]
    remedy = f"name one of its levels: {' or '.join(dict.fromkeys(have))}" if have else "give the flavor a topology"
    return remedy, "; ".join(f"levels of {name}: {has}" for name, has in levels.items())


_LESS: Final = "ask for fewer workers or set leastWorkers, raise the team's quota, or let it borrow more"


def _short(config: Config, pool: Quotas, ask: _Ask, team: Team) -> tuple[str, str, str, str] | None:
    """What a run asks for at once, the most of it that its team can ever have of one flavor, where that is less, why,
    and a remedy.
    """
    requests, gpus = dict(ask.requests), _gpus(ask)
    every = tuple(dict.fromkeys(quota.flavor for quota in team.quotas))
    alone = apart(team)
    basic = [name for name in every if name not in alone]
    able: Sequence[str] = basic
    if gpus:
        if ask.resource != GPU_RESOURCE and all(quota.resource != ask.resource for quota in team.quotas):
            return None  # It is told that no quota counts its slices.
        names = [flavor.name for flavor in gpu_flavors(config, team, ask.products, ask.resource)]
        wanted = Fraction(gpus * ask.workers)
        most = max((pool.most(team, name, ask.resource) for name in names), default=Fraction(0))
        if wanted > most:
            what = "GPUs" if ask.resource == GPU_RESOURCE else ask.resource
            one = what if what != "GPUs" else "GPU"
            gang = f"{ask.workers} worker{'s' if ask.workers != 1 else ''} of {gpus} {what if gpus != 1 else one}"
            why, remedy = f"{gang}; Kueue admits all of them or none", _LESS
            if not names and (others := gpu_flavors(config, team)):
                have = ", ".join(f"{one.name} ({node_labels(one).get(PRODUCT_LABEL, 'any card')})" for one in others)
                why = f"it asks for {' or '.join(ask.products)}, and its team's quotas are of {have}"
                remedy = "name another card in gpu of the resource, or give the team a quota of a flavor with this one"
            return f"{wanted} {what if wanted != 1 else one}", str(most), why, remedy
        if not alone:
            able = [name for name in names if pool.most(team, name, ask.resource) >= wanted]
    pods = [("worker", ask.workers, requests, able)]
    if ask.head:
        pods.append((ask.head[0], 1, dict(ask.head[1]), basic))
    for what, count, each, flavors in pods:
        for resource, unit in (("cpu", "cores"), ("memory", "of memory")):
            most = max((pool.most(team, name, resource) for name in flavors), default=Fraction(0))
            if each[resource] * count > most and flavors:
                said = f"{count} {what}{'s' if count != 1 else ''} of {amount(resource, each[resource])} {unit}"
                return f"{amount(resource, each[resource] * count)} {unit}", amount(resource, most), said, _LESS
    return None


def _beyond(stack: Stack, everything: Iterable[Sized], teams: Mapping[str, Team], pool: Quotas) -> Iterator[Finding]:
    """Whether a team can ever have the GPUs of all pods of a resource, each of which Kueue admits for itself."""
    config = stack.config
    for index, (resource, one) in enumerate(zip(config.resources, everything, strict=False)):
        team = teams.get(resource.team or "")
        if team is None or not one.size.gpus or not is_deployed(config, one):
            continue
        name = one.part.resource if one.part is not None else GPU_RESOURCE
        if name != GPU_RESOURCE and all(quota.resource != name for quota in team.quotas):
            continue  # It is told that no quota counts its slices.
        card = resolve(resource.gpu or config.gpu.model) if one.part is None else None
        flavors = gpu_flavors(config, team, products(card) if isinstance(card, Card) else ())
        have = sum((pool.most(team, flavor.name, name) for flavor in flavors), Fraction(0))
        pods = max(one.size.workers, resource.scale.most if resource.scale is not None else 0)
        wanted = pods * one.size.gpus
        if wanted > have:
            what = "GPUs" if name == GPU_RESOURCE else name
            yield stack.finding(
                "RES218",
                Severity.WARNING,
                ("resources", index),
                f"the {pods} pods of resource {resource.name} ask for {wanted} {what}, "
                f"and team {team.name} never has more than {have}",
                "lower workers or scale.most, raise the team's quota, or let it borrow more",
                detail="Kueue admits each pod for itself: those beyond the quota stay pending",
            )


def _on_gpu_nodes(stack: Stack, everything: Iterable[Sized]) -> Iterator[Finding]:
    """Whether pods without GPUs have a quota of nodes without GPUs, once a team."""
    config = stack.config
    bare = {flavor.name for flavor in config.flavors if not has_gpus(flavor)}
    without: dict[str | None, dict[str, None]] = {}
    for one in everything:
        for job, _ in one.jobs:
            if one.resource.remote is None and (not one.size.gpus or (job.command and job.engine != "job")):
                without.setdefault(job.team or one.resource.team, {})[job.name] = None
    for index, team in enumerate(config.teams):
        flavors = {quota.flavor for quota in team.quotas}
        if team.name in without and flavors and not flavors & bare:
            jobs = list(without[team.name])
            yield stack.finding(
                "RES216",
                Severity.ADVICE,
                ("teams", index, "quotas"),
                f"team {team.name} has pods without GPUs, and all of its quotas are of GPU nodes",
                "add a quota of a flavor without gpu, of nodes of any kind: {flavor: any, cpu: 16, memory: 64Gi}",
                detail=f"jobs: {', '.join(jobs[:NAMED])}" + (f" and {len(jobs) - NAMED} more" * (len(jobs) > NAMED)),
            )


def _unplaced_head(ask: _Ask, kinds: _Kinds, team: Team | None) -> tuple[str, str] | None:
    """The same of what starts with the workers."""
    if ask.head is None:
        return None
    what, requests = ask.head
    alone = _Ask(ask.team, (*requests, (GPU_RESOURCE, Fraction(0))), (), 1, None, None)
    found = _unplaced(alone, kinds, team)
    return None if found is None else (f"no node takes its {what}", found[1])


def _unplaced(ask: _Ask, kinds: _Kinds, team: Team | None) -> tuple[str, str] | None:
    """Why no nodes, however empty, hold all workers of a run: in short, and node by node in long."""
    flavors: list[Flavor | None] = (
        [kinds.flavors[name] for name in dict.fromkeys(one.flavor for one in team.quotas) if name in kinds.flavors]
        if (team is not None and _gpus(ask))
        else [None]
    )
    if ask.together is not None:
        flavors = [flavor for flavor in flavors if flavor is None or ask.together in flavor.topology]
    if any(_comes(ask, flavor, node) for flavor in flavors for node in kinds.growth):
        return None
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


def _comes(ask: _Ask, flavor: Flavor | None, node: Node) -> bool:
    """Whether a node that may be added would take a worker, or all of them where they have to be on one."""
    if flavor is not None and not node_labels(flavor).items() <= node.labels.items():
        return False
    pods = _pods(ask, flavor)
    return not obstacle(pods, node) and on_node(pods.requests, node, ())[0] >= (
        ask.workers if ask.together == HOST else 1
    )


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
