"""A plan as JSON and back: what ``--json`` prints, ``--out`` writes and ``apply --plan`` reads."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modelyard import __version__
from modelyard.cluster import Claim
from modelyard.files import not_json, parse_json, wrong_form
from modelyard.findings import Failure, Finding, Severity
from modelyard.hiding import Confidential, hidden, hidden_text, without_credentials
from modelyard.kube import merge
from modelyard.kube.state import ObjectKey
from modelyard.plan.starting import moved_objects, moved_order, other_owners, relevant
from modelyard.plan.values import FORMAT_VERSION, FieldChange, Plan, Step, TargetPlan
from modelyard.probes import BackendDrain
from modelyard.workloads.training.backend import Broker, Dashboard, HeadService, JobSource, NoJobSource, Numbers

if TYPE_CHECKING:
    from modelyard.plan.cost.values import StackCost

STALE = "the plan is stale"
"""Start of every message about a stale plan."""


class PlanFileError(Failure):
    """A plan file that cannot be used: why, and what to do."""


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: the same value always gives the same text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def starting_state(plan: Plan) -> dict[str, str | None]:
    """SHA-256 of what a plan reads of each target, by ``kind/namespace/name``; None if the object does not exist."""
    read = {"/".join(target.key[1:]): relevant(target, target.before.reveal()) for target in plan.targets}
    return {name: None if body is None else _digest(body) for name, body in read.items()}


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan as plain JSON values, in the form that ``modelyard schema plan`` publishes. Secrets are hidden."""
    document: dict[str, Any] = {
        "formatVersion": FORMAT_VERSION,
        "modelyardVersion": __version__,
        "stack": plan.stack,
        "file": plan.file,
        "headline": plan.headline,
        "training": plan.training,
        "mode": plan.mode,
        "context": plan.context,
        "namespace": plan.namespace,
        "cluster": {"source": plan.source, "identity": plan.cluster, "version": plan.kubernetes},
        "targets": [_target_to_json(target) for target in plan.targets],
        "steps": [step._asdict() for step in plan.steps],
        "drains": [hidden(drain_to_json(drain)) for drain in plan.drains],
        "findings": [finding_to_json(finding) for finding in plan.findings],
        "summary": {
            "changed": sum(target.action != "none" for target in plan.targets),
            "podsReplaced": sum(target.replaces_pods for target in plan.targets),
            "gpusBefore": sum(target.gpus[0] for target in plan.targets),
            "gpusAfter": sum(target.gpus[1] for target in plan.targets),
            "blocked": plan.blocked,
        },
        "droppedRemotes": list(plan.dropped_remotes),
        "inputs": dict(plan.inputs),
        "startingState": starting_state(plan),
    }
    if plan.remote:
        document["remote"] = plan.remote
    if plan.remotes:
        document["remotes"] = [plan_to_json(one) for one in plan.remotes]
    if plan.cost is not None:
        from modelyard.plan.cost.values import cost_to_json

        document["cost"] = cost_to_json(plan.cost)
    document = without_credentials(document)
    document["sha256"] = seal(document)
    return document


def seal(document: Mapping[str, Any]) -> str:
    """SHA-256 of a plan document without its key ``sha256``."""
    return _digest({key: value for key, value in document.items() if key != "sha256"})


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """A finding without its empty parts and without credentials."""
    values = {**finding._asdict(), "severity": finding.severity.value}
    return {key: hidden_text(value) if isinstance(value, str) else value for key, value in values.items() if value}


def _target_to_json(target: TargetPlan) -> dict[str, Any]:
    return {
        "apiVersion": target.key.api_version,
        "kind": target.key.kind,
        "namespace": target.key.namespace,
        "name": target.key.name,
        "action": target.action,
        "phase": target.phase,
        "managed": target.managed,
        "handsOver": target.hands_over,
        "role": target.role,
        "patches": list(target.patches),
        "podsReplaced": target.replaces_pods,
        "replicas": {"before": target.replicas[0], "after": target.replicas[1]},
        "gpus": {"before": target.gpus[0], "after": target.gpus[1]},
        "changes": [_change_to_json(change) for change in target.changes],
        "conflicts": [claim._asdict() for claim in target.conflicts],
        "applied": hidden(target.applied),
        "before": hidden(target.before),
        "after": hidden(target.after) if target.action != "delete" else None,
    }


def _change_to_json(change: FieldChange) -> dict[str, Any]:
    values: dict[str, Any] = {"field": str(change.path)}
    # A missing key is a missing field; null is the value null.
    if change.before is not merge.ABSENT:
        values["before"] = change.before
    if change.after is not merge.ABSENT:
        values["after"] = change.after
    return {
        **values,
        "patch": change.patch,
        "owners": [_owner_to_json(owner) for owner in change.owners],
        "taken": change.taken,
        **({} if change.back is None else {"givenBack": [_owner_to_json(owner) for owner in change.back]}),
    }


def _owner_to_json(owner: merge.Owner) -> dict[str, str]:
    return {
        "manager": owner.manager,
        "operation": owner.operation,
        "subresource": owner.subresource,
        "apiVersion": owner.api_version,
        "time": owner.time,
    }


def _owner(value: Mapping[str, str]) -> merge.Owner:
    return merge.Owner(
        value["manager"], value["operation"], value["subresource"], api_version=value["apiVersion"], time=value["time"]
    )


def plan_from_json(text: str, shown: str) -> Plan:
    """The plan in a file.

    Raises:
        PlanFileError: the text is no plan, is from a newer modelyard, or was changed after it was written.
    """
    again = "make it again with modelyard plan STACK --out FILE"
    try:
        document = parse_json(text)
    except ValueError as error:
        if not text.lstrip().startswith("{"):
            make = "make one with modelyard plan STACK --out FILE; to show a stack, run modelyard show STACK"
            raise PlanFileError(f"{shown} is not a saved plan", make) from error
        raise PlanFileError(f"{shown} cannot be read: {not_json(error)}", again) from error
    if not isinstance(document, dict) or "formatVersion" not in document:
        raise PlanFileError(f"{shown} is not a modelyard plan", again)
    if document["formatVersion"] != FORMAT_VERSION:
        raise PlanFileError(
            f"{shown} has formatVersion {document['formatVersion']}; this modelyard reads {FORMAT_VERSION}",
            "use the modelyard that wrote it, or plan again",
        )
    if document.get("sha256") != seal(document):
        raise PlanFileError(f"{shown} was changed after it was written", again)
    if (wrong := _misplaced(document)) is not None:
        raise PlanFileError(f"{shown} is not a plan that modelyard wrote: {wrong}", again)
    try:
        return _plan(_upgraded(document, document["findings"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PlanFileError(f"{shown} is not a plan that modelyard wrote: {wrong_form(error)}", again) from error


def _misplaced(document: Mapping[str, Any]) -> str | None:
    """The first part of a plan document that does not follow its schema, without quoting it."""
    from jsonschema_rs import Draft202012Validator

    schema = Path(__file__).with_name("plan.schema.json").read_text(encoding="utf-8")
    error = next(iter(Draft202012Validator(schema).iter_errors(document)), None)
    if error is None:
        return None
    where = ".".join(map(str, error.instance_path)) or "the plan"
    return f"{where} breaks the rule {'.'.join(map(str, error.schema_path))} of `modelyard schema plan`"


def _upgraded(document: Mapping[str, Any], findings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The document with the keys that earlier versions did not write, derived from the whole plan's ``findings``."""
    waiting = {one.get("target") for one in findings if one["code"] == "OWN013"}
    dropped = [one["summary"].removeprefix("remote cluster ") for one in findings if one["code"] == "REM014"]
    here = f"{document['remote']}/" if "remote" in document else ""
    return {
        "droppedRemotes": [] if here else [summary.partition(" ")[0] for summary in dropped],
        **document,
        "targets": [{"handsOver": here + one["name"] in waiting, **one} for one in document["targets"]],
        "remotes": [_upgraded(one, findings) for one in document.get("remotes", ())],
    }


def _plan(document: Mapping[str, Any]) -> Plan:
    cluster, remote = document["cluster"], document.get("remote", "")
    return Plan(
        stack=document["stack"],
        file=document["file"],
        headline=document["headline"],
        training=document["training"],
        mode=document["mode"],
        context=document["context"],
        namespace=document["namespace"],
        source=cluster["source"],
        cluster=cluster["identity"],
        kubernetes=cluster["version"],
        targets=tuple(_target(target, document["namespace"], remote) for target in document["targets"]),
        steps=tuple(Step(**step) for step in document["steps"]),
        findings=tuple(
            Finding(**{**finding, "severity": Severity(finding["severity"])}) for finding in document["findings"]
        ),
        inputs=document["inputs"],
        cost=_cost(document.get("cost")),
        drains=tuple(map(drain_from_json, document["drains"])),
        remotes=tuple(map(_plan, document["remotes"])),
        remote=remote,
        dropped_remotes=tuple(document["droppedRemotes"]),
    )


def _cost(value: Mapping[str, Any] | None) -> "StackCost | None":
    if value is None:
        return None
    from modelyard.plan.cost.values import cost_from_json

    return cost_from_json(value)


def _target(value: Mapping[str, Any], namespace: str, cluster: str) -> TargetPlan:
    dropped = value["action"] in ("restore", "delete")
    return TargetPlan(
        key=ObjectKey(value["apiVersion"], value["kind"], value["namespace"], value["name"]),
        action=value["action"],
        phase=value["phase"],
        patches=tuple(value["patches"]),
        applied=Confidential(_body(value["applied"]) or {}),
        before=Confidential(_body(value["before"])),
        after=Confidential(_body(value["after"]) or {}),
        changes=tuple(
            FieldChange(
                path=merge.Path.parse(change["field"]),
                before=change.get("before", merge.ABSENT),
                after=change.get("after", merge.ABSENT),
                patch=change["patch"],
                owners=tuple(map(_owner, change["owners"])),
                taken=change["taken"],
                back=tuple(map(_owner, change["givenBack"])) if "givenBack" in change else None,
            )
            for change in value["changes"]
        ),
        replaces_pods=value["podsReplaced"],
        replicas=(value["replicas"]["before"], value["replicas"]["after"]),
        gpus=(value["gpus"]["before"], value["gpus"]["after"]),
        managed=value["managed"],
        role=value["role"],
        conflicts=tuple(Claim(**claim) for claim in value["conflicts"]),
        in_earlier_namespace=dropped and value["namespace"] != namespace,
        cluster=cluster,
        hands_over=value["handsOver"],
    )


def _body(value: dict[str, Any] | None) -> dict[str, Any] | None:
    """An object of a plan, after a check that it has the outline of an object.

    Raises:
        AttributeError, TypeError: it does not have that outline.
    """
    body = value or {}
    metadata = body.get("metadata") or {}
    pod = ((body.get("spec") or {}).get("template") or {}).get("spec") or {}
    for part in (metadata.get("labels"), metadata.get("annotations"), pod):
        if part and not isinstance(part, dict):
            raise TypeError("a part of an object")
    if not isinstance(body.get("kind", ""), str) or not isinstance(pod.get("containers") or [], list):
        raise TypeError("a part of an object")
    return value


def moved(approved: Plan, now: Plan) -> tuple[str, ...]:
    """What differs between the approval and now, in words; empty if the approval is still valid."""
    differences = []
    if approved.cluster != now.cluster:
        for_which = f"cluster {approved.cluster}" if approved.cluster else "an empty cluster"
        differences.append(f"the plan was approved for {for_which}, this is {now.cluster}")
    for name in sorted(approved.inputs.keys() | now.inputs.keys()):
        if approved.inputs.get(name) != now.inputs.get(name):
            verb = "is new" if name not in approved.inputs else "is gone" if name not in now.inputs else "changed"
            differences.append(f"input {name} {verb}")
    differences.extend(moved_objects(approved, now))
    differences.extend(moved_order(approved, now))
    differences.extend(other_owners(approved, now))
    return (*(differences or _other_ends(approved, now)), *_moved_remotes(approved, now))


def _moved_remotes(approved: Plan, now: Plan) -> Iterator[str]:
    """What differs in remote clusters between the approval and now, in words."""
    was, are = ({one.remote: one for one in plan.remotes} for plan in (approved, now))
    for name in sorted(was.keys() | are.keys()):
        if name in was and name in are:
            yield from (f"on {name}: {words}" for words in moved(was[name], are[name]))
        else:
            yield f"remote cluster {name} {'is new' if name in are else 'is gone'}"


def _other_ends(approved: Plan, now: Plan) -> Iterator[str]:
    """Targets that the API server changes differently now, although nothing in the plan's starting state has moved.

    Compares only live plans, because only these contain the API server's answers. A new admission policy is a possible
    cause.
    """
    if approved.source == now.source == "live":
        was = {target.key: target for target in approved.targets}
        for target in now.targets:
            was_to_be = was[target.key]
            if relevant(was_to_be, was_to_be.after.reveal()) != relevant(was_to_be, target.after.reveal()):
                yield f"{target.name} would become different from what was approved"


_KINDS: dict[str, type[JobSource]] = {
    "dashboard": Dashboard,
    "headService": HeadService,
    "broker": Broker,
    "query": Numbers,
    "nobody": NoJobSource,
}


def drain_to_json(drain: BackendDrain) -> dict[str, Any]:
    """The drain; ``ask`` names the kind of source, ``of`` its arguments."""
    kind = next(name for name, made in _KINDS.items() if isinstance(drain.source, made))
    usual = drain.source._field_defaults
    return {
        "side": drain.backend,
        "targets": list(drain.targets),
        "limit": drain.limit,
        "quiet": drain.quiet,
        "ask": kind,
        "of": {key: value for key, value in drain.source._asdict().items() if key not in usual or value != usual[key]},
    }


def drain_from_json(value: Mapping[str, Any]) -> BackendDrain:
    """The drain from a document."""
    source = _KINDS[value["ask"]](**value["of"])
    return BackendDrain(value["side"], tuple(value["targets"]), value["limit"], value["quiet"], source)
