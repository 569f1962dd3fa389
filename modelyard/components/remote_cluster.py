"""A remote cluster of a stack: the objects that remote jobs need there, through a separate provider."""

from typing import Any, Unpack

import pulumi

from modelyard.components.arguments import RemoteClusterArgs
from modelyard.components.part import provider_of
from modelyard.components.planning import ComponentSettings, claim, plan_of_arguments
from modelyard.engine.home import Cluster
from modelyard.engine.program.hooks import Guard, Live
from modelyard.engine.program.resource import Applied, declare, declare_dropped
from modelyard.plan import Plan

_AROUND = {"home_context": "context", "project": "project", "kubernetes_version": "kubernetes_version"}
"""The arguments that are not about the remote cluster, and what they are among the surroundings."""
PATIENCE = 120
"""Seconds that one object may take; none of them has pods."""


class RemoteCluster(pulumi.ComponentResource):
    """What remote jobs need in one remote cluster: a namespace, a service account and, with ``quota``, a queue.

    The stack owns these objects as a whole, so a destroy deletes them. In the engine's state, this component separates
    them from the home cluster's: it has the cluster's name, and everything in that cluster is its direct child.
    """

    def __init__(
        self,
        name: str,
        *,
        plan: Plan | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[RemoteClusterArgs],
    ) -> None:
        """Declares what remote jobs need in one cluster.

        Args:
            name: name of the remote cluster, and of its queue.
            plan: the plan of the cluster, of a stack that it is a part of; it then takes no other arguments.
            opts: options of the component; those of providers are not taken.
            args: as in the section ``cluster`` of a stack file's remote resource, and the home cluster's context.

        Raises:
            pulumi.RunError: the arguments or the plan have errors, or a cluster is out of reach.
        """
        if plan is None:
            plan = _planned(name, args, opts)
        claim(f"RemoteCluster {name}", plan)
        opts = pulumi.ResourceOptions.merge(opts, provider_of(name, plan, opts))
        super().__init__("modelyard:index:RemoteCluster", name, None, opts)
        guard = Guard(Live(plan.context))
        home = Cluster(plan, pulumi.ResourceOptions(parent=self))
        first: list[pulumi.Resource] = [home]
        last: list[pulumi.Resource] = []
        for target in plan.targets:
            if target.dropped:
                # The objects in a namespace are removed before it.
                last.append(declare_dropped(plan, target, self, after=(home, *last), before=(), behind=()))
                continue
            resource = declare(target, self, first, patience=PATIENCE, before=(guard.before(target),))
            Applied(target, resource, self)
            if target.key.kind == "Namespace":
                first.append(resource)
        self.register_outputs({"cluster": plan.cluster, "namespace": plan.namespace})


def _planned(name: str, args: RemoteClusterArgs, opts: pulumi.ResourceOptions | None) -> Plan:
    """The plan of a remote cluster, from the arguments of its component."""
    own: dict[str, Any] = {key: value for key, value in args.items() if key not in _AROUND}
    around: Any = {_AROUND[key]: value for key, value in args.items() if key in _AROUND}
    resource = {"name": name, "type": "runtime", "remote": {"cluster": own}}
    settings = ComponentSettings({}, frozenset(), resources=(resource,))
    (made,) = plan_of_arguments("RemoteCluster", name, settings, around, opts).remotes
    return made
