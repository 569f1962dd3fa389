"""A remote cluster of a stack: the objects that remote jobs need there, through a separate provider."""

import pulumi

from modelyard.engine.home import Cluster
from modelyard.engine.program.approved import Guard
from modelyard.engine.program.live import Live
from modelyard.engine.program.resource import PROVIDER, Applied, declare
from modelyard.engine.program.undoing import let_go
from modelyard.plan import Plan

PATIENCE = 120
"""Seconds that one object may take; none of them has pods."""


class RemoteCluster(pulumi.ComponentResource):
    """The objects of one remote cluster, its namespace before the others.

    The stack owns these objects as a whole, so a destroy deletes them. In the engine's state, this component separates
    them from the home cluster's: it has the cluster's name, and everything in that cluster is its direct child.
    """

    def __init__(self, plan: Plan, opts: pulumi.ResourceOptions) -> None:
        # The kubeconfig belongs to the user who runs the engine: no credential enters its state.
        provider = pulumi.ProviderResource(
            "kubernetes",
            plan.remote,
            {"context": plan.context},
            pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(version=PROVIDER)),
        )
        super().__init__(
            "modelyard:index:RemoteCluster",
            plan.remote,
            None,
            pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(providers=[provider])),
        )
        guard = Guard(Live(plan.context))
        home = Cluster(plan, pulumi.ResourceOptions(parent=self))
        first: list[pulumi.Resource] = [home]
        last: list[pulumi.Resource] = []
        for target in plan.targets:
            if target.leaves:
                # The objects in a namespace are removed before it.
                last.append(let_go(plan, target, self, (home, *last), (), ()))
                continue
            resource = declare(target, self, first, PATIENCE, (guard.before(target),))
            Applied(target, resource, self)
            if target.key.kind == "Namespace":
                first.append(resource)
        self.register_outputs({"cluster": plan.cluster, "namespace": plan.namespace})
