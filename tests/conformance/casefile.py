"""The conformance cases: what a merge must give, as text that people read and that the real API server answers too.

A file under ``cases/`` holds YAML documents. The first names the type its cases are of; each other one is a case.
Offline tests run the cases against the merge package; lab tests send the same cases to an API server.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from modelyard.merge import MergeSchema, Path as FieldPath, Type
from modelyard.merge.managed import ownership

HERE = Path(__file__).parent
KUBERNETES = "1.35"
"""The version of the lab's API server."""


class Case(NamedTuple):
    """One case, and the type of its objects."""

    file: str
    name: str
    api_version: str
    kind: str
    spec: dict[str, Any]

    @property
    def type(self) -> Type:
        """The schema's type."""
        return schema_of(self.api_version).of(self.api_version, self.kind)

    def whole(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields as an object of the case's type."""
        metadata = {"name": "case", **(fields.get("metadata") or {})}
        return {"apiVersion": self.api_version, "kind": self.kind, **fields, "metadata": metadata}

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


@cache
def schema_of(api_version: str) -> MergeSchema:
    """The schema that an API version's kinds are in: the shipped one, or one published for custom resources."""
    for path in sorted((HERE / "schemas").glob("*.json")):
        schema = MergeSchema.from_openapi(json.loads(path.read_text()))
        if any(version == api_version for version, _ in schema.kinds):
            return schema
    return MergeSchema.kubernetes(KUBERNETES)


def cases(folder: str) -> Iterator[Case]:
    """The cases below a folder of ``cases/``, in order."""
    for path in sorted((HERE / "cases").glob(f"{folder}/*.yaml")):
        head, *documents = yaml.safe_load_all(path.read_text())
        for spec in documents:
            api_version, kind = spec.get("type", head["type"]).split()
            yield Case(f"{folder}/{path.stem}", spec.pop("case"), api_version, kind, spec)


def essence(obj: dict[str, Any]) -> dict[str, Any]:
    """An object without what identifies it and what the server counts: what a case's ``result`` spells out."""
    hidden = {"name", "namespace", "uid", "creationTimestamp", "resourceVersion", "generation", "managedFields"}
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in hidden}
    rest = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "metadata")}
    return {**({"metadata": metadata} if metadata else {}), **rest}


def comparable(obj: dict[str, Any]) -> dict[str, Any]:
    """An object without what changes with every write, its managedFields in an order of their own."""
    metadata = {k: v for k, v in obj.get("metadata", {}).items() if k not in ("resourceVersion", "generation")}
    if "managedFields" in metadata:
        entries = [{k: v for k, v in entry.items() if k != "time"} for entry in metadata["managedFields"]]
        metadata["managedFields"] = sorted(entries, key=lambda e: json.dumps(e, sort_keys=True))
    return {**obj, "metadata": metadata}


def owned(obj: dict[str, Any]) -> dict[str, list[str]]:
    """The paths of each owner, as a case's ``owners`` spells them: ``name`` for an apply, ``name Update`` else."""
    return {
        managed.owner.manager + ("" if managed.owner.operation == "Apply" else " Update"): [*map(str, managed.paths())]
        for managed in ownership(obj)
    }


def expected_owners(spec: dict[str, str]) -> dict[str, list[str]]:
    """The case's ``owners``, each path read and written once so that its spelling is checked too."""
    out = {}
    for owner, text in spec.items():
        paths = [FieldPath.parse(line.strip()) for line in text.splitlines() if line.strip()]
        out[owner] = [str(path) for path in paths]
    return out
