"""A second cluster of a stack: what remote jobs need there, through a provider of its own."""

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

    They are the stack's own as wholes, so a destroy deletes them. The engine's state tells them from the platform's by
    this component, whose name is the cluster's: everything of that cluster is its direct child.
    """

    def __init__(self, plan: Plan, opts: pulumi.ResourceOptions) -> None:
        # The kubeconfig is that of whoever runs the engine: no credential comes into its state.
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
                # What is in a namespace goes before it.
                last.append(let_go(plan, target, self, (home, *last), (), ()))
                continue
            resource = declare(target, self, first, PATIENCE, (guard.before(target),))
            Applied(target, resource, self)
            if target.key.kind == "Namespace":
                first.append(resource)
        self.register_outputs({"cluster": plan.cluster, "namespace": plan.namespace})
