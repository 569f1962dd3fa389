"""One Pulumi resource for one target of a plan."""

from collections.abc import Sequence
from importlib.metadata import version

import pulumi

from modelyard.engine.leaving import Removal, Restore
from modelyard.engine.ledger import Handover, Ledger
from modelyard.kube.rollouts import rolled_out
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.drift import FORMAT_VERSION, kept
from modelyard.plan.store import canonical

PROVIDER = version("pulumi-kubernetes")
"""Version of the engine's plugin for Kubernetes."""


def declare(
    target: TargetPlan,
    parent: pulumi.Resource,
    after: Sequence[pulumi.Resource],
    *,
    patience: int,
    before: Sequence[pulumi.ResourceHook] = (),
    behind: Sequence[pulumi.ResourceHook] = (),
    earlier: pulumi.Input[str] | None = None,
) -> pulumi.CustomResource:
    """Declares the resource that changes a target as planned: a patch of an existing object, or the whole object.

    Args:
        target: what to declare; its request is sent unchanged.
        parent: the component that the resource belongs to.
        after: resources that must be complete first.
        patience: seconds that its rollout may take.
        before: hooks to run, in this order, right before it is created or updated.
        behind: hooks to run, in this order, right after it is created or updated.
        earlier: URN of the component that it belonged to in earlier versions.
    """
    # The provider compares lists by position, so a patch of any item but the first would look changed for ever.
    # The plan decides whether something changes; it compared the request with the live object, by merge keys.
    # But the engine sends an object that is not ready again, and for ignored fields the provider would then send
    # the live object's fields of all owners, not just ours. So such an object is declared as it is.
    unchanged = target.action == "none" and rolled_out(target.before.reveal())
    body = {name: value for name, value in target.applied.reveal().items() if name not in ("apiVersion", "kind")}
    # The library's classes for kinds would do the same, after half a second of import and as much of comparing types.
    return pulumi.CustomResource(
        _token(target),
        target.resource,
        {"apiVersion": target.key.api_version, "kind": target.key.kind, **body},
        pulumi.ResourceOptions(
            version=PROVIDER,
            parent=parent,
            depends_on=list(after),
            ignore_changes=sorted(body) if unchanged else None,
            custom_timeouts=pulumi.CustomTimeouts(create=f"{patience}s", update=f"{patience}s"),
            # A deleted patch is only dropped from the state: its ledger restores the fields.
            retain_on_delete=not target.managed,
            hooks=around(before, behind),
            aliases=_aliases(earlier),
        ),
    )


def _token(target: TargetPlan) -> str:
    """The type of a resource of the Kubernetes provider, such as ``kubernetes:core/v1:ServicePatch``."""
    api_version, kind = target.key.api_version, target.key.kind
    group = api_version if "/" in api_version else f"core/{api_version}"
    return f"kubernetes:{group}:{kind if target.managed else f'{kind}Patch'}"


def _aliases(earlier: pulumi.Input[str] | None) -> list[pulumi.Input[str | pulumi.Alias]] | None:
    return None if earlier is None else [pulumi.Alias(parent=earlier)]


def around(before: Sequence[pulumi.ResourceHook], behind: Sequence[pulumi.ResourceHook]) -> pulumi.ResourceHookBinding:
    """Hooks around a step, whether the step creates or updates its resource."""
    return pulumi.ResourceHookBinding(
        before_create=[*before], before_update=[*before], after_create=[*behind], after_update=[*behind]
    )


# What was applied to a target, kept in the engine's state.
class Applied(pulumi.ComponentResource):
    """The fields that an apply took ownership of, recorded when the apply has finished.

    The engine's own record, the inputs of the patch, is not enough: every refresh overwrites it with the live state,
    even in a run that does nothing else. A component is not refreshed. The record is text, because numbers and nulls in
    a component's outputs do not come back unchanged.
    """

    def __init__(
        self,
        target: TargetPlan,
        resource: pulumi.CustomResource,
        parent: pulumi.Resource,
        earlier: pulumi.Input[str] | None = None,
    ) -> None:
        opts = pulumi.ResourceOptions(parent=parent, aliases=_aliases(earlier))
        super().__init__("modelyard:index:Applied", target.note, None, opts)
        request = canonical(kept(target))
        # The id is known when the API server has accepted the request and the rollout is done.
        done = resource.id.apply(lambda _id: request)
        mode = "managed" if target.managed else "existing"
        self.register_outputs({"formatVersion": FORMAT_VERSION, "request": done, "role": target.role, "mode": mode})


# The resources that undo a patched target: a ledger before the target, and a handover after it.
def noted(plan: Plan, target: TargetPlan, parent: pulumi.Resource) -> tuple[pulumi.Resource, ...]:
    """The ledger that a target's patch depends on; none for an object that the stack owns and deletes as a whole.

    A destroy first deletes the patch, which only drops it from the state, and then the ledger, which restores the
    object.
    """
    return () if target.managed else (Ledger(plan, target, pulumi.ResourceOptions(parent=parent)),)


def last_resource(plan: Plan, target: TargetPlan, patch: pulumi.Resource, parent: pulumi.Resource) -> pulumi.Resource:
    """The last resource of a target, for which the next target waits."""
    if target.managed:
        return patch
    return Handover(plan, target, pulumi.ResourceOptions(parent=parent, depends_on=[patch]))


def declare_dropped(
    plan: Plan,
    target: TargetPlan,
    parent: pulumi.Resource,
    *,
    after: Sequence[pulumi.Resource],
    before: Sequence[pulumi.ResourceHook],
    behind: Sequence[pulumi.ResourceHook],
) -> pulumi.Resource:
    """The resource that restores or deletes a target that the stack no longer asks for, once ``after`` is done, between
    the hooks of ``before`` and ``behind``.
    """
    opts = pulumi.ResourceOptions(parent=parent, depends_on=list(after), hooks=around(before, behind))
    return (Restore if target.action == "restore" else Removal)(plan, target, opts)
