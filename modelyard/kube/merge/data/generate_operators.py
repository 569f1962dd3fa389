"""Makes ``operators.tsv``: the merge schemas of operators' custom resources, from the CRDs in their Go modules.

Run it with the Go client on PATH: ``python modelyard/kube/merge/data/generate_operators.py``. What comes out is
what an API server publishes of the same CRDs, without prose and validation. The same input gives the same bytes.

The file: one line a definition with three columns: its name, the kind it stands for, its schema as JSON.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from modelyard.kube.merge.schema import OPERATORS, MergeSchema, compact

METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class Operator(NamedTuple):
    """Where an operator's CRDs are, and which of them count."""

    module: str
    version: str
    manifests: str
    api_version: str
    kinds: tuple[str, ...]


SOURCES = (
    Operator(
        "sigs.k8s.io/kueue",
        "v0.19.2",
        "config/components/crd/bases/*.yaml",
        "kueue.x-k8s.io/v1beta2",
        (
            *("AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster", "MultiKueueConfig"),
            *("ResourceFlavor", "Topology", "WorkloadPriorityClass"),
        ),
    ),
    Operator(
        "github.com/ray-project/kuberay/ray-operator",
        "v1.5.1",
        "config/crd/bases/*.yaml",
        "ray.io/v1",
        ("RayCluster", "RayJob", "RayService"),
    ),
    Operator(
        "github.com/kedacore/keda/v2",
        "v2.20.2",
        "config/crd/bases/*.yaml",
        "keda.sh/v1alpha1",
        ("ScaledObject", "TriggerAuthentication"),
    ),
    Operator("sigs.k8s.io/karpenter", "v1.8.0", "pkg/apis/crds/*.yaml", "karpenter.sh/v1", ("NodePool",)),
    Operator(
        "github.com/aws/karpenter-provider-aws",
        "v1.6.3",
        "pkg/apis/crds/*.yaml",
        "karpenter.k8s.aws/v1",
        ("EC2NodeClass",),
    ),
)


def definitions(operator: Operator) -> Iterator[tuple[str, dict[str, Any]]]:
    """The definitions of an operator's kinds by name, in the form in which an API server publishes them."""
    module = f"{operator.module}@{operator.version}"
    answer = subprocess.run(["go", "mod", "download", "-json", module], check=True, capture_output=True, text=True)
    group, _, version = operator.api_version.partition("/")
    for path in sorted(Path(json.loads(answer.stdout)["Dir"]).glob(operator.manifests)):
        spec = yaml.safe_load(path.read_text())["spec"]
        kind = spec["names"]["kind"]
        for served in spec["versions"]:
            if spec["group"] == group and served["name"] == version and kind in operator.kinds:
                yield ".".join((*reversed(group.split(".")), version, kind)), _published(served, group, kind)


def _published(served: dict[str, Any], group: str, kind: str) -> dict[str, Any]:
    schema = dict(served["schema"]["openAPIV3Schema"])
    properties = {**schema["properties"], "metadata": {"$ref": f"#/components/schemas/{METADATA}"}}
    gvk = {"group": group, "version": served["name"], "kind": kind}
    return {**schema, "properties": properties, "x-kubernetes-group-version-kind": [gvk]}


def paths(operator: Operator, name: str) -> dict[str, Any]:
    """The path of a kind's status, by which the schema knows that the main endpoint ignores it."""
    group, _, version = operator.api_version.partition("/")
    gvk = {"group": group, "version": version, "kind": name.rpartition(".")[2]}
    return {f"/apis/{operator.api_version}/{name}/{{name}}/status": {"patch": {"x-kubernetes-group-version-kind": gvk}}}


def main() -> None:
    """Writes the file."""
    lines = []
    for operator in SOURCES:
        found = dict(definitions(operator))
        if len(found) != len(operator.kinds):
            sys.exit(f"{operator.module} {operator.version} has not all of {', '.join(operator.kinds)}")
        statuses = {
            path: one
            for name, schema in found.items()
            if _has_status(schema)
            for path, one in paths(operator, name).items()
        }
        schema = MergeSchema.from_openapi({"openapi": "3.0.0", "components": {"schemas": found}, "paths": statuses})
        for name, part in compact(schema.definitions).items():
            text = json.dumps(part, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            lines.append("\t".join((name, f"{operator.api_version}/{name.rpartition('.')[2]}", text)))
    OPERATORS.write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8", newline="\n")
    sys.stdout.write(f"{OPERATORS}: {len(lines)} definitions, {OPERATORS.stat().st_size} bytes\n")


def _has_status(schema: dict[str, Any]) -> bool:
    return "status" in schema["properties"]


if __name__ == "__main__":
    main()
