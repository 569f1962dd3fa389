"""Planning the stacks of a project at two commits."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from posixpath import normpath
from typing import NamedTuple

from modelyard.cost.prices import Prices
from modelyard.cost.project import priced, prices_of
from modelyard.findings import Finding, ordered
from modelyard.plan.cost import StackCost
from modelyard.plan.project import Planned, chosen_patches, plan_after, plan_recorded, shown
from modelyard.plan.values import TargetPlan
from modelyard.policy.check import check_plan
from modelyard.preview.compare import Side, changes_anything, compare, given_up
from modelyard.preview.revisions import Range, between, laid_out
from modelyard.preview.topology import topology
from modelyard.preview.values import Preview, StackDiff
from modelyard.stack import discover, load, misnamed, stack_folder, stack_of
from modelyard.stack.source import MAX_BYTES

Each = Callable[[Sequence["Job"], Callable[["Job"], StackDiff | None]], Iterable[StackDiff | None]]
"""Does one thing for many stacks, in order, perhaps with more processes."""

_SHARED = ("Pulumi.yaml", "Pulumi.yml", "patches/", "policies/")
"""Beginnings of the paths that every stack's plan may depend on."""


class Job(NamedTuple):
    """One stack to compare."""

    name: str
    base: Path | None
    """Its file at the base, None where there is none."""
    head: Path | None
    recorded: bool
    """Whether its recorded platform differs."""
    judged_anew: bool
    """Whether findings may differ although the stack reads the same settings and patches."""


def preview(root: Path, base: str, head: str | None, today: date, each: Each | None = None) -> Preview:
    """Plans every stack whose inputs differ between two commits, and compares.

    Args:
        root: the project.
        base: branch, tag or commit; what counts is where the head left it.
        head: the same, or None for the working tree as it stands.
        today: the day that waivers are measured by.
        each: how to go through many stacks; one after the other by default.

    Raises:
        RevisionError: the commits cannot be compared.
    """
    span = between(root, base, head)
    if head is None:
        return _previewed(root, span, today, each or _one_by_one)
    folder = _folder(root)

    def wanted(path: str) -> bool:
        return path.startswith((*_SHARED, folder))

    with laid_out(root, span.head.commit, span.prefix, wanted, _price_files) as tree:
        return _previewed(tree, span, today, each or _one_by_one)


def _one_by_one(jobs: Sequence[Job], work: Callable[[Job], StackDiff | None]) -> Iterator[StackDiff | None]:
    return map(work, jobs)


def _folder(root: Path) -> str:
    """The folder of the stack files, from the project's root, with a slash at its end."""
    return stack_folder(root).relative_to(root).as_posix() + "/"


def _previewed(head_root: Path, span: Range, today: date, each: Each) -> Preview:
    folder = _folder(head_root)
    recorded = {path.split("/")[-2] for path in span.paths if path.startswith(f"{folder}recorded/")}
    repriced = {name for name, path in _prices(head_root) if path in span.paths}
    touched = {_stack_of(path, folder) for path in span.paths} | recorded | repriced
    shared = any(path.startswith(_SHARED) for path in span.paths)
    rules = any(path.startswith("policies/") for path in span.paths)

    def wanted(path: str) -> bool:
        if path.startswith(f"{folder}recorded/"):
            return path.split("/")[-2] in touched
        return path.startswith(_SHARED) or (path.startswith(folder) and (shared or _stack_of(path, folder) in touched))

    with laid_out(head_root, span.base.commit, span.prefix, wanted, _price_files) as base_root:
        before, after = _files(base_root), _files(head_root)
        # Where nothing differs that all share, only a stack's own files can make a difference.
        names = sorted({*before, *after})
        jobs = [
            Job(name, before.get(name), after.get(name), name in recorded, rules or name in recorded)
            for name in names
            if shared or name in touched
        ]
        found = [one for one in each(jobs, partial(_compared, base_root, head_root, today)) if one is not None]
    told = {one.stack for one in found}
    return Preview(span.base, span.head, tuple(found), tuple(name for name in names if name not in told))


def _files(root: Path) -> dict[str, Path]:
    """The stack files by name, those included that nobody would find by their names."""
    return {found.name: found.path for found in (*misnamed(root), *discover(root))}


def _stack_of(path: str, folder: str) -> str:
    """The stack that a stack file is of, empty for other files."""
    name = path.removeprefix(folder)
    return stack_of(name) if name != path and "/" not in name else ""


def _prices(root: Path) -> Iterator[tuple[str, str]]:
    """The stacks that name a price file, each with its path from the project's root."""
    for name, file in _files(root).items():
        # Few stacks have the key, and looking for it is cheaper than loading them all.
        stack = load(file, file.name)[0] if _says(file, b"modelyard:prices") else None
        if stack is not None and stack.config.prices is not None:
            yield name, normpath(stack.config.prices)


def _says(file: Path, text: bytes) -> bool:
    try:
        if not file.is_file():
            return False
        with file.open("rb") as stream:
            return text in stream.read(MAX_BYTES)
    except OSError:
        return False


def _price_files(root: Path) -> Iterator[str]:
    return (path for _, path in _prices(root))


def _compared(base_root: Path, head_root: Path, today: date, job: Job) -> StackDiff | None:
    """The difference of one stack; None where there is none."""
    if (
        job.base is not None
        and job.head is not None
        and not job.judged_anew
        and _same_inputs(base_root, head_root, job)
    ):
        return None
    # Both sides start from the head's platform: what a new recording alone changes is not the commits' doing.
    before = _planned(base_root, job.base, today, head_root if job.head is not None else base_root)
    after = _planned(head_root, job.head, today, head_root)
    base, head = _side(base_root, before, today), _side(head_root, after, today)
    following = after.plan if after is not None else None
    if before is not None and before.plan is not None and after is not None and after.plan is not None:
        following = plan_after(head_root, after, before.plan, today)
    if job.recorded and base is not None and job.base is not None and job.head is not None:
        # What is wrong on the base's own platform was wrong before.
        base = base._replace(findings=_findings(base_root, plan_recorded(base_root, job.base, today), today))
    root, file = (head_root, job.head) if job.head is not None else (base_root, job.base)
    difference = compare(job.name, shown(root, file or root), base, head, following, job.recorded)
    ahead = after._replace(plan=following) if after is not None else None
    earlier = prices_of(base_root, before.stack)[0] if before is not None and before.stack is not None else None
    if ahead is None or head is None:
        cost = _running_cost(base_root, before, today)
    else:
        also = given_up(base, head, following) if following is not None else ()
        cost = _cost(head_root, ahead, also, earlier)
    if not changes_anything(difference) and not _other_amounts(cost):
        return None
    return difference._replace(topology=topology(before, ahead), cost=cost)


def _cost(
    root: Path, planned: Planned, also: tuple[TargetPlan, ...] = (), earlier: Prices | None = None
) -> StackCost | None:
    """What a plan costs, some more targets included; None where it has none.

    Args:
        root: the project whose prices count.
        planned: the plan.
        also: more targets.
        earlier: the prices of what runs before it, where they are others.
    """
    if planned.plan is None:
        return None
    whole = planned._replace(plan=planned.plan._replace(targets=(*planned.plan.targets, *also)))
    found = priced(root, whole, earlier)
    return found.plan.cost if found.plan is not None else None


def _running_cost(root: Path, planned: Planned | None, today: date) -> StackCost | None:
    """What a stack costs that was applied and is left as it is."""
    if planned is None or planned.plan is None:
        return None
    return _cost(root, planned._replace(plan=plan_after(root, planned, planned.plan, today)))


def _other_amounts(cost: StackCost | None) -> bool:
    """Whether something costs another amount afterwards."""
    return cost is not None and any(one.usd[0] != one.usd[1] for one in cost.targets)


def _planned(root: Path, file: Path | None, today: date, platform: Path) -> Planned | None:
    return None if file is None else plan_recorded(root, file, today, platform)


def _same_inputs(base_root: Path, head_root: Path, job: Job) -> bool:
    """Whether a stack reads the same settings and the same patches at both commits."""
    digests = []
    for root, file in ((base_root, job.base), (head_root, job.head)):
        assert file is not None
        stack, _ = load(file, file.name)
        if stack is None:
            return False
        prices = prices_of(root, stack)
        digests.append(
            (stack.sha256, [(one.patch.id, one.patch.sha256) for one in chosen_patches(root, stack)], prices)
        )
    return digests[0] == digests[1]


def _side(root: Path, planned: Planned | None, today: date) -> Side | None:
    if planned is None:
        return None
    version = planned.stack.config.kubernetes_version if planned.stack is not None else ""
    return Side(planned.plan, _findings(root, planned, today), version)


def _findings(root: Path, planned: Planned, today: date) -> tuple[Finding, ...]:
    """The findings as ``modelyard check`` tells them, policies included."""
    if planned.plan is None or planned.stack is None:
        return planned.findings
    found, prices = check_plan(root, planned.stack, planned.plan, today), prices_of(root, planned.stack)[1]
    return ordered((*found, *prices)) if prices else found
