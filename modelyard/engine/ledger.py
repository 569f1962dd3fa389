"""The ledger in the engine's state: two resources per patched target, which undo the patch without any program.

``Ledger`` comes before the patch. It does nothing until it is deleted, and then restores the object. The patch itself
is only dropped from the state. ``Handover`` comes after the patch and hands the fields that the patch restored to their
earlier owners.

The code of both runs in the engine's provider for Python resources, which imports it: the state contains the names of
these classes, not their code. So a later version of modelyard can undo what an earlier one did.
"""

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pulumi
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

from modelyard.files import parse_json
from modelyard.kube.merge import Owner, Path, fieldset
from modelyard.kube.state import ObjectKey
from modelyard.plan.undo.ledger import filled, known_ledger, ledger_of, ledger_text, read_or_none, write_ledger
from modelyard.plan.undo.lists import owned_fields, present

if TYPE_CHECKING:
    from modelyard.plan import Plan, TargetPlan

FORMAT_VERSION = 1
LEFT: Final = "left as others set them since: "
"""The words of an undo's message, after the object, that begin the part about fields that the undo does not change."""


class LedgerFailure(Exception):
    """An object that could not be restored: why, and what to do."""


class Record(NamedTuple):
    """One target in the engine's state."""

    key: ObjectKey
    context: str | None
    cluster: str
    """Identity of the object's cluster."""
    ledger: str

    def to_text(self) -> str:
        """The record as the state keeps it: text, because the engine changes numbers and nulls."""
        return json.dumps({"formatVersion": FORMAT_VERSION, **self._asdict()}, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> "Record":
        """Parses the state's form.

        Raises:
            LedgerFailure: a newer modelyard wrote it.
        """
        value = parse_json(text)
        if value.pop("formatVersion", None) != FORMAT_VERSION:
            raise LedgerFailure("another modelyard version wrote the state; use the version that applied the stack")
        return cls(**{**value, "key": ObjectKey(*value["key"])})


class LedgerProvider(ResourceProvider):
    """Keeps a record, and restores its object when the record is deleted."""

    serialize_as_secret_always = False

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """Replaces the resource if the record is about another object or cluster."""
        old, new = _records(_olds, _news)
        return DiffResult(changes=old != _remembering(new, old), replaces=_replaces(old, new))

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Keeps the record; changes no object."""
        return CreateResult(_id(props), {"record": props["record"]})

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Keeps the new record, with entries that only the old record has; changes no object."""
        old, new = _records(_olds, _news)
        return UpdateResult({"record": _remembering(new, old).to_text()})

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Restores the object to what it was before the first apply."""
        from modelyard.engine.undoing import restore

        on_cluster(_props, restore)


class HandoverProvider(ResourceProvider):
    """Hands the returning fields of a record to their earlier owners.

    There is work to do if fields of the live object wait for their owners; ``due`` is the object's version when they
    did. The state alone does not decide: a run that ended between the patch and this resource changed the object but
    not the state, and the same record may come back.
    """

    serialize_as_secret_always = False

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        """Reports a change if fields wait to be handed over; that fields no longer wait is no change."""
        replaces = _replaces(*_records(_olds, _news))
        waits = _news["due"] not in ("", _olds.get("due", ""))
        return DiffResult(changes=waits or bool(replaces), replaces=replaces)

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Hands the fields over."""
        _hand_over(props)
        return CreateResult(_id(props), {"record": props["record"], "due": props["due"]})

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        """Hands the fields over."""
        _hand_over(_news)
        return UpdateResult({"record": _news["record"], "due": _news["due"]})


class Ledger(Resource, module="modelyard", name="Ledger"):
    """The fields that a target held before; deleting the resource restores them."""

    def __init__(self, plan: "Plan", target: "TargetPlan", opts: pulumi.ResourceOptions) -> None:
        super().__init__(LedgerProvider(), target.note, ledger_props(plan, target), opts)


class Handover(Resource, module="modelyard", name="Handover"):
    """Fields of a target that are handed to their earlier owners once their values are restored."""

    def __init__(self, plan: "Plan", target: "TargetPlan", opts: pulumi.ResourceOptions) -> None:
        super().__init__(HandoverProvider(), target.note, handover_props(plan, target), opts)


def ledger_props(plan: "Plan", target: "TargetPlan") -> dict[str, str]:
    """The properties of a target's ``Ledger`` in the state, and of the ``Restore`` or ``Removal`` in its place."""
    return {"record": _record(plan, target).to_text()}


def handover_props(plan: "Plan", target: "TargetPlan") -> dict[str, str]:
    """The properties of a target's ``Handover``: the fields to hand over after the request, and the object's version.

    After the request, modelyard still owns these fields: the request only restores their values.
    """
    record, before = _record(plan, target), target.before.reveal()
    returning = ledger_of(target.applied.reveal()).to_hand_over
    if before is None or not fieldset.intersection(
        returning, owned_fields(before, present(before, known_ledger(before)))[0]
    ):
        return {"record": record._replace(ledger="").to_text(), "due": ""}
    return {"record": record.to_text(), "due": before["metadata"]["resourceVersion"]}


def _record(plan: "Plan", target: "TargetPlan") -> Record:
    return Record(target.key, plan.context, plan.cluster, ledger_text(target.applied.reveal()))


def _id(props: Mapping[str, Any]) -> str:
    return "/".join(Record.from_text(props["record"]).key[1:])


def _records(olds: Mapping[str, Any], news: Mapping[str, Any]) -> tuple[Record, Record]:
    return Record.from_text(olds["record"]), Record.from_text(news["record"])


def _remembering(new: Record, old: Record) -> Record:
    """The new record, with entries that only the old record has."""
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
    """Does the work on the record's object, in the recorded cluster and no other."""
    from modelyard.cluster.connection import ClusterError, connect
    from modelyard.cluster.live import identity

    record = Record.from_text(props["record"])
    try:
        client = connect(record.context)
        found = identity(client)
        if found != record.cluster:
            raise LedgerFailure(
                f"{record.key.name} is in cluster {record.cluster}, and {_context(record)} "
                f"points to {found}; check kubernetes:context and KUBECONFIG"
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
    who = {path: " and ".join(owner.manager for owner in owners) or "no owner" for path, owners in left.items()}
    return f"{LEFT}{', '.join(f'{path} ({names})' for path, names in who.items())}"
