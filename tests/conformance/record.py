"""Records the objects and schemas that the conformance cases need offline from a real API server.

``python -m tests.conformance.record KUBECONFIG`` plays ``live/*.yaml`` and writes each object as the server returns it,
and writes a compact schema of the sample custom resource (``schemas/sample-crd.yaml``, installed when it is missing)
from the OpenAPI document that the server publishes.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from modelyard.kube.merge import MergeSchema
from modelyard.kube.merge.schema import compact
from tests.conformance.casefile import HERE
from tests.conformance.server import APPLY, MERGE, Server

SAMPLE = HERE / "schemas" / "sample.json"


def live(server: Server, namespace: str, source: Path) -> dict[str, Any]:
    """Returns the object that the steps of a source file create."""
    spec = yaml.safe_load(source.read_text())
    api_version, kind = spec["type"].split()
    path = f"{server.collection(api_version, kind, namespace)}/case"
    server.remove(path)
    found: dict[str, Any] = {}
    for step in spec["steps"]:
        head = {"apiVersion": api_version, "kind": kind}
        if "create" in step:
            body = {**head, **step["create"], "metadata": {**step["create"].get("metadata", {}), "name": "case"}}
            status, found = server.request("POST", path.rpartition("/")[0], body, fieldManager=step["by"])
        elif "apply" in step:
            status, found = server.request(
                "PATCH", path, {**head, **step["apply"]}, content_type=APPLY, fieldManager=step["by"]
            )
        else:
            status, found = server.request(
                "PATCH", path, step["merge-patch"], content_type=MERGE, fieldManager=step["by"]
            )
        if status not in (200, 201):
            raise RuntimeError(f"{source.name}, by {step['by']}: {found.get('message')}")
    server.remove(path)
    return found


def install_crd(server: Server, crd: dict[str, Any]) -> None:
    """Installs a custom resource and waits until its schema is published."""
    server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    group, (version, *_) = crd["spec"]["group"], crd["spec"]["versions"]
    for _ in range(100):
        if server.request("GET", f"/openapi/v3/apis/{group}/{version['name']}")[0] == 200:
            return
        time.sleep(0.1)
    raise RuntimeError(f"the API server does not publish the schema of {crd['metadata']['name']}")


def published(server: Server, api_version: str, kinds: tuple[str, ...]) -> dict[str, Any]:
    """Returns a compact OpenAPI document of some kinds of an API version."""
    status, document = server.request("GET", f"/openapi/v3/apis/{api_version}")
    if status != 200:
        raise RuntimeError(f"the API server does not publish {api_version}")
    schema = MergeSchema.from_openapi(document)
    definitions = compact(schema.definitions)
    wanted = [schema.kinds[api_version, kind] for kind in kinds]
    kept = {}
    while wanted:
        name = wanted.pop()
        if name not in kept:
            kept[name] = definitions[name]
            wanted += _references(kept[name])
    return {"openapi": "3.0.0", "components": {"schemas": dict(sorted(kept.items()))}}


def _references(schema: Any) -> set[str]:
    if not isinstance(schema, dict):
        return set()
    own = {schema["$ref"].rpartition("/")[2]} if isinstance(schema.get("$ref"), str) else set()
    return own.union(*map(_references, schema.values()))


def main() -> None:
    """Writes all recorded objects and schemas."""
    server = Server(Path(sys.argv[1]))
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "record"}})
    install_crd(server, yaml.safe_load((HERE / "schemas" / "sample-crd.yaml").read_text()))
    found = published(server, "conformance.modelyard.dev/v1", ("Sample",))
    SAMPLE.write_text(json.dumps(found, sort_keys=True, separators=(",", ":")) + "\n")
    for source in sorted((HERE / "live").glob("*.yaml")):
        text = json.dumps(live(server, "record", source), sort_keys=True, indent=1)
        source.with_suffix(".json").write_text(text + "\n")


if __name__ == "__main__":
    main()
