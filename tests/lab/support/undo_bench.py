"""Applies and undoes on a real API server without the engine, and the expected state of each target.

``Bench`` plans with modelyard and sends the engine's requests. ``Twin`` is the expected state of a Deployment
after an undo: its first state, with the changes of others that no later apply took over.
"""

import json
import shutil
from collections.abc import Mapping
from datetime import date
from functools import partial
from pathlib import Path as File
from typing import Any
from unittest.mock import patch

import yaml
from pulumi.dynamic import ResourceProvider

from lab import Lab
from lab.install import PLATFORMS
from modelyard.catalog import load_library
from modelyard.cluster.connection import connect, transport
from modelyard.cluster.dryrun import dry_run
from modelyard.cluster.writing import OvertakenError, apply
from modelyard.engine.ledger import HandoverProvider, LedgerProvider, Record, handover_props, ledger_props
from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.kube.merge import Path
from modelyard.kube.merge.managed import identity, with_entries
from modelyard.kube.state import ObjectKey, StateObject, essence
from modelyard.plan import Plan
from modelyard.plan.build import make_plan
from modelyard.plan.project import read_live
from modelyard.plan.undo.ledger import known_ledger, ledger_of, ours
from modelyard.plan.undo.restore import undo
from modelyard.stack import load
from modelyard.stack.config import Config
from tests.lab.support.environment import NAMESPACE, ROOT, Object, managed_fields

WORKER = "deployment-ray-model-training-worker"
CELERY = "deployment-model-training-tasks-gpu"
HEAD = "deployment-ray-head"
SERVICE = "deployment-model-service"
ROUTE = "deployment-api-server"
NAMES = (WORKER, CELERY, HEAD, SERVICE, ROUTE)
WAYS = {
    "client-side": ("apply",),
    "server-side": ("apply", "--server-side", "--field-manager=helm"),
    "scaled": ("create", "--field-manager=installer"),
}
"""The requests of an installer, by kind of earlier owner."""
Props = dict[str, Any]
OWN_PATCH = {
    "v1": """
  minReadySeconds: 3
  template:
    metadata: {labels: {mine: "1"}}
    spec:
      nodeSelector: {disk: ssd}
      tolerations: [{key: mine, operator: Exists}]
      volumes:
        - {name: scratch, emptyDir: {sizeLimit: 1Gi}}
      containers:
        - name: ray-head
          env:
            - {name: RAY_GRAFANA_HOST, value: "9"}
            - {name: RAY_LOG_TO_STDERR, value: "9"}
            - {name: MINE, value: "1"}
          volumeMounts:
            - {name: scratch, mountPath: /scratch}
""",
    "v2": """
  minReadySeconds: 5
  template:
    metadata: {labels: {mine: "2"}}
    spec:
      terminationGracePeriodSeconds: 45
      containers:
        - name: ray-head
          env:
            - {name: MINE, value: "2"}
          ports:
            - {containerPort: 9999, name: mine}
        - name: beside
          image: images.example.com/beside:1
""",
}


def project(folder: File) -> File:
    """A project with its own patch, in two versions."""
    for part in ("patches", "stacks"):
        shutil.copytree(ROOT / part, folder / part)
    shutil.rmtree(folder / "stacks" / "recorded")
    for version, spec in OWN_PATCH.items():
        mine = folder / "patches" / "zz-mine" / version
        mine.mkdir(parents=True)
        (mine / "meta.yaml").write_text("description: mine\noverrides: [ray-head]\n")
        (mine / "schema.json").write_text("{}")
        head = f"# target: {HEAD}\napiVersion: apps/v1\nkind: Deployment\n"
        (mine / "patch.yaml.j2").write_text(f"{head}spec:{spec}")
    return folder


class Bench:
    """One project on one lab."""

    def __init__(self, lab: Lab, root: File) -> None:
        self.lab, self.root = lab, root
        self.library = load_library(root)
        found, findings = load(root / "stacks" / "Pulumi.dev.yaml", "stacks/Pulumi.dev.yaml")
        assert found is not None, findings
        self.stack = found
        with patch.dict("os.environ", lab.env()):
            self.client = connect("dev")
        self.ledgers: dict[str, Props] = {}
        """The engine's state of each patched target, as the provider of Python resources writes it."""
        self.handovers: dict[str, Props] = {}

    def plan(self, config: Config, recalls: bool = True) -> Plan:
        stack = self.stack._replace(config=config)
        state = read_live(self.root, stack, self.client, lambda: self.known if recalls else {})[0]
        ask = partial(dry_run, self.client)
        return make_plan(stack, self.library, state, today=date.today(), ask=ask)

    def up(self, plan: Plan, interrupted_at: int | None = None) -> None:
        """Applies a plan as the engine does, with the engine's provider for ledgers and handovers.

        If interrupted, it stops between a target's patch and its handover.
        """
        assert not [finding for finding in plan.findings if finding.blocks and finding.code.startswith("PAT")]
        assert not [finding for finding in plan.findings if finding.code == "OWN009"]
        for number, target in enumerate(plan.asked):
            self._declared(LedgerProvider(), self.ledgers, target.name, ledger_props(plan, target))
            if target.action != "none":
                apply(self.client, target.applied.reveal())
            if number == interrupted_at:
                return
            self._declared(HandoverProvider(), self.handovers, target.name, handover_props(plan, target))
        kept = {target.name for target in plan.asked}
        for name in [name for name in self.ledgers if name not in kept]:
            self._dropped(name)

    def _declared(self, provider: ResourceProvider, state: dict[str, Props], name: str, props: Props) -> None:
        with patch.dict("os.environ", self.lab.env()):
            if name not in state:
                state[name] = provider.create(props).outs or {}
                return
            difference = provider.diff(name, state[name], props)
            assert not difference.replaces
            if difference.changes:
                state[name] = provider.update(name, state[name], props).outs or {}

    def _dropped(self, name: str) -> None:
        with patch.dict("os.environ", self.lab.env()):
            LedgerProvider().delete(name, self.ledgers[name])
        del self.ledgers[name]
        self.handovers.pop(name, None)

    def destroy(self) -> None:
        """Restores every target."""
        for name in list(self.ledgers):
            self._dropped(name)

    @property
    def known(self) -> dict[ObjectKey, StateObject]:
        """The objects in the engine's state."""
        records = [Record.from_text(props["record"]) for props in self.ledgers.values()]
        return {record.key: StateObject(managed=False, ledger=Confidential(record.ledger)) for record in records}

    def half_destroy(self) -> None:
        """Makes the first of the two writes that restore each target, as a run that is killed between them."""
        for key, ledger in self.known.items():
            while not self._released(key.name, ledger):
                pass  # a controller has changed the object meanwhile

    def _released(self, name: str, noted: str) -> bool:
        live = self.get(name)
        plan = undo(live, known_ledger(live, noted))
        try:
            return plan is None or apply(self.client, plan.request) is not None
        except OvertakenError:
            return False

    def history(self, name: str, since: str) -> list[Object]:
        """Every state of a Deployment since a resource version."""
        query = {
            "watch": "1",
            "fieldSelector": f"metadata.name={name}",
            "resourceVersion": since,
            "timeoutSeconds": "1",
        }
        answer = transport(self.client).get(_path(), params=query)
        return [json.loads(line)["object"] for line in answer.text.splitlines()]

    def get(self, name: str) -> Object:
        answer = self.lab.request("GET", f"{_path()}/{name}")
        assert answer.status == 200, answer
        return {"apiVersion": "apps/v1", "kind": "Deployment", **answer.body}

    def put(self, name: str, manager: str, adopting: bool) -> None:
        """Updates the whole Deployment with its manifest or, if ``adopting``, with the live sizes."""
        body = self.manifests[name]
        if adopting:
            live = self.get(name)
            ours, theirs = (each["spec"]["template"]["spec"]["containers"][0] for each in (live, body))
            theirs["resources"] = ours.get("resources", {})
            body["spec"]["replicas"] = live["spec"]["replicas"]
        answer = self.lab.request("PUT", f"{_path()}/{name}?fieldManager={manager}", json.dumps(body))
        assert answer.status == 200, answer

    def install_again(self, name: str, way: str) -> None:
        """Runs the installer again with the same manifest."""
        forced = ("--force-conflicts",) if way == "server-side" else ()
        self.lab.kubectl(*WAYS[way], *forced, "--filename=-", stdin=json.dumps(self.manifests[name]))

    def update(self, name: str, path: Path, value: Any, manager: str) -> None:
        """Sets one field as a manager: ``controller`` updates the whole object, ``scaler`` the scale subresource."""
        if manager == "controller":
            body = merge.strategic(self.get(name), _nested(path, value), self.schema)
            answer = self.lab.request("PUT", f"{_path()}/{name}?fieldManager={manager}", json.dumps(body))
            if answer.status == 409:
                # A controller retries after a conflict.
                self.update(name, path, value, manager)
                return
            assert answer.status == 200, answer
            return
        sub = "/scale" if manager == "scaler" else ""
        body = json.dumps(_nested(path, value))
        kind = "application/strategic-merge-patch+json" if not sub else "application/merge-patch+json"
        answer = self.lab.request("PATCH", f"{_path()}/{name}{sub}?fieldManager={manager}", body, content_type=kind)
        assert answer.status == 200, answer

    def install(self, ways: Mapping[str, str]) -> None:
        """Recreates every Deployment, each with the installer that ``ways`` names."""
        manifests = self.manifests
        self.ledgers.clear()
        self.handovers.clear()
        for name in ways:
            self.lab.request("DELETE", f"{_path()}/{name}?propagationPolicy=Background")
        for way, words in WAYS.items():
            some = [manifests[name] for name in ways if ways[name] == way]
            if some:
                items = json.dumps({"apiVersion": "v1", "kind": "List", "items": some})
                self.lab.kubectl(*words, "--filename=-", stdin=items)
        for name in (name for name, way in ways.items() if way == "scaled"):
            self.update(name, Path(("spec", "replicas")), 3, "scaler")

    @property
    def manifests(self) -> dict[str, Object]:
        """The installer's manifests, by name."""
        found = yaml.safe_load_all((PLATFORMS / "dev" / "platform.yaml").read_text())
        return {body["metadata"]["name"]: body for body in found if body["kind"] == "Deployment"}

    @property
    def schema(self) -> merge.Type:
        return merge.MergeSchema.kubernetes(self.stack.config.kubernetes_version).of("apps/v1", "Deployment")


class Twin:
    """The expected state of a Deployment after an undo."""

    def __init__(self, body: Object, schema: merge.Type) -> None:
        self.body, self.schema = body, schema
        self.asked: set[Path] = set()
        self.touched: dict[Path, tuple[Any, str]] = {}
        """Our fields that others set or removed, until we take them over again."""
        self.untouched = True
        self.timed = True
        """Whether the times of the owners' last writes are unchanged."""

    def planned(self, applied: Object | None) -> None:
        """Sets the fields that modelyard applies from now on; None for no fields."""
        back = ledger_of(applied).to_hand_over if applied is not None else {}
        self.asked = {
            change.path
            for change in merge.diff(None, applied, self.schema)
            if not merge.fieldset.contains(back, merge.fieldset.of(change.path))
        }
        for path, (value, manager) in list(self.touched.items()):
            del self.touched[path]
            if path not in self.asked:
                self._keeps(path, value, manager)

    def written(self, before: Object, after: Object, manager: str) -> None:
        """Records an update of the whole Deployment: its changes belong to ``manager``."""
        for change in merge.diff(essence(before), essence(after), self.schema):
            if not change.reordered:
                self.update(change.path, change.after, manager)
        if not ours(after):
            # No trace of an apply is left, so the next apply is a first one.
            self.planned(None)

    def installed_again(self) -> None:
        """Records another server-side apply of the first owner; no other manager may have changed anything."""
        assert self.untouched
        assert not self.touched
        self.timed = False

    def update(self, path: Path, value: Any, manager: str) -> None:
        """Records that a manager sets or removes a field."""
        if path in self.asked:
            self.touched[path] = value, manager
        else:
            self._keeps(path, value, manager)

    def _keeps(self, path: Path, value: Any, manager: str) -> None:
        self.untouched = False
        there = merge.value_at(self.schema, self.body, path) is not merge.ABSENT
        if value is merge.ABSENT and not there:
            return
        after = self.body if value is merge.ABSENT else _with(self.body, path, value)
        after = after if value is not merge.ABSENT else _without(self.body, path)
        field = merge.fieldset.of(path)
        theirs = [
            {**each, "fieldsV1": merge.fieldset.difference(each["fieldsV1"], field)}
            for each in after["metadata"]["managedFields"]
        ]
        # A scale to 0 is not a field of the subresource, so the API server records no owner.
        if value is not merge.ABSENT and not (manager == "scaler" and value == 0):
            scaled = {"subresource": "scale"} if manager == "scaler" else {}
            head = {"manager": manager, "operation": "Update", "apiVersion": "apps/v1", **scaled}
            his = [each for each in theirs if identity(each) == identity(head)]
            fields = merge.fieldset.union(field, his[0]["fieldsV1"] if his else {})
            theirs = [each for each in theirs if each not in his]
            theirs.append({**head, "fieldsType": "FieldsV1", "fieldsV1": fields})
        self.body = with_entries(after, [each for each in theirs if each["fieldsV1"]])

    def check(self, live: Object) -> None:
        """Checks the Deployment and its owners."""
        name = live["metadata"]["name"]
        assert essence(live) == essence(self.body), (name, merge.diff(essence(self.body), essence(live), self.schema))
        must, found = _owners(self.body), _owners(live)
        assert found == must, (
            name,
            [one for one in must if one not in found],
            [one for one in found if one not in must],
        )
        assert not (self.untouched and self.timed) or _times(live) == _times(self.body), (
            name,
            _times(live),
            _times(self.body),
        )


def _with(value: Any, path: Path, new: Any) -> Any:
    """A copy of the value with a new one at the path, whose parents must exist."""
    if not path:
        return new
    element, rest = path[0], Path(path[1:])
    if isinstance(element, str):
        return {**value, element: _with(value.get(element, {}), rest, new)}
    assert isinstance(element, merge.Key)
    wanted = dict(element.fields).items()
    return [_with(one, rest, new) if wanted <= one.items() else one for one in value]


def _without(value: Any, path: Path) -> Any:
    """A copy of the value without what is at the path."""
    element, rest = path[0], Path(path[1:])
    if isinstance(element, str):
        left = {name: one for name, one in value.items() if name != element}
        return {**left, element: _without(value[element], rest)} if rest else left
    assert isinstance(element, merge.Key)
    wanted = dict(element.fields).items()
    return [
        _without(one, rest) if rest and wanted <= one.items() else one
        for one in value
        if rest or not wanted <= one.items()
    ]


def _owners(body: Object) -> list[Object]:
    """The managed fields without the map of annotations, which a full update without annotations removes."""
    itself = merge.fieldset.of(Path(("metadata", "annotations")))
    return [{**each, "fieldsV1": merge.fieldset.difference(each["fieldsV1"], itself)} for each in managed_fields(body)]


def _times(body: Object) -> list[tuple[str, str | None]]:
    found = [each for each in body["metadata"]["managedFields"] if each.get("subresource") != "status"]
    return sorted((each["manager"], each.get("time") or "") for each in found)


def _nested(path: Path, value: Any) -> Any:
    """A strategic merge patch that sets one field."""
    for element in reversed(path):
        value = [{**dict(element.fields), **value}] if isinstance(element, merge.Key) else {element: value}
    return value


def _path() -> str:
    return f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
