"""The last check before an object is changed: it must be the object that the plan started from, with the same owners.

An update sends its request with force, and force covers the whole request. Between the plan and the step of a target,
hours may pass in which another client takes a field, or an owner sets another value. So right before the step,
modelyard sends the same request without force, as a dry run, and reads the object. The step fails unless the conflicts
are exactly the plan's and the object is what the plan read.
"""

import pulumi

from modelyard.cluster import Refusal
from modelyard.engine.program.aside import aside
from modelyard.engine.program.live import Live
from modelyard.plan import FIELD_MANAGER, TargetPlan
from modelyard.plan.starting import moved_object, unapproved
from modelyard.plan.store import STALE


class Guard:
    """Checks the object before each step of one run."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def before(self, target: TargetPlan) -> pulumi.ResourceHook:
        """The hook for a target's resource. A preview runs no hooks."""

        async def check(_args: pulumi.ResourceHookArgs) -> None:
            # The program goes on meanwhile: other targets do not wait for this answer.
            await aside(self.check, target)

        return pulumi.ResourceHook(f"approved:{target.key.kind}/{target.resource}", check)

    def check(self, target: TargetPlan) -> None:
        """Checks the conflicts and the object once more.

        Raises:
            pulumi.RunError: the fields of other owners differ from the plan, the object is not what the plan was made
            from, or the cluster does not answer.
        """
        from modelyard.cluster.connection import ClusterError
        from modelyard.cluster.dryrun import claims_of

        try:
            claims = claims_of(self._live.client, target.applied.reveal(), FIELD_MANAGER)
            if isinstance(claims, Refusal):
                # What admission refuses here, it also refuses in the step, with its own message; that is no conflict.
                return
            live = self._live.look(target.key)
        except ClusterError as error:
            raise pulumi.RunError(f"{target.name} was not changed: {error.summary}; {error.remedy}") from error
        finding = unapproved(target, claims) or moved_object(target, live)
        if finding is not None:
            raise pulumi.RunError(f"{STALE}: {finding.summary} ({finding.code})")
