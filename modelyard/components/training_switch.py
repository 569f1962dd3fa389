"""The route of new training requests."""

from typing import Unpack

import pulumi

from modelyard.components.arguments import BackendName, TrainingSwitchArgs, divided
from modelyard.components.part import Part
from modelyard.components.planning import ComponentSettings
from modelyard.plan import Plan


class TrainingSwitch(Part):
    """The route: the setting of the platform's API server that sends new training requests to Ray or Celery."""

    def __init__(
        self,
        name: str,
        *,
        training: BackendName = "ray",
        plan: Plan | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[TrainingSwitchArgs],
    ) -> None:
        """Declares the route.

        Args:
            name: name of the component.
            training: the backend that gets new training requests.
            plan: the plan of a stack that it is a part of; it then takes no other arguments.
            opts: options of the component; those of providers are not taken.
            args: Deployment and container of the API server, and ``Surroundings``.
        """
        own, around = divided(args)
        super().__init__(
            name, plan, ComponentSettings({"apiServer": own}, frozenset({"apiServer"}), training), around, opts
        )
