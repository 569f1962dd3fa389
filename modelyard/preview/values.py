"""The values that a preview is made of."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from modelyard.explanations import Explanation
from modelyard.findings import Finding
from modelyard.kube.merge import Owner, Path
from modelyard.plan.cost.values import StackCost
from modelyard.preview.topology import Topology

Policing = Literal["base", "head", "none"]
"""Whose Python rules judge the head, or that no policies do."""
Status = Literal["added", "removed", "changed"]
TargetStatus = Literal["added", "removed", "deleted", "changed", "same"]
SubmissionKind = Literal[
    "apply", "job", "pipeline", "environment", "notebooks", "remote resource", "provider", "bucket"
]


class FieldDiff(NamedTuple):
    """One field that the head asks for otherwise than the base."""

    path: Path
    before: Any
    """As the base's plan leaves it, ``merge.ABSENT`` where it leaves none."""
    after: Any
    patch: str | None
    """``name@version`` at the head that asks for it; None where no patch does any more."""
    back: tuple[Owner, ...] | None = None
    """Who gets the field back with its earlier value, without the time; None where it is not given back."""


class VersionDiff(NamedTuple):
    """One patch that a target takes in another version, newly, or no longer."""

    name: str
    before: str | None
    after: str | None


class TargetDiff(NamedTuple):
    """One object that the head would leave otherwise than the base."""

    name: str
    kind: str
    status: TargetStatus
    """``removed`` where no patch asks for it any more and it stays, with its fields given back; ``deleted`` where it
    goes, being the stack's own; ``same`` where only its patch versions differ and the object comes out alike."""
    fields: tuple[FieldDiff, ...]
    """None of an object that is deleted: all of it goes."""
    versions: tuple[VersionDiff, ...]
    replaces_pods: int
    """Pods that a changed template replaces, once base and then head are applied."""
    replicas: tuple[int | None, int | None]
    """None where there is no such field or an autoscaler holds it."""
    gpus: tuple[int, int]
    """GPUs that its pods hold after the base's plan and after the head's."""


class SubmissionDiff(NamedTuple):
    """Something that is submitted, that submissions use, or that an apply goes by, and is another at the head.

    No object of the platform's cluster changes with it. What cannot be submitted at a commit is not there.
    """

    kind: SubmissionKind
    name: str
    """Empty where a stack has only one of its kind."""
    status: Status
    fields: tuple[FieldDiff, ...]
    """Of a job the parameters of its template, of anything else the keys of the stack file; no patch asks for them."""


class Waived(NamedTuple):
    """A finding that nobody had waived before, or one waived anew: until another day, by somebody else, otherwise."""

    finding: Finding
    reason: str
    by: str
    """Who waives it, empty where nobody is named."""
    until: str
    """Last day on which the waiver holds, as ``2027-01-31``; empty where it is not known."""
    was: str = ""
    """The last day of the waiver that it had at the base; empty where it had none."""

    @property
    def words(self) -> str:
        """Until when, by whom, why."""
        until = f" until {self.until}" if self.until else ""
        before = f" (before: {self.was})" if self.was and self.was != self.until else ""
        by = f" by {self.by}" if self.by else ""
        return f"waived {'anew ' if self.was else ''}by this change{until}{before}{by}: {self.reason}"


class Relaxed(NamedTuple):
    """A finding that is gone, or milder, because its rule is: what it is about is as it was."""

    finding: Finding
    """As the base has it where it is gone, as the head has it where it is milder."""
    why: str
    """What became of the rule, such as ``no longer checked: rule disabled by this change``."""


class Moved(NamedTuple):
    """A finding that is still there in other words."""

    finding: Finding
    """As the head has it."""
    before: str
    """What it said at the base."""


class News(NamedTuple):
    """Findings by what became of them between two commits."""

    new: tuple[Finding, ...] = ()
    """The head has them, the base has not, or not as grave, or waived."""
    fixed: tuple[Finding, ...] = ()
    """The base has them, the head has not."""
    still: tuple[Finding, ...] = ()
    """Both have them, as the head says them."""
    waived: tuple[Waived, ...] = ()
    """The head waives them, the base does not, or not by this waiver."""
    relaxed: tuple[Relaxed, ...] = ()
    moved: tuple[Moved, ...] = ()
    """Those of ``still`` whose words differ."""

    @property
    def tells(self) -> bool:
        """Whether anything became of any."""
        return bool(self.new or self.fixed or self.waived or self.relaxed or self.moved)


class StackDiff(NamedTuple):
    """What changes in one environment."""

    stack: str
    file: str
    status: Status
    headline: str
    """The environment at the head in a few words; of a removed stack, at the base."""
    targets: tuple[TargetDiff, ...]
    new: tuple[Finding, ...]
    """Findings that the head has and the base has not."""
    fixed: tuple[Finding, ...]
    still: tuple[Finding, ...]
    unplanned: bool
    """Whether the head cannot be planned at all; ``new`` and ``still`` say why."""
    recorded: bool
    """Whether the recorded platform of the stack differs between the commits."""
    patches: tuple[VersionDiff, ...] = ()
    """Every patch in use, also those whose version stays; none where the head cannot be planned or has no file."""
    topology: Topology | None = None
    """None where neither side could be planned."""
    cost: StackCost | None = None
    """Of what runs once the base has been applied, and then the head; None where nobody knows it."""
    others: int | None = 0
    """GPUs that the targets hold in which nothing changes; None where the stack was planned at neither commit."""
    waived: tuple[Waived, ...] = ()
    relaxed: tuple[Relaxed, ...] = ()
    moved: tuple[Moved, ...] = ()
    """Those of ``still`` whose words differ."""
    submissions: tuple[SubmissionDiff, ...] = ()
    """What differs for the next apply or submission; nothing of a stack without a file."""
    held: bool = False
    """Whether an error of the whole project, which no stack's list has, stops its apply."""

    @property
    def gpus(self) -> tuple[int, int] | None:
        """GPUs that all its targets hold before and after; None where nobody knows."""
        if self.unplanned or self.others is None:
            return None
        before, after = (self.others + sum(target.gpus[side] for target in self.targets) for side in (0, 1))
        return before, after

    @property
    def replaces_pods(self) -> int:
        """Pods that are replaced in all its targets."""
        return sum(target.replaces_pods for target in self.targets)

    @property
    def blocked(self) -> bool:
        """Whether the head could not be applied."""
        return self.unplanned or self.held or any(finding.blocks for finding in (*self.new, *self.still))


class Revision(NamedTuple):
    """One side of the comparison."""

    name: str
    """As the user named it, or ``working tree``."""
    commit: str
    """SHA-1 of the commit; of the working tree, that of the commit under it."""


class Preview(NamedTuple):
    """Everything that changes between two commits."""

    base: Revision
    head: Revision
    stacks: tuple[StackDiff, ...]
    """Those in which something changes, by name."""
    unchanged: tuple[str, ...]
    """Names of those in which nothing does."""
    project: News = News()
    """Findings of what all stacks share: patches with their lock, and policies. No stack's own list has them."""
    pages: Mapping[str, Explanation] = {}
    """The pages of the rules that judged the head, by code."""

    @property
    def changes(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.stacks) or self.project.tells

    @property
    def blocked(self) -> bool:
        """Whether a changed stack could not be applied, or the project has an error that it had not."""
        return any(stack.blocked for stack in self.stacks) or any(one.blocks for one in self.project.new)
