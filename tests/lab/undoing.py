"""Applying and undoing on a real API server without the engine, and what a target must be afterwards.

``Bench`` plans by the project's own planner and sends what the engine would send. ``Twin`` is what one Deployment must
be after everything is undone: the Deployment as it was, with what others have changed since and we never took back.
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

from lab import Lab
from lab.install import PLATFORMS
from modelyard import merge
from modelyard.catalog import load_library
from modelyard.cluster import ObjectKey, essence
from modelyard.cluster.dryrun import dry_run
from modelyard.cluster.live import connect, transport
from modelyard.cluster.writing import OvertakenError, apply
from modelyard.engine.undoing import Undone, hand_over, restore
from modelyard.merge import Path
from modelyard.plan import FIELD_MANAGER, Plan, make_plan
from modelyard.plan.ledger import ledger_of, ledger_text
from modelyard.plan.project import read_live
from modelyard.plan.returning import undo
from modelyard.stack import load
from modelyard.stack.config import Config
from tests.lab.environment import NAMESPACE, ROOT, Object, managed_fields

WORKER = "deployment-ray-model-training-worker"
CELERY = "deployment-model-training-tasks-gpu"
HEAD = "deployment-ray-head"
SERVICE = "deployment-model-service"
ROUTE = "deployment-api-server"
NAMES = (WORKER, CELERY, HEAD, SERVICE, ROUTE)
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
    """A project with a patch of its own, in two versions."""
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
        self.applied: dict[str, ObjectKey] = {}

    def plan(self, config: Config) -> Plan:
        stack = self.stack._replace(config=config)
        state = read_live(self.root, stack, self.client, dict)[0]
        ask = partial(dry_run, self.client, manager=FIELD_MANAGER)
        return make_plan(stack, self.library, state, date.today(), ask)

    def up(self, plan: Plan, interrupted_at: int | None = None) -> None:
        """What the engine does with a plan; interrupted, it stops between a target's patch and its handover."""
        assert not [finding for finding in plan.findings if finding.blocks and finding.code.startswith("PAT")]
        assert not [finding for finding in plan.findings if finding.code == "OWN009"]
        for number, target in enumerate(plan.asked):
            if target.action != "none":
                apply(self.client, target.applied, FIELD_MANAGER)
            self.applied[target.name] = target.key
            if number == interrupted_at:
                return
            if ledger_of(target.applied).returning:
                hand_over(self.client, target.key, ledger_text(target.applied))
        kept = {target.name for target in plan.asked}
        for name in [name for name in self.applied if name not in kept]:
            restore(self.client, self.applied.pop(name), "")

    def destroy(self) -> dict[str, Undone]:
        """Puts every target back."""
        done = {name: restore(self.client, key, "") for name, key in self.applied.items()}
        self.applied.clear()
        return done

    def half_destroy(self) -> None:
        """The first of the two writes that put each target back, as a run leaves it that is killed between them."""
        for name in self.applied:
            while not self._released(name):
                pass  # its controller was faster

    def _released(self, name: str) -> bool:
        live = self.get(name)
        plan = undo(live, ledger_of(live))
        try:
            return plan is None or apply(self.client, plan.request, FIELD_MANAGER) is not None
        except OvertakenError:
            return False

    def history(self, name: str, since: str) -> list[Object]:
        """Every state of a Deployment after a version of the cluster."""
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

    def update(self, name: str, path: Path, value: Any, manager: str) -> None:
        """Somebody sets one field, or the replicas through their subresource."""
        sub = "/scale" if manager == "scaler" else ""
        body = json.dumps(_nested(path, value))
        kind = "application/strategic-merge-patch+json" if not sub else "application/merge-patch+json"
        answer = self.lab.request("PATCH", f"{_path()}/{name}{sub}?fieldManager={manager}", body, kind)
        assert answer.status == 200, answer

    def install(self, ways: Mapping[str, str]) -> None:
        """Makes every Deployment anew, by the way of an earlier owner that ``ways`` names for each."""
        found = yaml.safe_load_all((PLATFORMS / "dev" / "platform.yaml").read_text())
        manifests = {body["metadata"]["name"]: body for body in found if body["kind"] == "Deployment"}
        self.applied.clear()
        for name in ways:
            self.lab.request("DELETE", f"{_path()}/{name}?propagationPolicy=Background")
        for way, words in (
            ("client-side", ("apply",)),
            ("server-side", ("apply", "--server-side", "--field-manager=helm")),
            ("scaled", ("create", "--field-manager=installer")),
        ):
            some = [manifests[name] for name in ways if ways[name] == way]
            if some:
                items = json.dumps({"apiVersion": "v1", "kind": "List", "items": some})
                self.lab.kubectl(*words, "--filename=-", stdin=items)
        for name in (name for name, way in ways.items() if way == "scaled"):
            self.update(name, Path(("spec", "replicas")), 3, "scaler")

    @property
    def schema(self) -> merge.Type:
        return merge.MergeSchema.kubernetes(self.stack.config.kubernetes_version).of("apps/v1", "Deployment")


class Twin:
    """What a Deployment must be once everything is undone."""

    def __init__(self, body: Object, schema: merge.Type) -> None:
        self.body, self.schema = body, schema
        self.asked: set[Path] = set()
        self.touched: dict[Path, tuple[int, str]] = {}
        """What others set of our fields, for as long as we have not taken it back."""
        self.untouched = True

    def planned(self, applied: Object | None) -> None:
        """We ask for these fields from now on; None: for nothing any more."""
        back = ledger_of(applied).returning if applied is not None else {}
        self.asked = {
            change.path
            for change in merge.diff(None, applied, self.schema)
            if not merge.fieldset.contains(back, merge.fieldset.of(change.path))
        }
        for path, (value, manager) in list(self.touched.items()):
            del self.touched[path]
            if path not in self.asked:
                self._keeps(path, value, manager)

    def update(self, path: Path, value: int, manager: str) -> None:
        """Somebody sets a field."""
        if path in self.asked:
            self.touched[path] = value, manager
        else:
            self._keeps(path, value, manager)

    def _keeps(self, path: Path, value: int, manager: str) -> None:
        self.untouched = False
        after = self.body
        # By way of another value: it is his also where it happens to be what it was before us.
        for number in (value + 1, value):
            new = merge.strategic(after, _nested(path, number), self.schema)
            after = merge.update(after, new, manager, self.schema)
        if manager == "scaler":
            entries = after["metadata"]["managedFields"]
            metadata = {**after["metadata"], "managedFields": list(_through_scale(entries))}
            after = {**after, "metadata": metadata}
        self.body = after

    def check(self, live: Object) -> None:
        """Fails where the Deployment is not what it must be, owners included."""
        name = live["metadata"]["name"]
        assert essence(live) == essence(self.body), (name, merge.diff(essence(self.body), essence(live), self.schema))
        must, found = managed_fields(self.body), managed_fields(live)
        assert found == must, (
            name,
            [one for one in must if one not in found],
            [one for one in found if one not in must],
        )
        assert not self.untouched or _times(live) == _times(self.body), (name, _times(live), _times(self.body))


def _through_scale(entries: list[Object]) -> Any:
    """The entries, with what ``scaler`` holds in the one of the subresource that it writes."""
    fields: Object = {}
    for entry in entries:
        if entry["manager"] == "scaler":
            fields = merge.fieldset.union(fields, entry["fieldsV1"])
        else:
            yield entry
    if fields:
        head = {"manager": "scaler", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1"}
        yield {**head, "subresource": "scale", "fieldsV1": fields}


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
