"""CPU inference."""

from typing import Unpack

import pulumi

from modelyard.components.arguments import ModelServiceArgs, divided
from modelyard.components.part import Part
from modelyard.components.planning import ComponentSettings
from modelyard.plan import Plan


class ModelService(Part):
    """CPU inference: size, replicas and the local volume of the model service."""

    def __init__(
        self,
        name: str,
        *,
        plan: Plan | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[ModelServiceArgs],
    ) -> None:
        """Declares the model service.

        Args:
            name: name of the component.
            plan: the plan of a stack that it is a part of; it then takes no other arguments.
            opts: options of the component; those of providers are not taken.
            args: as in the section ``modelService`` of a stack file, and ``Surroundings``.
        """
        own, around = divided(args)
        super().__init__(
            name, plan, ComponentSettings({"modelService": own}, frozenset({"modelService"})), around, opts
        )
