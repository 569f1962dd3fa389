"""The values that a plan is made of."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from modelyard.catalog.library import Phase
from modelyard.cluster import Claim
from modelyard.findings import Finding
from modelyard.kube.merge import Key, Owner, Path
from modelyard.kube.state import ObjectKey
from modelyard.probes import Drain

if TYPE_CHECKING:
    from modelyard.plan.cost.values import StackCost  # most verbs never look at it, and a cold start is short

FORMAT_VERSION = 2
"""Of the plan's JSON form; grows when a reader of the old form would misread the new."""

_HANDS_OVER = "OWN013"
"""Code of the finding that fields of a target still wait for their earlier owners."""
_LEFT = "REM014"
"""Code of the finding that a remote cluster has something of the stack, and is not of it any more."""

Action = Literal["create", "update", "none", "restore", "delete"]
"""The last two are for objects that the stack no longer asks for: they are put back, or deleted where it made them."""
Turn = Phase | Literal["drain"]


class FieldChange(NamedTuple):
    """One field that will be different."""

    path: Path
    before: Any
    """The value now, ``merge.ABSENT`` where there is none; hidden where it is a secret."""
    after: Any
    """The same after the change; ``hiding.CHANGED`` where both are secrets."""
    patch: str | None
    """``name@version`` that asks for it; None for what the plan itself writes."""
    owners: tuple[Owner, ...]
    """Who holds the field now."""
    taken: bool
    """Whether the change takes the field over from a present owner."""
    back: tuple[Owner, ...] | None = None
    """Who gets the field back, nobody where nobody held it before us; None where it is not given back."""

    @property
    def reorders(self) -> bool:
        """Whether only the order of a list changes, which no patch asks for by itself."""
        return isinstance(self.after, list) and any(isinstance(item, Key) for item in self.after)


class TargetPlan(NamedTuple):
    """What happens to one object."""

    key: ObjectKey
    action: Action
    phase: Phase
    patches: tuple[str, ...]
    """``name@version`` in merge order."""
    applied: dict[str, Any]
    """What is sent: the one request that carries all patches of the target, or what it goes back to; empty for a
    delete."""
    before: dict[str, Any] | None
    after: dict[str, Any]
    """Empty once it is deleted."""
    changes: tuple[FieldChange, ...]
    """None for a delete."""
    replaces_pods: int
    """Running pods that a new template replaces; 0 where the template stays."""
    replicas: tuple[int | None, int | None]
    """Before and after; None where there is no such field or an autoscaler holds it."""
    gpus: tuple[int, int]
    """GPUs that the target's pods hold before and after: replicas times GPUs of a pod."""
    managed: bool
    """Whether the stack owns the whole object, not just the patched fields."""
    role: str = ""
    """The workload it belongs to (``rayWorker`` …), empty for a target that belongs to no workload."""
    conflicts: tuple[Claim, ...] = ()
    """What is taken from others: the conflicts of the request without force. An apply finds exactly these or stops."""
    elsewhere: bool = False
    """Whether it is in another namespace than the stack's: one that the stack had before."""
    cluster: str = ""
    """Name of the remote cluster that it is in; empty: the platform's."""

    def __repr__(self) -> str:
        """Without the objects, which may hold secrets."""
        return f"TargetPlan({self.key}, {self.action})"

    @property
    def name(self) -> str:
        """The object's name, with its namespace where that is not the stack's: a target of today may have the same.

        Before it stands the name of the remote cluster that it is in.
        """
        return f"{self.cluster}/{self.name_there}" if self.cluster else self.name_there

    @property
    def name_there(self) -> str:
        """The same among the targets of its own cluster."""
        return f"{self.key.namespace}/{self.key.name}" if self.elsewhere else self.key.name

    @property
    def leaves(self) -> bool:
        """Whether the stack no longer asks for the object: none of its settings are the stack's."""
        return self.action in ("restore", "delete")


class Step(NamedTuple):
    """One target's turn. Each changed target has exactly one, so it rolls out at most once.

    A step ``drain`` stands before the first target that waits until its side is idle, under that target's name.
    """

    target: str
    phase: Turn
    why: str
    """Why now, and what it means for running jobs."""


class Plan(NamedTuple):
    """What will change in one environment, and everything there is to know about it."""

    stack: str
    file: str
    headline: str
    """The environment in a few words: training backend, GPU, release, mode."""
    training: str
    mode: str
    context: str | None
    namespace: str
    source: str
    """``live`` or ``recorded``: where the starting state comes from."""
    cluster: str
    """UID of the namespace kube-system of that cluster."""
    kubernetes: str
    targets: tuple[TargetPlan, ...]
    """In the order in which they are applied."""
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    inputs: Mapping[str, str]
    """SHA-256 of each input by name: the stack file, every patch version in use, and the tool's version."""
    cost: "StackCost | None" = None
    """What it costs; None where nobody asked. ``modelyard.plan.cost.project.priced`` puts it there."""
    drains: tuple[Drain, ...] = ()
    """What waits until a training backend is idle."""
    remotes: "tuple[Plan, ...]" = ()
    """The same for each remote cluster of the stack; their findings are among those above."""
    remote: str = ""
    """Name of the remote cluster that it is about; empty: the platform's."""

    @property
    def blocked(self) -> bool:
        """Whether a finding stops the apply."""
        return any(finding.blocks for finding in self.findings)

    @property
    def changed(self) -> tuple[TargetPlan, ...]:
        """The targets that will be different, in order."""
        return tuple(target for target in self.everything if target.action != "none")

    @property
    def sides(self) -> "tuple[Plan, ...]":
        """The plan of each of its clusters, the platform's first."""
        return (self, *self.remotes)

    @property
    def everything(self) -> tuple[TargetPlan, ...]:
        """The targets of all its clusters, the platform's first."""
        return tuple(target for side in self.sides for target in side.targets)

    @property
    def pending(self) -> frozenset[str]:
        """Names of the targets for which an apply has something to do: what will be different, or change hands."""
        waiting = {finding.target for finding in self.findings if finding.code == _HANDS_OVER}
        return frozenset({target.name for target in self.changed} | waiting)

    @property
    def left(self) -> int:
        """How many remote clusters the stack has left: an apply deletes there what no plan shows any more."""
        return sum(finding.code == _LEFT for finding in self.findings)

    @property
    def acts(self) -> bool:
        """Whether an apply has anything to do, in any cluster."""
        return bool(self.pending or self.left)

    @property
    def asked(self) -> tuple[TargetPlan, ...]:
        """The targets that the stack asks for, in order."""
        return tuple(target for target in self.targets if not target.leaves)
