"""The nodes and GPUs of a submission, by flavor, GPU and allocation mode; a part of a GPU is a partition's slice.

``notebook_facts`` offers them to the template of a notebook's job.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from modelyard import quantity
from modelyard.hardware import near_gpus, not_one_gpu, products, resolve
from modelyard.hardware.partitions import Slice, partition_gpu, slices
from modelyard.names import GPU_RESOURCE, PRODUCT_LABEL
from modelyard.runs.notebooks.reading import NotebookPaths, NotebookProblem
from modelyard.stack.config import Allocation, Config, Stack
from modelyard.stack.names import instead
from modelyard.stack.pool import Flavor, Partition, Team, Toleration
from modelyard.stack.words import listed, plural
from modelyard.workloads import node_labels
from modelyard.workloads.facts.environments import image_with, run_environment
from modelyard.workloads.facts.pool import Quotas, gpu_flavors, namespace_of, teams_here

GPU_NODES = Toleration(GPU_RESOURCE, "Exists", effect="NoSchedule")
"""Tolerates the taint that GPU nodes usually have, even if their flavor does not list it."""


class Choice(NamedTuple):
    """The user's choice; None: not specified."""

    flavor: str | None = None
    device: str | None = None
    """Name of a GPU."""
    allocation: Allocation | None = None
    team: str | None = None
    priority: str | None = None
    partition: str | None = None
    slice: str | None = None
    """MIG profile."""


class Chosen(NamedTuple):
    """The nodes, GPUs and queue that a submission gets."""

    flavor: Flavor
    """The flavor; without a name if the stack has no flavors: any node with the stack's GPU."""
    gpus: int
    allocation: Allocation
    team: Team | None
    """The team whose queue the submission enters; None: it starts at once, or waits for a node."""
    priority: str | None
    part: Slice | None = None
    """The slice that the submission gets as its GPU; None: whole GPUs."""


def choose(config: Config, choice: Choice) -> Chosen | tuple[NotebookProblem, ...]:
    """The flavor, GPUs and queue of a submission, or everything that is wrong with the choice."""
    problems: list[NotebookProblem] = []
    team = _team(config, choice, problems)
    gpus, allocation = _gpus(config, choice, problems)
    flavor = _flavor(config, choice, team, None if allocation == "partial" else gpus, problems)
    part = _part(config, choice, flavor, team, problems) if allocation == "partial" else None
    known = [one.name for one in config.priorities]
    if choice.priority is not None and choice.priority not in known:
        problems.append(
            NotebookProblem(_no("priority", choice.priority), instead(choice.priority, known, "priorities"))
        )
    elif choice.priority is not None and team is None and not problems:
        problems.append(
            NotebookProblem("without a team nothing is queued, so --priority has no effect", "leave it out")
        )
    if problems or flavor is None:
        return tuple(problems)
    return Chosen(flavor=flavor, gpus=gpus, allocation=allocation, team=team, priority=choice.priority, part=part)


def _team(config: Config, choice: Choice, problems: list[NotebookProblem]) -> Team | None:
    everyone = {team.name: team for team in config.teams}
    known = {team.name: team for team in teams_here(config)}
    if choice.team is not None and choice.team not in everyone:
        problems.append(NotebookProblem(_no("team", choice.team), instead(choice.team, known, "teams")))
    elif (choice.team is not None and choice.team not in known) or (everyone and not known):
        whose = f"team {choice.team}" if choice.team is not None else "all teams"
        summary = f"jobs of {whose} run in worker clusters, which do not have the notebook and its volume"
        remedy = f"use --team {' or '.join(known)}" if known else "the stack needs a team without clusters"
        problems.append(NotebookProblem(summary, remedy))
    elif choice.team is None and len(known) > 1:
        problems.append(NotebookProblem("the stack has several teams", f"use --team {' or '.join(known)}"))
    if choice.team is not None:
        return known.get(choice.team)
    return next(iter(known.values())) if len(known) == 1 else None


def _flavor(
    config: Config, choice: Choice, team: Team | None, whole: int | None, problems: list[NotebookProblem]
) -> Flavor | None:
    """The only flavor that fits the choice; the team must be able to hold ``whole`` of its GPUs; None: any number."""
    gpu = resolve(choice.device) if choice.device is not None else None
    if choice.device is not None and gpu is None:
        summary = _empty("GPU", choice.device) or not_one_gpu(choice.device)
        problems.append(NotebookProblem(summary, near_gpus(choice.device)))
    known = flavors(config)
    if choice.flavor is not None and (choice.flavor not in known or not choice.flavor):
        names = [name for name in known if name]
        problems.append(NotebookProblem(_no("flavor", choice.flavor), instead(choice.flavor, names, "flavors")))
        return None
    if choice.device is not None and gpu is None:
        return None
    able = [
        flavor
        for flavor in known.values()
        if choice.flavor in (None, flavor.name)
        and (gpu is None or (flavor.gpu is not None and resolve(flavor.gpu) == gpu))
    ]
    # If no team was chosen, a flavor that no team has is not a candidate.
    teams = (team,) if team is not None else teams_here(config)
    theirs = tuple(flavor for one in teams for flavor in _theirs(config, one, whole))
    mine = [flavor for flavor in able if not teams or flavor in theirs]
    if len(mine) == 1:
        return mine[0]
    what = " and ".join(
        [f"flavor {choice.flavor}"] * bool(choice.flavor) + [f"the GPU {choice.device}"] * bool(choice.device)
    )
    if mine:
        problems.append(NotebookProblem(_several(what), f"use --flavor {' or '.join(one.name for one in mine)}"))
    elif able and team is None:
        if whole is not None and any(flavor in gpu_flavors(config, one) for one in teams for flavor in able):
            summary = f"no team can ever have {plural(whole, 'whole GPU')} of {what or 'any flavor'} at once"
            fewer = any(flavor in _theirs(config, one, 1) for one in teams for flavor in able)
            other = "single" if fewer else "partial" if config.partitions else ""
            problems.append(
                NotebookProblem(summary, f"use --allocation {other}, or raise a quota" if other else "raise a quota")
            )
            return None
        have = " or ".join(dict.fromkeys(flavor.name for flavor in theirs))
        remedy = f"choose a flavor that a team has: {have}" if have else "give a team a quota of them"
        problems.append(NotebookProblem(f"no team has GPUs of {what or 'any flavor'}", remedy))
    elif able and team is not None:
        if whole is not None and whole > 1 and any(flavor in _theirs(config, team, 1) for flavor in able):
            summary = f"team {team.name} can never have {whole} GPUs of {what or 'any flavor'} at once"
            problems.append(NotebookProblem(summary, "use --allocation single, or raise its quota"))
            return None
        parted = whole is not None and any(flavor in gpu_flavors(config, team) for flavor in able)
        summary = f"team {team.name} has no {'whole ' * parted}GPUs of {what or 'any flavor'}"
        remedy = "give it a quota of them"
        if theirs:
            remedy = f"choose a flavor that it has: {listed([one.name for one in theirs])}"
        problems.append(NotebookProblem(summary, remedy + "; or use --allocation partial" * parted))
    else:
        have = listed([f"{one.gpu or 'no GPU'} ({one.name or 'gpu.model of the stack'})" for one in known.values()])
        problems.append(NotebookProblem(f"no nodes match {what}", f"choose {have}"))
    return None


def _theirs(config: Config, team: Team, whole: int | None) -> tuple[Flavor, ...]:
    """The flavors of which a team can hold ``whole`` GPUs at once; None: any GPUs, or parts of them."""
    if whole is None:
        return gpu_flavors(config, team)
    pool = Quotas(config)
    able = gpu_flavors(config, team, (), GPU_RESOURCE)
    return tuple(flavor for flavor in able if pool.most(team, flavor.name, GPU_RESOURCE) >= whole)


def _several(what: str) -> str:
    return f"several flavors have {what}" if what else "the stack has several flavors"


def _gpus(config: Config, choice: Choice, problems: list[NotebookProblem]) -> tuple[int, Allocation]:
    """GPUs of the pool, whole ones or slices."""
    named = choice.partition or choice.slice
    allocation = choice.allocation or ("partial" if named else "single")
    if named and allocation != "partial":
        summary = f"a partition gives a part of a GPU, but --allocation {allocation} needs whole GPUs"
        problems.append(NotebookProblem(summary, "leave one of them out"))
    if allocation == "multi_gpu" and config.gpu.per_worker < 2:
        summary = f"multi_gpu uses gpu.perWorker GPUs, which is {config.gpu.per_worker}"
        problems.append(NotebookProblem(summary, "use --allocation single, or set gpu.perWorker to 2 or more"))
    return config.gpu.per_worker if allocation == "multi_gpu" else 1, allocation


def _part(
    config: Config, choice: Choice, flavor: Flavor | None, team: Team | None, problems: list[NotebookProblem]
) -> Slice | None:
    """The slice of a submission that takes a part of a GPU: the only one that fits the choice."""
    if not config.partitions:
        summary = "partial needs a slice of a GPU, but the stack has no partitions"
        problems.append(NotebookProblem(summary, "use --allocation single, or add modelyard:partitions"))
        return None
    names = [one.name for one in config.partitions]
    if choice.partition is not None and choice.partition not in names:
        remedy = instead(choice.partition, names, "partitions")
        problems.append(NotebookProblem(f"unknown partition {choice.partition}", remedy))
        return None
    if flavor is None:
        return None
    have = [
        (name, profile, f"--partition {name}" + (f" --slice {profile}" if profile is not None else ""), part)
        for name, profile, part in parts(config, flavor)
    ]
    found = [
        (options, part)
        for name, profile, options, part in have
        if choice.partition in (None, name) and choice.slice in (None, profile)
    ]
    if len(found) != 1:
        place = f"flavor {flavor.name}" if flavor.name else "the stack's GPU"
        if found:
            problems.append(NotebookProblem(f"{place} has several slices", f"use {listed([one for one, _ in found])}"))
        else:
            named = (("partition", choice.partition), ("slice", choice.slice))
            asked = " with ".join(f"{what} {name}" for what, name in named if name)
            remedy = f"use {listed([options for _, _, options, _ in have])}" if have else "use --allocation single"
            problems.append(NotebookProblem(f"{place} has no {asked or 'partition'}", remedy))
        return None
    part = found[0][1]
    if team is not None and flavor not in gpu_flavors(config, team, (), part.resource):
        where = f" of flavor {flavor.name}" if part.resource in counted(team) else ""
        summary = f"team {team.name} has no quota of {part.resource}{where}"
        problems.append(NotebookProblem(summary, "add one, or use a whole GPU"))
    return part


def flavors(config: Config) -> dict[str, Flavor]:
    """The flavors by name; for a stack without flavors, one without a name, for nodes with the stack's GPU."""
    return {flavor.name: flavor for flavor in config.flavors} or {"": Flavor("", config.gpu.model, {}, (GPU_NODES,))}


def parts(config: Config, flavor: Flavor) -> list[tuple[str, str | None, Slice]]:
    """The slices of a flavor's nodes, each with its partition's name and, for MIG, its profile."""
    return [
        (one.name, name if one.mode == "mig" else None, part)
        for one in config.partitions
        if _divides(config, one, flavor)
        for name, part in slices(config, one).items()
    ]


def counted(team: Team) -> frozenset[str]:
    """What a team's quotas count as GPUs."""
    return frozenset(quota.resource for quota in team.quotas)


def _divides(config: Config, partition: Partition, flavor: Flavor) -> bool:
    if partition.flavor is not None:
        return partition.flavor == flavor.name
    return flavor.gpu is not None and partition_gpu(config, partition) == resolve(flavor.gpu)


def _no(kind: str, name: str) -> str:
    """The message that nothing has this name."""
    return _empty(kind, name) or f"unknown {kind} {name}"


def _empty(kind: str, name: str) -> str:
    """The message that a name is empty; a sentence that quotes it would have a gap."""
    return "" if name.strip() else f"the name of the {kind} is empty"


TEMPLATE: Final = "job-notebook"
"""Name of the patch that runs a notebook."""


def notebook_facts(
    stack: Stack, name: str, place: NotebookPaths, chosen: Chosen, parameters: Mapping[str, str]
) -> dict[str, Any]:
    """The facts below ``notebook``, as plain JSON-like values."""
    config, team = stack.config, chosen.team
    return {
        "notebook": {
            "stack": stack.name,
            "name": name,
            "namespace": namespace_of(team) if team is not None else config.platform.namespace,
            "queue": team.name if team is not None else None,
            "priority": chosen.priority,
            "flavor": chosen.flavor.name or None,
            "nodes": nodes_of(chosen),
            "anyPlace": team is not None and bool(chosen.flavor.topology),
            "products": products_of(chosen),
            "tolerations": _tolerations(chosen),
            "image": image_with(config, config.notebooks.environment, config.notebooks.image),
            "environment": run_environment(config, config.notebooks.environment),
            "claim": config.notebooks.claim,
            "path": config.notebooks.path,
            "cpu": config.notebooks.cpu,
            "memory": quantity.times(config.notebooks.memory, chosen.gpus),
            "gpus": chosen.gpus,
            "gpuResource": chosen.part.resource if chosen.part is not None else GPU_RESOURCE,
            "timeLimit": config.notebooks.time_limit,
            "keep": config.notebooks.keep,
            "arguments": [escaped(one) for one in _arguments(place, parameters)],
        }
    }


def _tolerations(chosen: Chosen) -> list[dict[str, str]]:
    """Tolerates the taint of GPU nodes, as every run with GPUs; Kueue adds the flavor's tolerations to a queued job."""
    theirs = chosen.flavor.tolerations if chosen.team is None else ()
    return [
        {key: value for key, value in one._asdict().items() if value is not None}
        for one in dict.fromkeys((GPU_NODES, *theirs))
    ]


def nodes_of(chosen: Chosen) -> dict[str, str]:
    """Labels of a notebook's nodes. Nodes with slices may have another product label than nodes with whole GPUs."""
    labels = node_labels(chosen.flavor) if chosen.flavor.name else {}
    if chosen.part is None:
        return labels
    return {**{key: value for key, value in labels.items() if key != PRODUCT_LABEL}, **chosen.part.nodes}


def products_of(chosen: Chosen) -> list[str]:
    """Product labels that nodes may have for the stack's GPU, if no flavor sets them."""
    if chosen.part is not None:
        return []
    gpu = resolve(chosen.flavor.gpu) if not chosen.flavor.name and chosen.flavor.gpu else None
    return list(products(gpu)) if gpu is not None else []


def labels_of(chosen: Chosen) -> dict[str, tuple[str, ...]]:
    """The labels of the nodes that a notebook may run on, each with its allowed values."""
    found = {key: (value,) for key, value in nodes_of(chosen).items()}
    return found | ({PRODUCT_LABEL: tuple(names)} if (names := products_of(chosen)) else {})


def _arguments(place: NotebookPaths, parameters: Mapping[str, str]) -> list[str]:
    """Arguments of the runner: the notebook, its result, and options for papermill."""
    given = [word for name, value in parameters.items() for word in ("-p", name, value)]
    return [place.notebook, place.result, *given]


def escaped(argument: str) -> str:
    """A container's argument that stays unchanged: Kubernetes would replace ``$(NAME)`` with a variable's value."""
    return argument.replace("$(", "$$(")
