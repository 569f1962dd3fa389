"""The ledger in the engine's state: two resources a patched target, which undo it without any program.

``Ledger`` comes before the patch and does nothing until it is deleted; then it puts the object back. The patch itself
is only dropped from the state. ``Handover`` comes after the patch and gives the fields that it returned to their
earlier owners.

Their code runs in the engine's provider for Python resources, which finds it by import: the state names these classes
and holds none of their code. So a later modelyard undoes what an earlier one did.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import pulumi
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

from modelyard.engine.progress import LEFT
from modelyard.files import parse_json
from modelyard.kube.merge import Owner, Path, fieldset
from modelyard.kube.state import ObjectKey
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.undo.ledger import filled, ledger_of, ledger_text, ours, read_or_none, write_ledger

FORMAT_VERSION = 1


class LedgerFailure(Exception):
    """An object could not be put back: why, and what to do."""


class Record(NamedTuple):
    """One target in the engine's state."""

    key: ObjectKey
    context: str | None
    cluster: str
    """Identity of the cluster that the object is in."""
    ledger: str

    def to_text(self) -> str:
        """As the state keeps it: text, because the engine makes numbers and nulls into others."""
        return json.dumps({"formatVersion": FORMAT_VERSION, **self._asdict()}, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> "Record":
        """Reads the state's form.

        Raises:
            LedgerFailure: it is of a newer modelyard.
        """
        value = parse_json(text)
        if value.pop("formatVersion", None) != FORMAT_VERSION:
            raise LedgerFailure("the state was written by another modelyard; run the newer one")
        return cls(**{**value, "key": ObjectKey(*value["key"])})


class LedgerProvider(ResourceProvider):
    """Keeps a record, and puts its object back when the record is deleted."""

    serialize_as_secret_always = False

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """A record of another object, or of another cluster, is another resource."""
        old, new = _records(_olds, _news)
        return DiffResult(changes=old != _remembering(new, old), replaces=_replaces(old, new))

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Nothing happens yet."""
        return CreateResult(_id(props), {"record": props["record"]})

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Nothing happens yet; what the state knows and the new record has lost stays known."""
        old, new = _records(_olds, _news)
        return UpdateResult({"record": _remembering(new, old).to_text()})

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Puts the object back to what it was before the first apply."""
        from modelyard.engine.undoing import restore

        on_cluster(_props, restore)


class HandoverProvider(ResourceProvider):
    """Gives the fields that a record has returning to their earlier owners.

    It has something to do where fields wait on the live object, and ``due`` says which version of the object that was.
    What the state holds is no measure: a run that ended between the patch and this resource changed the object and not
    the state, and the same record may come back.
    """

    serialize_as_secret_always = False

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """Whether fields wait that were not handed over yet. That nothing waits any more is no difference."""
        replaces = _replaces(*_records(_olds, _news))
        waits = _news["due"] not in ("", _olds.get("due", ""))
        return DiffResult(changes=waits or bool(replaces), replaces=replaces)

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Hands over."""
        _hand_over(props)
        return CreateResult(_id(props), {"record": props["record"], "due": props["due"]})

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Hands over."""
        _hand_over(_news)
        return UpdateResult({"record": _news["record"], "due": _news["due"]})


class Ledger(Resource, module="modelyard", name="Ledger"):
    """What a target held before; deleting it puts the target back."""

    def __init__(self, plan: Plan, target: TargetPlan, opts: pulumi.ResourceOptions) -> None:
        super().__init__(LedgerProvider(), _name(target), ledger_props(plan, target), opts)


class Handover(Resource, module="modelyard", name="Handover"):
    """Fields of a target that go to their earlier owners, once their values are back."""

    def __init__(self, plan: Plan, target: TargetPlan, opts: pulumi.ResourceOptions) -> None:
        super().__init__(HandoverProvider(), _name(target), handover_props(plan, target), opts)


def ledger_props(plan: Plan, target: TargetPlan) -> dict[str, str]:
    """What the state keeps of a target."""
    return {"record": _record(plan, target).to_text()}


def handover_props(plan: Plan, target: TargetPlan) -> dict[str, str]:
    """What is to be handed over once a target's request is through, and the version of the object that it waits on.

    What waits then is ours now already: the request only sets its values back.
    """
    record, before = _record(plan, target), target.before
    if before is None or not fieldset.intersection(ledger_of(target.applied).returning, ours(before)):
        return {"record": record._replace(ledger="").to_text(), "due": ""}
    return {"record": record.to_text(), "due": before["metadata"]["resourceVersion"]}


def _name(target: TargetPlan) -> str:
    return f"{target.key.kind.lower()}/{target.name}"


def _record(plan: Plan, target: TargetPlan) -> Record:
    return Record(target.key, plan.context, plan.cluster, ledger_text(target.applied))


def _id(props: Mapping[str, Any]) -> str:
    return "/".join(Record.from_text(props["record"]).key[1:])


def _records(olds: Mapping[str, Any], news: Mapping[str, Any]) -> tuple[Record, Record]:
    return Record.from_text(olds["record"]), Record.from_text(news["record"])


def _remembering(new: Record, old: Record) -> Record:
    """The new record with what the old one knows and it does not."""
    ledger, older = read_or_none(new.ledger), read_or_none(old.ledger)
    if ledger is None or older is None:
        return new
    return new._replace(ledger=write_ledger(filled(ledger, older)))


def _replaces(old: Record, new: Record) -> list[str]:
    return ["record"] if (old.key, old.cluster) != (new.key, new.cluster) else []


def _hand_over(props: Mapping[str, Any]) -> None:
    from modelyard.engine.undoing import hand_over

    if props["due"]:
        on_cluster(props, hand_over)


def on_cluster(props: Mapping[str, Any], work: Any) -> None:
    """Does the work on the record's object, in the cluster that it was recorded in and no other."""
    from modelyard.cluster.connection import ClusterError, connect
    from modelyard.cluster.live import identity

    record = Record.from_text(props["record"])
    try:
        client = connect(record.context)
        found = identity(client)
        if found != record.cluster:
            raise LedgerFailure(
                f"{record.key.name} is in cluster {record.cluster}, and {_context(record)} "
                f"leads to {found}; check kubernetes:context and KUBECONFIG"
            )
        done = work(client, record.key, record.ledger)
    except ClusterError as error:
        raise LedgerFailure(f"{error.summary}; {error.remedy}") from error
    if done.left:
        sys.stdout.write(f"{record.key.kind} {record.key.name}: {left_text(done.left)}\n")
        sys.stdout.flush()


def _context(record: Record) -> str:
    return "the kubeconfig's context" if record.context is None else f"context {record.context}"


def left_text(left: Mapping[Path, tuple[Owner, ...]]) -> str:
    """Fields that were left alone, in words."""
    who = {path: " and ".join(owner.manager for owner in owners) or "nobody" for path, owners in left.items()}
    return f"{LEFT}{', '.join(f'{path} ({names})' for path, names in who.items())}"
