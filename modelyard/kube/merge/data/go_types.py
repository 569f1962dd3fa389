"""What Kubernetes' Go sources say about how an object is stored, and the OpenAPI documents do not.

A field with ``omitempty`` that is not a pointer is not written when it holds its zero value (``false``, ``0``, ``""``),
so an applied zero value is not there afterwards. And the server's code gives many fields a default, which the documents
lack.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from modelyard.kube.merge.types import (
    COPIED_MARK,
    DEFAULTS_MARK,
    DERIVED_MARK,
    DROPPED_MARK,
    UNDEFAULTED_MARK,
    WRITTEN_MARK,
)

HERE = Path(__file__).resolve().parent
LAB = HERE.parents[3] / "lab" / "kubernetes"
"""Its module file pins the Kubernetes whose defaults are read."""
PACKAGES = {
    "k8s.io/api": "*/*",
    "k8s.io/apimachinery": "pkg/apis/meta/v1",
    "k8s.io/apiextensions-apiserver": "pkg/apis/apiextensions/v1",
    "k8s.io/kube-aggregator": "pkg/apis/apiregistration/v1",
}
"""Modules with the types that the documents define, and where in them."""
_STRUCT = re.compile(r"^type (\w+) struct \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\t(?:(\w+)[ \t]+)?([^\s`]+)[ \t]+`[^`\n]*json:"([^"\n]*)"', re.MULTILINE)
_SCALARS = ("boolean", "integer", "number", "string")
_STRUCT_FORMATS = ("date-time", "int-or-string")
"""Of strings that are structs in Go, which are always written."""


_COPIED: dict[str, dict[str, Any]] = {
    "io.k8s.api.core.v1.LimitRangeItem": {
        "when": {"type": "Container"},
        "fill": {"default": ["max"], "defaultRequest": ["default", "min"]},
    },
    "io.k8s.api.core.v1.ServicePort": {"when": {}, "fill": {"targetPort": ["port"]}},
}
"""What ``SetDefaults_LimitRangeItem`` and ``SetDefaults_Service`` take from other fields. ``defaults.go`` sees no more
than that a default depends on them."""


class GoStruct(NamedTuple):
    """The fields of a Go struct by their names in JSON."""

    dropped: frozenset[str]
    """Not written when they hold their zero value, unless they are structs."""
    plain: frozenset[str]
    """No pointers, so that their zero value is all that stands for nothing."""
    quantities: frozenset[str]
    """Quantities that are always written, as ``0`` when they are empty."""


def download(module: str) -> Path:
    """The folder of a Go module, such as ``k8s.io/api@v0.35.4``."""
    answer = subprocess.run(["go", "mod", "download", "-json", module], check=True, capture_output=True, text=True)
    return Path(json.loads(answer.stdout)["Dir"])


def structs(version: str) -> dict[str, GoStruct]:
    """The Go structs of a version of Kubernetes (``v1.35.4``) by the names of their definitions."""
    found: dict[str, GoStruct] = {}
    for module, pattern in PACKAGES.items():
        root = download(f"{module}@v0.{version.removeprefix('v1.')}")
        for folder in sorted(root.glob(pattern)):
            prefix = ".".join(("io.k8s", *module.split("/")[1:], *folder.relative_to(root).parts))
            text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*types*.go")))
            bodies = dict(_STRUCT.findall(text))
            found.update({f"{prefix}.{name}": GoStruct(*map(frozenset, _fields(name, bodies))) for name in bodies})
    return found


def _fields(name: str, bodies: Mapping[str, str]) -> tuple[set[str], set[str], set[str]]:
    dropped, plain, quantities = set[str](), set[str](), set[str]()
    for _, kind, tag in _FIELD.findall(bodies.get(name, "")):
        field, *options = tag.split(",")
        if kind == "metav1.TypeMeta":
            plain |= {"apiVersion", "kind"}
        elif "inline" in options:
            for mine, theirs in zip((dropped, plain, quantities), _fields(kind, bodies), strict=True):
                mine |= theirs
        elif kind == "resource.Quantity":
            quantities.add(field)
        elif kind[0] != "*":
            plain.add(field)
            if "omitempty" in options:
                dropped.add(field)
    return dropped, plain, quantities


def code_defaults() -> dict[str, dict[str, Any]]:
    """What ``defaults.go`` prints, from the Kubernetes of the lab."""
    with tempfile.TemporaryDirectory() as folder:
        for source in (LAB / "go.mod", LAB / "go.sum"):
            shutil.copy(source, folder)
        shutil.copy(HERE / "defaults.go", Path(folder) / "main.go")
        env = {**os.environ, "GOFLAGS": "", "GOWORK": "off", "CGO_ENABLED": "0"}
        command = ["go", "run", "-mod=readonly", "-trimpath", "."]
        done = subprocess.run(command, cwd=folder, env=env, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


def marked(
    definitions: Mapping[str, Any], known: Mapping[str, GoStruct], defaults: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Compact definitions with what the sources say about their fields.

    The defaults are of one version and stand in all: Kubernetes does not change the default of a field that it has.
    """
    return {
        name: dict(
            sorted(
                {
                    **_with_places(schema, defaults["undefaulted"].get(name, {})),
                    **dict(_marks(name, schema, known, defaults)),
                }.items()
            )
        )
        for name, schema in definitions.items()
    }


def _with_places(schema: Mapping[str, Any], places: Mapping[str, Mapping[str, bool]]) -> Mapping[str, Any]:
    """The schema of a Go type with a mark at each of its fields whose own type lacks some of its defaults there."""
    properties = schema.get("properties", {})
    changed = {
        field: _beside_reference(properties[field], sorted(left_out))
        for field, left_out in places.items()
        if field in properties
    }
    return {**schema, "properties": {**properties, **changed}} if changed else schema


def _beside_reference(schema: Mapping[str, Any], left_out: list[str]) -> dict[str, Any]:
    if "$ref" in schema:
        return dict(sorted({**schema, UNDEFAULTED_MARK: left_out}.items()))
    return {**schema, "items": _beside_reference(schema["items"], left_out)}


def _marks(
    name: str, schema: Mapping[str, Any], known: Mapping[str, GoStruct], defaults: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, Any]]:
    properties = schema.get("properties", {})
    struct = known.get(name, GoStruct(frozenset(), frozenset(), frozenset()))
    constant = {**dict.fromkeys(struct.quantities, "0"), **defaults["constant"].get(name, {})}
    constant = {field: constant[field] for field in sorted(constant.keys() & properties.keys())}
    copied = _COPIED.get(name, {})
    derived = sorted({*defaults["derived"].get(name, {})} & properties.keys() - copied.get("fill", {}).keys())
    dropped = [
        field
        for field in sorted(struct.dropped | (struct.plain & {*constant, *derived}))
        if (shape := properties.get(field, {})).get("type") in _SCALARS and shape.get("format") not in _STRUCT_FORMATS
    ]
    written = [
        field
        for field in sorted(struct.plain - struct.dropped - {*schema.get("required", ())})
        if properties.get(field, {}).get("type") == "array"
    ]
    marks = {
        DROPPED_MARK: dropped,
        DEFAULTS_MARK: constant,
        DERIVED_MARK: derived,
        COPIED_MARK: copied,
        WRITTEN_MARK: written,
    }
    yield from ((mark, value) for mark, value in marks.items() if value)
