"""Makes ``kubernetes.tsv``: the merge schemas of the supported Kubernetes versions, from their OpenAPI documents.

Run it from anywhere with the Go client on PATH: ``python modelyard/kube/merge/data/generate.py``. It takes the v3
documents (v2 lacks the defaults of list keys) out of the ``k8s.io/kubernetes`` modules named below, keeps every kind
that has metadata and what it refers to, drops prose and validation, and adds what only the Go sources say
(``go_types``). The same input gives the same bytes.

The file: a JSON line with the SHA-256 of each version's definitions, then one line a definition with four columns:
the versions that have it (``a`` is the first of the header), its name, the kinds it stands for, its schema as JSON.
"""

import json
import sys
from collections import defaultdict
from typing import Any

from modelyard.kube.merge.data.go_types import code_defaults, download, marked, structs
from modelyard.kube.merge.schema import SHIPPED, MergeSchema, compact, digest

MODULES = {"1.33": "v1.33.13", "1.34": "v1.34.4", "1.35": "v1.35.4", "1.36": "v1.36.3"}


def documents(version: str) -> list[dict[str, Any]]:
    """The OpenAPI v3 documents of a Kubernetes version."""
    folder = download(f"k8s.io/kubernetes@{version}") / "api/openapi-spec/v3"
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return [document for document in found if document.get("components", {}).get("schemas")]


def kinds_with_metadata(definitions: dict[str, Any]) -> dict[str, Any]:
    """The definitions of objects, and every definition they refer to."""

    def references(schema: Any) -> set[str]:
        if isinstance(schema, dict):
            own = {schema["$ref"].rpartition("/")[2]} if isinstance(schema.get("$ref"), str) else set()
            return own.union(*map(references, schema.values()))
        return set()

    wanted = [
        name
        for name, schema in definitions.items()
        if "x-kubernetes-group-version-kind" in schema
        and schema.get("properties", {}).get("metadata", {}).get("$ref", "").endswith("ObjectMeta")
    ]
    kept: dict[str, Any] = {}
    while wanted:
        name = wanted.pop()
        if name not in kept:
            kept[name] = definitions[name]
            wanted += references(kept[name])
    return dict(sorted(kept.items()))


def main() -> None:
    """Writes the file."""
    header = {}
    marks: dict[tuple[str, str], str] = defaultdict(str)
    names: dict[str, set[str]] = defaultdict(set)
    defaults = code_defaults()
    for mark, (version, module) in zip("abcdefghij", MODULES.items(), strict=False):
        schema = MergeSchema.from_openapi(*documents(module))
        definitions = marked(kinds_with_metadata(compact(schema.definitions)), structs(module), defaults)
        header[version] = digest(definitions)
        for name, part in definitions.items():
            marks[name, json.dumps(part, sort_keys=True, separators=(",", ":"), ensure_ascii=False)] += mark
        for (api_version, kind), name in schema.kinds.items():
            names[name].add(f"{api_version}/{kind}")
    lines = [json.dumps(header, separators=(",", ":"))]
    for (name, text), mark in sorted(marks.items()):
        lines.append("\t".join((mark, name, " ".join(sorted(names[name])), text)))
    SHIPPED.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    sys.stdout.write(f"{SHIPPED}: {len(lines) - 1} definitions, {SHIPPED.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
