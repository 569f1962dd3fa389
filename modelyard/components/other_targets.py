"""Targets of the project's own patches."""

from typing import Unpack

import pulumi

from modelyard.components.arguments import Surroundings
from modelyard.components.part import Part
from modelyard.components.planning import ComponentSettings
from modelyard.plan import Plan
from modelyard.stack.config import ROLES


class OtherTargets(Part):
    """Targets of the project's own patches outside the platform's workloads; list the patches in ``patches``."""

    def __init__(
        self,
        name: str,
        *,
        plan: Plan | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **surroundings: Unpack[Surroundings],
    ) -> None:
        """Declares the targets of the patches that ``patches`` lists.

        Args:
            name: name of the component.
            plan: the plan of a stack that it is a part of; it then takes no other arguments.
            opts: options of the component; those of providers are not taken.
            surroundings: its platform and cluster.
        """
        super().__init__(name, plan, ComponentSettings({}, frozenset(ROLES)), surroundings, opts)
