"""Restores or deletes an object that the stack no longer asks for, in the plan's order: after its drain, before the
next target.

The engine deletes resources that the program no longer declares at the very end of a run, without a hook of the
program. So for one run, the program declares in place of such a resource another one that does the work when it is
created. The engine's deletion at the end then finds the work done. If the drain before it fails, the program fails, and
the engine deletes nothing.
"""

from typing import Any

import pulumi
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

from modelyard.engine.ledger import Record, ledger_props, on_cluster
from modelyard.plan import Plan, TargetPlan


class _LeavingProvider(ResourceProvider):
    serialize_as_secret_always = False

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """Reports a change in every run: the program declares the resource only if there is work to do."""
        return DiffResult(changes=True)

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Does the work."""
        self.work(props)
        return CreateResult("/".join(Record.from_text(props["record"]).key[1:]), {"record": props["record"]})

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Does the work."""
        self.work(_news)
        return UpdateResult({"record": _news["record"]})

    def work(self, props: dict[str, Any]) -> None:
        raise NotImplementedError


class RestoreProvider(_LeavingProvider):
    """Restores an object."""

    def work(self, props: dict[str, Any]) -> None:
        """Restores the object to what it was before the first apply."""
        from modelyard.engine.undoing import restore

        on_cluster(props, restore)


class RemovalProvider(_LeavingProvider):
    """Deletes an object."""

    def work(self, props: dict[str, Any]) -> None:
        """Deletes the object if it still exists."""
        from modelyard.engine.undoing import remove

        on_cluster(props, remove)


class Restore(Resource, module="modelyard", name="Restore"):
    """A target that this run restores."""

    def __init__(self, plan: Plan, target: TargetPlan, opts: pulumi.ResourceOptions) -> None:
        super().__init__(RestoreProvider(), target.note, ledger_props(plan, target), opts)


class Removal(Resource, module="modelyard", name="Removal"):
    """A target that this run deletes."""

    def __init__(self, plan: Plan, target: TargetPlan, opts: pulumi.ResourceOptions) -> None:
        super().__init__(RemovalProvider(), target.note, ledger_props(plan, target), opts)
