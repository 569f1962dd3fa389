"""One Pulumi resource for one target of a plan."""

from collections.abc import Sequence
from importlib.metadata import version

import pulumi

from modelyard.engine.program.rollouts import rolled_out
from modelyard.plan import TargetPlan
from modelyard.plan.drift import FORMAT_VERSION, kept
from modelyard.plan.store import canonical

PROVIDER = version("pulumi-kubernetes")
"""Version of the engine's plugin for Kubernetes."""


def declare(
    target: TargetPlan,
    parent: pulumi.Resource,
    after: Sequence[pulumi.Resource],
    patience: int,
    before: Sequence[pulumi.ResourceHook] = (),
    behind: Sequence[pulumi.ResourceHook] = (),
) -> pulumi.CustomResource:
    """The resource that makes a target what the plan says: a patch of what is there, or the whole object.

    Args:
        target: what to declare; what it asks for is sent as it is.
        parent: the component that the resource belongs to.
        after: resources that must be done first.
        patience: seconds that its rollout may take.
        before: what has to be done, in this order, right before it is created or updated.
        behind: the same for right after.
    """
    # The provider compares lists by position, so a patch of any item but the first would look changed for ever.
    # Whether something changes is the plan's to say; it compared the request with the live object, by merge keys.
    # An object that is not ready is sent again by the engine all the same, and for what is ignored the provider would
    # then send the live object's fields, everybody's and not just ours. So that one is declared as it is.
    unchanged = target.action == "none" and rolled_out(target.before)
    body = {name: value for name, value in target.applied.items() if name not in ("apiVersion", "kind")}
    # The library's classes for kinds would say the same, after half a second of import and as much of comparing types.
    return pulumi.CustomResource(
        _token(target),
        target.name,
        {"apiVersion": target.key.api_version, "kind": target.key.kind, **body},
        pulumi.ResourceOptions(
            version=PROVIDER,
            parent=parent,
            depends_on=list(after),
            ignore_changes=sorted(body) if unchanged else None,
            custom_timeouts=pulumi.CustomTimeouts(create=f"{patience}s", update=f"{patience}s"),
            # A deleted patch is only dropped from the state: its ledger puts the fields back.
            retain_on_delete=not target.managed,
            hooks=around(before, behind),
        ),
    )


def _token(target: TargetPlan) -> str:
    """The type of a resource of the Kubernetes provider, such as ``kubernetes:core/v1:ServicePatch``."""
    api_version, kind = target.key.api_version, target.key.kind
    group = api_version if "/" in api_version else f"core/{api_version}"
    return f"kubernetes:{group}:{kind if target.managed else f'{kind}Patch'}"


def around(before: Sequence[pulumi.ResourceHook], behind: Sequence[pulumi.ResourceHook]) -> pulumi.ResourceHookBinding:
    """Hooks around a step, be it the first of its resource or a later one."""
    return pulumi.ResourceHookBinding(
        before_create=[*before], before_update=[*before], after_create=[*behind], after_update=[*behind]
    )


# What was applied to a target, kept in the engine's state.
class Applied(pulumi.ComponentResource):
    """The fields that an apply made ours, noted when it has come to its end.

    The engine's own note, the patch's inputs, is overwritten with what is live by every refresh, also by that of a run
    that goes no further; a component is not refreshed. It is text, because numbers and nulls of a component's outputs
    do not come back as they were.
    """

    def __init__(self, target: TargetPlan, resource: pulumi.CustomResource, parent: pulumi.Resource) -> None:
        name = f"{target.key.kind.lower()}/{target.name}"
        super().__init__("modelyard:index:Applied", name, None, pulumi.ResourceOptions(parent=parent))
        request = canonical(kept(target))
        # The id is known when the API server has taken the request and the rollout is through.
        done = resource.id.apply(lambda _id: request)
        mode = "managed" if target.managed else "existing"
        self.register_outputs({"formatVersion": FORMAT_VERSION, "request": done, "role": target.role, "mode": mode})
