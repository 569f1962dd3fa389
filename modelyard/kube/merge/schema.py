"""Schemas: OpenAPI documents as the types that merging, comparing and checking go by."""

import json
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path as FilePath
from typing import Any

from modelyard.kube.merge.types import (
    COPIED_MARK,
    DEFAULTS_MARK,
    DERIVED_MARK,
    DROPPED_MARK,
    STATUS_MARK,
    UNDEFAULTED_MARK,
    WRITTEN_MARK,
    Reader,
    Schema,
    Type,
)

SHIPPED = FilePath(__file__).with_name("data") / "kubernetes.tsv"
OPERATORS = SHIPPED.with_name("operators.tsv")
"""Kinds of operators, whatever the version of Kubernetes."""
_KEPT = frozenset(
    ("type", "format", "items", "properties", "additionalProperties", "required", "$ref", "default", "nullable")
)
_EXTENSIONS = frozenset(
    (
        "x-kubernetes-embedded-resource",
        "x-kubernetes-group-version-kind",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "x-kubernetes-patch-merge-key",
        "x-kubernetes-patch-strategy",
        "x-kubernetes-preserve-unknown-fields",
        COPIED_MARK,
        DEFAULTS_MARK,
        DERIVED_MARK,
        DROPPED_MARK,
        STATUS_MARK,
        UNDEFAULTED_MARK,
        WRITTEN_MARK,
    )
)


class MergeSchema:
    """The types of one OpenAPI document, looked up by definition or by API version and kind."""

    def __init__(
        self, definitions: Mapping[str, Schema], kinds: Mapping[tuple[str, str], str], sha256: str = ""
    ) -> None:
        self.definitions = definitions
        self.kinds = kinds
        """Definition names by API version and kind."""
        self._sha256 = sha256
        self._reader = Reader(definitions)

    @classmethod
    def from_openapi(cls, *documents: Mapping[str, Any]) -> "MergeSchema":
        """Reads OpenAPI v2 or v3 documents: ``swagger.json``, a group's document, one of custom resources.

        Several documents (one a group, as v3 has it) make one schema; definitions of one name are taken from the last.
        A v2 document has no defaults, and the keys of some lists need theirs (a port's protocol): for Kubernetes' own
        definitions they come from the shipped schemas.

        Raises:
            ValueError: a document has no definitions.
        """
        definitions: dict[str, Schema] = {}
        for document in documents:
            found = document.get("definitions") or (document.get("components") or {}).get("schemas")
            if not isinstance(found, Mapping):
                raise ValueError("not an OpenAPI document: neither definitions nor components.schemas")
            if "swagger" in document:
                found = _with_defaults(found)
            definitions.update(found)
        definitions.update(list(_with_status_marks(definitions, documents)))
        return cls(definitions, dict(_kinds(definitions)))

    @classmethod
    def kubernetes(cls, version: str) -> "MergeSchema":
        """The shipped schema of a Kubernetes version, such as ``1.35``.

        Raises:
            LookupError: the version is not shipped; ``supported_versions`` tells which are.
        """
        return _kubernetes(".".join(version.removeprefix("v").split(".")[:2]))

    def of(self, name: str, kind: str | None = None) -> Type:
        """The type of a definition (``of("mergeItem")``) or of a kind (``of("apps/v1", "Deployment")``).

        Raises:
            LookupError: the schema has none of that name.
        """
        if kind is None:
            return self._reader.definition(name)
        definition = self.kinds.get((name, kind))
        if definition is not None:
            return self._reader.definition(definition)
        if self._more is None:
            raise LookupError(f"no schema for {kind} of {name}")
        return self._more.of(name, kind)

    @property
    def every_kind(self) -> frozenset[tuple[str, str]]:
        """API version and kind of everything that ``of`` finds."""
        return frozenset((*self.kinds, *(self._more.kinds if self._more is not None else ())))

    @cached_property
    def _more(self) -> "MergeSchema | None":
        """The shipped schema with the operators' kinds beside Kubernetes' own, which most plans do without."""
        if not isinstance(self.definitions, _Lines):
            return None
        lines = dict(self.definitions.lines)
        kinds: dict[tuple[str, str], str] = {}
        for line in OPERATORS.read_text(encoding="utf-8").splitlines():
            name, gvk, lines[name] = line.split("\t", 2)
            api_version, _, kind = gvk.rpartition("/")
            kinds[api_version, kind] = name
        more = MergeSchema(_Lines(lines), kinds)
        more._more = None
        return more

    def of_object(self, obj: Mapping[str, Any]) -> Type:
        """The type that an object names by its ``apiVersion`` and ``kind``.

        Raises:
            LookupError: the schema has none for it.
        """
        return self.of(str(obj.get("apiVersion", "")), str(obj.get("kind", "")))

    @cached_property
    def sha256(self) -> str:
        """Hash of what the schema says, without descriptions: equal hashes mean equal merges."""
        return self._sha256 or digest(compact(self.definitions))


def supported_versions() -> tuple[str, ...]:
    """The Kubernetes versions whose schema is shipped, oldest first."""
    return tuple(_header()[0])


@lru_cache(maxsize=1)
def known_kinds() -> frozenset[str]:
    """The kinds of all shipped schemas, Kubernetes' in every version and the operators'."""
    names = " ".join(line.split("\t", 3)[2] for line in _header()[1].splitlines())
    operators = (line.split("\t", 2)[1] for line in OPERATORS.read_text(encoding="utf-8").splitlines())
    return frozenset(name.rpartition("/")[2] for name in (*names.split(), *operators))


def compact(definitions: Mapping[str, Schema]) -> dict[str, Schema]:
    """The definitions with nothing left in them but what merging and checking need."""
    return {name: _compacted(schema) for name, schema in sorted(definitions.items())}


def digest(definitions: Mapping[str, Schema]) -> str:
    """SHA-256 of compact definitions."""
    from hashlib import sha256

    text = json.dumps(definitions, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode()).hexdigest()


def _compacted(schema: Schema, default: bool = True) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in sorted(schema.items()):
        if key == "properties":
            out[key] = {name: _compacted(part) for name, part in sorted(value.items())}
        elif key in ("items", "additionalProperties") and isinstance(value, Mapping):
            out[key] = _compacted(value, default=False)
        elif key == "allOf" and len(value) == 1 and "$ref" in value[0]:
            out["$ref"] = value[0]["$ref"]
        elif key in _EXTENSIONS or (key in _KEPT and (default or key != "default")):
            out[key] = value
    return dict(sorted(out.items()))


def _kinds(definitions: Mapping[str, Schema]) -> Iterable[tuple[tuple[str, str], str]]:
    for name, schema in definitions.items():
        for gvk in schema.get("x-kubernetes-group-version-kind") or ():
            yield (f"{gvk['group']}/{gvk['version']}" if gvk.get("group") else gvk["version"], gvk["kind"]), name


def _with_defaults(definitions: Mapping[str, Schema]) -> Mapping[str, Schema]:
    shipped = [MergeSchema.kubernetes(version).definitions for version in reversed(supported_versions())]
    out = dict(definitions)
    for name in definitions:
        known: Mapping[str, Schema] = next(
            (newest[name].get("properties", {}) for newest in shipped if name in newest), {}
        )
        properties = definitions[name].get("properties", {})
        added = {
            field: {**properties[field], "default": known[field]["default"]}
            for field in properties.keys() & known.keys()
            if "default" in known[field] and "default" not in properties[field]
        }
        if added:
            out[name] = {**definitions[name], "properties": {**properties, **added}}
    return out


def _with_status_marks(
    definitions: Mapping[str, Schema], documents: Iterable[Mapping[str, Any]]
) -> Iterable[tuple[str, Schema]]:
    """The kinds whose ``status`` has an endpoint of its own, marked, so that writes to the main one ignore it."""
    marked = set()
    for document in documents:
        for path, operations in (document.get("paths") or {}).items():
            if path.endswith("/{name}/status"):
                for operation in operations.values():
                    gvk = operation.get("x-kubernetes-group-version-kind") if isinstance(operation, Mapping) else None
                    if gvk:
                        marked.add((gvk["group"], gvk["version"], gvk["kind"]))
    for name, schema in definitions.items():
        gvks = schema.get("x-kubernetes-group-version-kind") or ()
        if any((gvk.get("group", ""), gvk.get("version"), gvk.get("kind")) in marked for gvk in gvks):
            yield name, {**schema, STATUS_MARK: True}


class _Lines(Mapping[str, Schema]):
    """Definitions that are parsed when they are asked for."""

    def __init__(self, lines: dict[str, str]) -> None:
        self.lines = lines

    def __getitem__(self, name: str) -> Schema:
        found: Schema = json.loads(self.lines[name])
        return found

    def __iter__(self) -> Any:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)


@lru_cache(maxsize=1)
def _header() -> tuple[dict[str, str], str]:
    """Hashes by version, and the lines below."""
    first, _, rest = SHIPPED.read_text(encoding="utf-8").partition("\n")
    versions: dict[str, str] = json.loads(first)
    return versions, rest


@lru_cache
def _kubernetes(version: str) -> MergeSchema:
    versions, body = _header()
    if version not in versions:
        raise LookupError(f"no schema for Kubernetes {version}; modelyard has {', '.join(versions)}")
    mark = "abcdefghij"[list(versions).index(version)]
    lines: dict[str, str] = {}
    kinds: dict[tuple[str, str], str] = {}
    for line in body.splitlines():
        marks, name, names, text = line.split("\t", 3)
        if mark in marks:
            lines[name] = text
            if names:
                for gvk in names.split(" "):
                    api_version, _, kind = gvk.rpartition("/")
                    kinds[api_version, kind] = name
    return MergeSchema(_Lines(lines), kinds, versions[version])
