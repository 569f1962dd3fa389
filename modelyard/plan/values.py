"""The values in a plan."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from modelyard.catalog.library import Phase
from modelyard.cluster import Claim
from modelyard.findings import Finding
from modelyard.hiding import Confidential
from modelyard.kube.merge import Key, Owner, Path
from modelyard.kube.scheduling.pods import ONE_TEMPLATE, grace_of, pod_places, pod_spec
from modelyard.kube.state import ObjectKey
from modelyard.probes import BackendDrain

if TYPE_CHECKING:
    from modelyard.plan.cost.values import StackCost  # most verbs never use it, and a cold start must be short

FORMAT_VERSION = 2
"""The version of the plan's JSON form; increased when a reader of the old form would misread the new one."""

Action = Literal["create", "update", "none", "restore", "delete"]
"""The last two are for objects that the stack no longer asks for: restored, or deleted if the stack created them."""
Turn = Phase | Literal["drain"]


class FieldChange(NamedTuple):
    """One field that will be different."""

    path: Path
    before: Any
    """The current value, ``merge.ABSENT`` if there is none; hidden if it is a secret."""
    after: Any
    """The value after the change; ``hiding.CHANGED`` if both are secrets."""
    patch: str | None
    """The ``name@version`` of the patch that sets the value; None for what the plan itself writes."""
    owners: tuple[Owner, ...] = ()
    """The current owners of the field."""
    taken: bool = False
    """Whether the change takes the field from a current owner."""
    back: tuple[Owner, ...] | None = None
    """The owners to which the field is restored; empty if it had none before modelyard; None if it is not restored."""

    @property
    def reorders(self) -> bool:
        """Whether only the order of a list changes, which no patch asks for by itself."""
        return isinstance(self.after, list) and any(isinstance(item, Key) for item in self.after)


def names_its_item(path: Path, value: Any) -> bool:
    """Whether this field identifies a list item, so that its path already shows it."""
    if len(path) < 2:
        return False
    item, field = path[-2:]
    return isinstance(item, Key) and (field, value) in item.fields


def local_name(key: ObjectKey, *, in_earlier_namespace: bool) -> str:
    """The name of an object among the targets of its own cluster.

    Includes an earlier namespace of the stack, because a current target may have the same name.
    """
    return f"{key.namespace}/{key.name}" if in_earlier_namespace else key.name


class TargetPlan(NamedTuple):
    """What happens to one object."""

    key: ObjectKey
    action: Action
    phase: Phase
    patches: tuple[str, ...]
    """``name@version`` in merge order."""
    applied: Confidential[dict[str, Any]]
    """What is sent: the one request with all patches of the target, or the restored values; empty for a delete."""
    before: Confidential[dict[str, Any] | None]
    after: Confidential[dict[str, Any]]
    """The predicted object; empty after a delete."""
    changes: tuple[FieldChange, ...]
    """The changed fields; None for a delete."""
    replaces_pods: int
    """Running pods that a new template replaces; 0 if the template stays."""
    replicas: tuple[int | None, int | None]
    """The replicas before and after; None if the field does not exist or an autoscaler owns it. Of a Ray cluster, those
    of the workload's group."""
    gpus: tuple[int, int]
    """GPUs that all of the target's pods hold before and after: replicas times GPUs of a pod."""
    managed: bool
    """Whether the stack owns the whole object, not just the patched fields."""
    role: str = ""
    """The workload of the target (``rayWorker`` …); empty if the target belongs to none."""
    conflicts: tuple[Claim, ...] = ()
    """The conflicts of the request without force: the fields that it takes from others. An apply finds exactly these,
    or stops."""
    in_earlier_namespace: bool = False
    """Whether the object is in an earlier namespace of the stack, not in the current one."""
    cluster: str = ""
    """Name of its remote cluster; empty for the home cluster."""
    hands_over: bool = False
    """Whether fields have their earlier values and still wait for their earlier owners: an apply hands them over."""
    place: Path = ONE_TEMPLATE
    """Where the object has the pods of its workload; of a Ray cluster with head and workers, the workers."""
    component: str = ""
    """Name of the component that plans the target by itself; empty for a target of a stack. Not in the plan's JSON
    form."""

    @property
    def name(self) -> str:
        """The object's name, with its namespace if that is not the stack's: a current target may have the same name.

        The name of its remote cluster comes first.
        """
        return f"{self.cluster}/{self.local_name}" if self.cluster else self.local_name

    @property
    def local_name(self) -> str:
        """The object's name among the targets of its own cluster."""
        return local_name(self.key, in_earlier_namespace=self.in_earlier_namespace)

    @property
    def upgrades(self) -> bool:
        """Whether KubeRay starts a second RayCluster beside the one of a RayService, and then stops the old one."""
        return self.key.kind == "RayService" and self.replaces_pods > 0

    @property
    def containers(self) -> int:
        """The most containers in a pod template after the change; 0 for an object without one."""
        body = self.after.reveal()
        return max((len(pod_spec(body, one).get("containers") or ()) for one in pod_places(body)), default=0)

    @property
    def grace_period(self) -> int:
        """Seconds that the target's current pods get to finish a job."""
        return grace_of(self.before.reveal(), self.place)

    @property
    def resource(self) -> str:
        """Name of the target's Pulumi resource; begins with the component's name, if it has one."""
        return f"{self.component}/{self.name}" if self.component else self.name

    @property
    def note(self) -> str:
        """Name of the Pulumi resources that accompany the target's; includes the kind, to be unique among kinds."""
        kind = f"{self.key.kind.lower()}/{self.name}"
        return f"{self.component}/{kind}" if self.component else kind

    @property
    def dropped(self) -> bool:
        """Whether the object is restored or deleted, so that none of its settings come from the stack."""
        return self.action in ("restore", "delete")


class Step(NamedTuple):
    """One target's step. Each changed target has exactly one, so it rolls out at most once.

    A step ``drain`` comes before the first target that waits for its idle training backend, under that target's name.
    """

    target: str
    phase: Turn
    why: str
    """Why the step comes now, and what it means for running jobs."""


class Plan(NamedTuple):
    """What will change in one stack, and everything known about it."""

    stack: str
    file: str
    headline: str
    """The stack in a few words: training backend, GPU, release, mode."""
    training: str
    mode: str
    context: str | None
    namespace: str
    source: str
    """``live`` or ``recorded``: the source of the starting state."""
    cluster: str
    """UID of the namespace kube-system of that cluster."""
    kubernetes: str
    targets: tuple[TargetPlan, ...]
    """The targets in the order in which they are applied."""
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    inputs: Mapping[str, str]
    """SHA-256 of each input by name: the stack file, every patch version in use, and the tool's version."""
    cost: "StackCost | None" = None
    """What the plan costs; None if it was not priced. ``modelyard.plan.cost.project.priced`` sets it."""
    drains: tuple[BackendDrain, ...] = ()
    """The changes that wait until a training backend is idle."""
    remotes: "tuple[Plan, ...]" = ()
    """The plan of each remote cluster of the stack; ``findings`` includes those of these plans."""
    remote: str = ""
    """Name of its remote cluster; empty for the home cluster."""
    dropped_remotes: tuple[str, ...] = ()
    """Names of remote clusters that the stack dropped: an apply deletes objects there that are in no plan."""

    @property
    def blocked(self) -> bool:
        """Whether a finding stops the apply."""
        return any(finding.blocks for finding in self.findings)

    @property
    def changed(self) -> tuple[TargetPlan, ...]:
        """The targets that will be different, in order."""
        return tuple(target for target in self.everything if target.action != "none")

    @property
    def clusters(self) -> "tuple[Plan, ...]":
        """The plan of each of its clusters, the home cluster's first."""
        return (self, *self.remotes)

    @property
    def everything(self) -> tuple[TargetPlan, ...]:
        """The targets of all its clusters, the home cluster's first."""
        return tuple(target for one in self.clusters for target in one.targets)

    @property
    def pending(self) -> frozenset[str]:
        """Names of the targets that an apply acts on: those that will be different, or whose owners change."""
        return frozenset(one.name for one in self.everything if one.action != "none" or one.hands_over)

    @property
    def acts(self) -> bool:
        """Whether an apply has anything to do, in any cluster."""
        return bool(self.pending or self.dropped_remotes)

    @property
    def asked(self) -> tuple[TargetPlan, ...]:
        """The targets that the stack asks for, in order."""
        return tuple(target for target in self.targets if not target.dropped)
