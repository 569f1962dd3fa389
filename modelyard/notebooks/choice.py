"""The nodes and GPUs of a submission: by flavor, by card, by allocation mode. Nothing is ever half a GPU."""

from collections.abc import Iterable
from typing import NamedTuple

from modelyard.hardware import near_cards, resolve
from modelyard.notebooks.values import Problem
from modelyard.stack.config import Allocation, Config
from modelyard.stack.names import instead
from modelyard.stack.pool import Flavor, Team, Toleration

_GPU_NODES = Toleration("nvidia.com/gpu", "Exists", effect="NoSchedule")
"""GPU nodes usually have this taint; a stack without flavors says nothing of them."""


class Choice(NamedTuple):
    """What was asked for; None: nobody said."""

    flavor: str | None = None
    device: str | None = None
    """Name of a card."""
    allocation: Allocation | None = None
    team: str | None = None
    priority: str | None = None


class Chosen(NamedTuple):
    """What a submission gets."""

    flavor: Flavor
    """Nameless where the stack has no flavors: any node with the stack's card."""
    gpus: int
    allocation: Allocation
    team: Team | None
    """Who queues it; None: it starts at once, or waits for a node."""
    priority: str | None


def choose(config: Config, choice: Choice) -> Chosen | tuple[Problem, ...]:
    """The flavor, GPUs and queue of a submission, or everything that is wrong with the choice."""
    problems: list[Problem] = []
    team = _team(config, choice, problems)
    flavor = _flavor(config, choice, team, problems)
    gpus, allocation = _gpus(config, choice, problems)
    known = [one.name for one in config.priorities]
    if choice.priority is not None and choice.priority not in known:
        problems.append(
            Problem(f"there is no priority {choice.priority}", instead(choice.priority, known, "priorities"))
        )
    elif choice.priority is not None and team is None and not problems:
        problems.append(Problem("without a team nothing is queued, so --priority says nothing", "leave it out"))
    if problems or flavor is None:
        return tuple(problems)
    return Chosen(flavor, gpus, allocation, team, choice.priority)


def _team(config: Config, choice: Choice, problems: list[Problem]) -> Team | None:
    known = {team.name: team for team in config.teams}
    if choice.team is not None:
        if choice.team not in known:
            problems.append(Problem(f"there is no team {choice.team}", instead(choice.team, known, "teams")))
        return known.get(choice.team)
    if len(known) > 1:
        problems.append(Problem("the stack has several teams and none was named", f"--team {' or '.join(known)}"))
    return next(iter(known.values())) if len(known) == 1 else None


def _flavor(config: Config, choice: Choice, team: Team | None, problems: list[Problem]) -> Flavor | None:
    card = resolve(choice.device) if choice.device is not None else None
    if choice.device is not None and card is None:
        problems.append(Problem(f"{choice.device} is not the name of one card", near_cards(choice.device)))
    known = {flavor.name: flavor for flavor in config.flavors} or {"": Flavor("", config.gpu.model, {}, (_GPU_NODES,))}
    if choice.flavor is not None and (choice.flavor not in known or not choice.flavor):
        names = [name for name in known if name]
        problems.append(Problem(f"there is no flavor {choice.flavor}", instead(choice.flavor, names, "flavors")))
        return None
    if choice.device is not None and card is None:
        return None
    able = [
        flavor
        for flavor in known.values()
        if choice.flavor in (None, flavor.name)
        and (card is None or (flavor.gpu is not None and resolve(flavor.gpu) == card))
    ]
    mine = [flavor for flavor in able if team is None or flavor.name in _flavors_with_gpus(team)]
    if len(mine) == 1:
        return mine[0]
    what = " and ".join(
        [f"flavor {choice.flavor}"] * bool(choice.flavor) + [f"the card {choice.device}"] * bool(choice.device)
    )
    if mine:
        problems.append(Problem(_several(what), f"--flavor {' or '.join(one.name for one in mine)}"))
    elif able and team is not None:
        have = ", ".join(_flavors_with_gpus(team)) or "none"
        summary = f"team {team.name} has no GPUs of {what or 'any flavor'}"
        problems.append(Problem(summary, f"its quotas have GPUs of: {have}"))
    else:
        have = ", ".join(f"{one.name or 'the stack'} ({one.gpu or 'no card'})" for one in known.values())
        problems.append(Problem(f"nothing is of {what}", f"there is {have}"))
    return None


def _several(what: str) -> str:
    return f"several flavors have {what}" if what else "the stack has several flavors and none was named"


def _flavors_with_gpus(team: Team) -> Iterable[str]:
    return [quota.flavor for quota in team.quotas if quota.gpus or quota.borrow != 0]


def _gpus(config: Config, choice: Choice, problems: list[Problem]) -> tuple[int, Allocation]:
    """Whole GPUs of the pod."""
    allocation = choice.allocation or "single"
    if allocation == "partial":
        summary = "partial is half a GPU, and a pod has whole GPUs or none: no flavor of the stack shares its cards"
        problems.append(Problem(summary, "take --allocation single; half a GPU is for tasks inside Ray's workers"))
    if allocation == "multi_gpu" and config.gpu.per_worker < 2:
        summary = f"multi_gpu takes gpu.perWorker GPUs, and that is {config.gpu.per_worker}"
        problems.append(Problem(summary, "take --allocation single, or set gpu.perWorker to 2 or more"))
    return config.gpu.per_worker if allocation == "multi_gpu" else 1, allocation
