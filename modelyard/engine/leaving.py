"""Letting go of an object that the stack no longer asks for, in its turn: after its wait, before what takes its place.

What the program no longer declares the engine deletes at the very end of a run, without a hook of the program. So the
program declares in its place, for the one run in which it goes, a resource that does the work when it is created. What
the engine deletes at the end finds it done. Where the wait before it fails, the program fails, and the engine deletes
nothing.
"""

from typing import Any

import pulumi
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

from modelyard.engine.ledger import Record, on_cluster
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.undo.ledger import ledger_text


class _LeavingProvider(ResourceProvider):
    serialize_as_secret_always = False

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """It is declared only where there is work to do, be it once more."""
        return DiffResult(changes=True)

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Lets go."""
        self.let_go(props)
        return CreateResult("/".join(Record.from_text(props["record"]).key[1:]), {"record": props["record"]})

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Lets go."""
        self.let_go(_news)
        return UpdateResult({"record": _news["record"]})

    def let_go(self, props: dict[str, Any]) -> None:
        raise NotImplementedError


class RestoreProvider(_LeavingProvider):
    """Puts an object back."""

    def let_go(self, props: dict[str, Any]) -> None:
        """To what it was before the first apply."""
        from modelyard.engine.undoing import restore

        on_cluster(props, restore)


class RemovalProvider(_LeavingProvider):
    """Deletes an object."""

    def let_go(self, props: dict[str, Any]) -> None:
        """If it is still there."""
        from modelyard.engine.undoing import remove

        on_cluster(props, remove)


class Restore(Resource, module="modelyard", name="Restore"):
    """A target that is put back in this run."""

    def __init__(self, plan: Plan, target: TargetPlan, opts: pulumi.ResourceOptions) -> None:
        super().__init__(RestoreProvider(), _name(target), _props(plan, target), opts)


class Removal(Resource, module="modelyard", name="Removal"):
    """A target that is deleted in this run."""

    def __init__(self, plan: Plan, target: TargetPlan, opts: pulumi.ResourceOptions) -> None:
        super().__init__(RemovalProvider(), _name(target), _props(plan, target), opts)


def _name(target: TargetPlan) -> str:
    return f"{target.key.kind.lower()}/{target.name}"


def _props(plan: Plan, target: TargetPlan) -> dict[str, str]:
    return {"record": Record(target.key, plan.context, plan.cluster, ledger_text(target.applied)).to_text()}
