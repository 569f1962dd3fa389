"""The conformance cases: the expected results of merges, readable and checked against a real API server.

A file under ``cases/`` contains YAML documents. The first names the type of its cases; each of the others is a case.
Offline tests run the cases against the merge package; lab tests send the same cases to an API server.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from modelyard.kube.merge import ABSENT, MergeSchema, Type, diff
from modelyard.kube.merge import Path as FieldPath
from modelyard.kube.merge.managed import ownership

HERE = Path(__file__).parent
KUBERNETES = "1.35"
"""The version of the lab's API server."""


class Case(NamedTuple):
    """A case and the type of its objects."""

    file: str
    name: str
    api_version: str
    kind: str
    spec: dict[str, Any]

    @property
    def type(self) -> Type:
        """The schema's type; a single word names a definition of ``schemas/merge-item.yaml``."""
        if not self.kind:
            return merge_items().of(self.api_version)
        return schema_of(self.api_version).of(self.api_version, self.kind)

    def whole(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Returns the fields as an object of the case's type."""
        if not self.kind:
            return fields
        metadata = {"name": "case", **(fields.get("metadata") or {})}
        return {"apiVersion": self.api_version, "kind": self.kind, **fields, "metadata": metadata}

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


@cache
def schema_of(api_version: str) -> MergeSchema:
    """Returns the schema with the kinds of an API version: the shipped one or that of the sample.

    References of the sample to definitions of Kubernetes use the shipped schema, as in a plan.
    """
    shipped = MergeSchema.kubernetes(KUBERNETES)
    sample = MergeSchema.from_openapi(json.loads((HERE / "schemas" / "sample.json").read_text()))
    if not any(version == api_version for version, _ in sample.kinds):
        return shipped
    known = shipped.definitions
    return MergeSchema({name: known.get(name, part) for name, part in sample.definitions.items()}, sample.kinds)


@cache
def merge_items() -> MergeSchema:
    """Returns the schema of the cases that are not sent to a server."""
    return MergeSchema.from_openapi(yaml.safe_load((HERE / "schemas" / "merge-item.yaml").read_text()))


def recorded(case: Case) -> dict[str, Any] | None:
    """Returns the recorded object that a case starts with, or None."""
    if "start" not in case.spec:
        return None
    found: dict[str, Any] = json.loads((HERE / "live" / f"{case.spec['start']}.json").read_text())
    return found


def cases(folder: str) -> Iterator[Case]:
    """Returns the cases below a folder of ``cases/``, in order."""
    for path in sorted((HERE / "cases").glob(f"{folder}/*.yaml")):
        head, *documents = yaml.safe_load_all(path.read_text())
        for spec in documents:
            api_version, _, kind = spec.get("type", head["type"]).partition(" ")
            yield Case(f"{folder}/{path.stem}", spec.pop("case"), api_version, kind, spec)


def quantities() -> dict[str, str]:
    """Returns amounts of a resource as they are sent, with the form that the API server returns."""
    found: dict[str, str] = yaml.safe_load((HERE / "cases" / "quantities.yaml").read_text())
    return found


def essence(obj: dict[str, Any]) -> dict[str, Any]:
    """Returns an object without its identity and counters: the fields that a case's ``result`` lists."""
    hidden = {"name", "namespace", "uid", "creationTimestamp", "resourceVersion", "generation", "managedFields"}
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in hidden}
    rest = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "metadata")}
    return {**({"metadata": metadata} if metadata else {}), **rest}


def comparable(obj: dict[str, Any]) -> dict[str, Any]:
    """Returns an object without the fields that change with every write, and with sorted managedFields."""
    metadata = {k: v for k, v in obj.get("metadata", {}).items() if k not in ("resourceVersion", "generation")}
    if "managedFields" in metadata:
        entries = [{k: v for k, v in entry.items() if k != "time"} for entry in metadata["managedFields"]]
        metadata["managedFields"] = sorted(entries, key=lambda e: json.dumps(e, sort_keys=True))
    return {**obj, "metadata": metadata}


def without_nulls(value: Any) -> Any:
    """Returns a value without null fields: Go prints null for some empty lists."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def named_in(value: Any, named: Any) -> Any:
    """Returns the part of a value that another value has: a merge cannot predict the defaults that the server adds."""
    if isinstance(value, dict) and isinstance(named, dict):
        return {name: named_in(inner, named[name]) for name, inner in value.items() if name in named}
    if isinstance(value, list) and isinstance(named, list) and len(value) == len(named):
        return [named_in(*pair) for pair in zip(value, named, strict=True)]
    return value


def owned(obj: dict[str, Any]) -> dict[str, list[str]]:
    """Returns the paths of each owner as in a case's ``owners``: ``name`` for an apply, otherwise ``name Update``."""
    return {
        managed.owner.manager + ("" if managed.owner.operation == "Apply" else " Update"): [*map(str, managed.paths())]
        for managed in ownership(obj)
    }


def changed(kind: Type, before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, list[Any]]:
    """Returns the changes as a case's ``changes`` lists them: the values before and after by path, or null."""
    return {
        str(change.path): [None if side is ABSENT else side for side in (change.before, change.after)]
        for change in diff(before, after, kind)
        if str(change.path) not in ("metadata.managedFields", "metadata.resourceVersion", "metadata.generation")
    }


def expected_owners(spec: dict[str, str]) -> dict[str, list[str]]:
    """Returns a case's ``owners``; each path is parsed and written again, which checks its form."""
    out = {}
    for owner, text in spec.items():
        paths = [FieldPath.parse(line.strip()) for line in text.splitlines() if line.strip()]
        out[owner] = [str(path) for path in paths]
    return out
