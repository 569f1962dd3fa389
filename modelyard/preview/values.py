"""The values that a preview is made of."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from modelyard.explanations import Explanation
from modelyard.findings import Finding
from modelyard.plan.cost.values import StackCost
from modelyard.plan.order import STOPS_JOBS
from modelyard.plan.values import FieldChange, Step
from modelyard.preview.topology import Topology
from modelyard.probes import BackendDrain

Policing = Literal["base", "head", "none"]
"""Whose Python rules judge the head, or that no policies do."""
Status = Literal["added", "removed", "changed"]
Risk = Literal["training", "loss", "error", "cost", "none"]
"""The most serious consequence of a stack's change: running training stops or waits, data or GPUs are lost, no apply is
possible, it costs more.
"""
RISKS: tuple[Risk, ...] = get_args(Risk)
HOLDS_DATA = ("Namespace", "PersistentVolumeClaim")
"""Kinds whose deletion deletes data."""
TargetStatus = Literal["added", "removed", "deleted", "changed", "same"]
SubmissionKind = Literal[
    "apply", "job", "pipeline", "environment", "notebooks", "remote resource", "provider", "bucket"
]


class VersionDiff(NamedTuple):
    """One patch that a target takes in another version, newly, or no longer."""

    name: str
    before: str | None
    after: str | None


class TargetDiff(NamedTuple):
    """One object that the head leaves different from the base."""

    name: str
    kind: str
    status: TargetStatus
    """``removed`` if no patch asks for it any more and it stays, with its fields restored; ``deleted`` if the stack
    owns it and it goes; ``same`` if only its patch versions differ and the object does not.
    """
    fields: tuple[FieldChange, ...]
    """What the head sets differently, once the base is applied; without current owners, and without the time of owners
    to which a field is restored. Empty for a deleted object: all of it goes."""
    versions: tuple[VersionDiff, ...]
    replaces_pods: int
    """Pods that a changed template replaces, once base and then head are applied."""
    replicas: tuple[int | None, int | None]
    """None if the field does not exist or an autoscaler holds it."""
    gpus: tuple[int, int]
    """GPUs that its pods hold after the base's plan and after the head's."""
    created: bool = False
    """Whether the head creates it; an added object may exist already, without a patch."""

    @property
    def stops_pods(self) -> int:
        """Pods that stop and are not replaced; 0 if an autoscaler sets their number."""
        before, after = self.replicas
        if before is None or (after is None and self.status != "deleted"):
            return 0
        return max(before - (after or 0), 0)

    @property
    def starts_pods(self) -> int:
        """Pods that start beside the existing ones; 0 if an autoscaler sets their number."""
        before, after = self.replicas
        return 0 if after is None or (before is None and self.status != "added") else max(after - (before or 0), 0)


class SubmissionDiff(NamedTuple):
    """A change in what is submitted, what submissions use, or the settings of an apply.

    It changes no object of the home cluster. What cannot be submitted at a commit is missing there.
    """

    kind: SubmissionKind
    name: str
    """Empty if a stack has only one of its kind."""
    status: Status
    fields: tuple[FieldChange, ...]
    """For a job the parameters of its template, else the keys of the stack file; no patch sets them."""


class Waived(NamedTuple):
    """A finding that is newly waived, or waived with another date, person or reason than before."""

    finding: Finding
    reason: str
    by: str
    """Who waives it, empty if no name is given."""
    until: str
    """Last day on which the waiver holds, as ``2027-01-31``; empty if it is not known."""
    was: str = ""
    """The last day of its waiver at the base; empty if it had none."""

    @property
    def words(self) -> str:
        """Until when, by whom, why."""
        until = f" until {self.until}" if self.until else ""
        before = f" (before: {self.was})" if self.was and self.was != self.until else ""
        by = f" by {self.by}" if self.by else ""
        return f"waived {'again ' if self.was else ''}by this change{until}{before}{by}: {self.reason}"


class Relaxed(NamedTuple):
    """A finding that is gone, or less severe, only because its rule changed, not its subject."""

    finding: Finding
    """The base's finding if it is gone, the head's if it is less severe."""
    why: str
    """What became of the rule, such as ``no longer checked: rule disabled by this change``."""


class Moved(NamedTuple):
    """A finding that remains in other words."""

    finding: Finding
    """The head's finding."""
    before: str
    """Its summary at the base."""


class News(NamedTuple):
    """Findings by what became of them between two commits."""

    new: tuple[Finding, ...] = ()
    """Only the head has them, or there they are more severe or no longer waived."""
    fixed: tuple[Finding, ...] = ()
    """Only the base has them."""
    still: tuple[Finding, ...] = ()
    """Both have them, in the head's words."""
    waived: tuple[Waived, ...] = ()
    """The head waives them, the base does not, or with another waiver."""
    relaxed: tuple[Relaxed, ...] = ()
    moved: tuple[Moved, ...] = ()
    """Those of ``still`` whose words differ."""

    @property
    def changes(self) -> bool:
        """Whether any finding changed."""
        return bool(self.new or self.fixed or self.waived or self.relaxed or self.moved)


class Pending(NamedTuple):
    """What already differs from the cluster before the change: an apply of the base would change it."""

    fields: int
    objects: int


class Offline(NamedTuple):
    """A stack whose cluster, or one of its remote clusters, was not read: its recorded platform counts."""

    stack: str
    why: str


class Unlisted(NamedTuple):
    """Quotas and autoscalers of a cluster that was read without them, because the credentials may not list them."""

    stack: str
    cluster: str
    """Name of the remote cluster; empty for the home cluster."""
    lists: tuple[str, ...]
    """Such as ``resourcequotas of ml-platform``."""


class StackDiff(NamedTuple):
    """What changes in one stack."""

    stack: str
    file: str
    status: Status
    headline: str
    """The stack at the head in a few words; for a removed stack, at the base."""
    targets: tuple[TargetDiff, ...]
    new: tuple[Finding, ...]
    """Findings that only the head has."""
    fixed: tuple[Finding, ...]
    still: tuple[Finding, ...]
    unplanned: bool
    """Whether the head cannot be planned at all; ``new`` and ``still`` say why."""
    recorded: bool
    """Whether the recorded platform of the stack differs between the commits."""
    patches: tuple[VersionDiff, ...] = ()
    """Every patch in use, including unchanged ones; none if the head cannot be planned or has no file."""
    topology: Topology | None = None
    """None if neither commit could be planned."""
    cost: StackCost | None = None
    """Cost of what runs once the base has been applied, and then the head; None if it is unknown."""
    others: int | None = 0
    """GPUs that unchanged targets hold; None if the stack was planned at neither commit."""
    waived: tuple[Waived, ...] = ()
    relaxed: tuple[Relaxed, ...] = ()
    moved: tuple[Moved, ...] = ()
    """Those of ``still`` whose words differ."""
    submissions: tuple[SubmissionDiff, ...] = ()
    """What differs for the next apply or submission; empty for a stack without a file."""
    blocked_by_project: bool = False
    """Whether an error of the whole project, which no stack's list has, stops its apply."""
    training: tuple[str, str] | None = None
    """Names of the training backends before and after; None if the stack is new, gone, or cannot be planned."""
    steps: tuple[Step, ...] = ()
    """The steps of the head's apply after the base's, in order, in all clusters."""
    drains: tuple[BackendDrain, ...] = ()
    """The waits of that apply for an idle training backend."""
    pending: Pending | None = None
    """What already differs from the cluster; None if the cluster was not read, or the base has no plan."""

    @property
    def gpus(self) -> tuple[int, int] | None:
        """GPUs that all its targets hold before and after; None if unknown."""
        if self.unplanned or self.others is None:
            return None
        before, after = (self.others + sum(target.gpus[at] for target in self.targets) for at in (0, 1))
        return before, after

    @property
    def replaces_pods(self) -> int:
        """Pods that are replaced in all its targets."""
        return sum(target.replaces_pods for target in self.targets)

    @property
    def stops_pods(self) -> int:
        """Pods that stop and are not replaced, in all its targets."""
        return sum(target.stops_pods for target in self.targets)

    @property
    def starts_pods(self) -> int:
        """Pods that start beside the existing ones, in all its targets."""
        return sum(target.starts_pods for target in self.targets)

    @property
    def switches(self) -> bool:
        """Whether training moves to the other backend."""
        return self.training is not None and self.training[0] != self.training[1]

    @property
    def risk(self) -> Risk:
        """The most serious consequence of its change."""
        stops = bool(self.drains) or any(one.code == STOPS_JOBS for one in self.new)
        if self.switches or (stops and not self.blocked):
            return "training"
        lost = any(one.kind in HOLDS_DATA and one.status == "deleted" for one in self.targets)
        if lost or (self.gpus is not None and self.gpus[1] < self.gpus[0]):
            return "loss"
        if self.blocked or self.status == "removed":
            return "error"
        if self.cost is not None and self.cost.delta.usd is not None and self.cost.delta.usd.high > 0:
            return "cost"
        return "none"

    @property
    def blocked(self) -> bool:
        """Whether the head could not be applied."""
        return self.unplanned or self.blocked_by_project or any(finding.blocks for finding in (*self.new, *self.still))


class Revision(NamedTuple):
    """One of the two commits of a preview."""

    name: str
    """The user's name for it, or ``working tree``."""
    commit: str
    """SHA-1 of the commit; for the working tree, of the commit under it; empty for a lock."""


class Preview(NamedTuple):
    """Everything that changes between two commits."""

    base: Revision
    head: Revision
    stacks: tuple[StackDiff, ...]
    """The stacks that change, by name."""
    unchanged: tuple[str, ...]
    """Names of the stacks that do not change."""
    project: News = News()
    """Findings about what all stacks share: patches with their lock, and policies. No stack's own list has them."""
    pages: Mapping[str, Explanation] = {}
    """The pages of the rules that judged the head, by code."""
    left_out: tuple[str, ...] = ()
    """Names of the stacks that a sparse checkout leaves out of the working tree: they are not compared."""
    offline: tuple[Offline, ...] = ()
    """The stacks whose clusters were to be read and were not."""
    unlisted: tuple[Unlisted, ...] = ()
    """What the credentials may not list in the clusters that were read."""

    @property
    def changes(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.stacks) or self.project.changes

    @property
    def blocked(self) -> bool:
        """Whether a changed stack could not be applied, or the project has a new error."""
        return any(stack.blocked for stack in self.stacks) or any(one.blocks for one in self.project.new)
