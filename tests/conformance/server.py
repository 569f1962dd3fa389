"""A client of a real API server for the conformance cases."""

import base64
import http.client
import json
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

from lab import Lab
from lab.components import CONTROLLERS
from modelyard.kube.merge.schema import OPERATORS

APPLY = "application/apply-patch+yaml"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"

NAMESPACE = "merge"
HERE = Path(__file__).parent
CRDS = (HERE / "schemas" / "sample-crd.yaml", HERE.parent / "lab" / "crds" / "karpenter.sh_nodepools.yaml")
"""The custom resources that a lab does not have anyway."""


def node_classes() -> dict[str, Any]:
    """Returns the custom resource EC2NodeClass, from its shipped schema: the Go module with its CRD is large, and the
    schema lacks only the validation.
    """
    line = next(line for line in OPERATORS.read_text().splitlines() if "/EC2NodeClass\t" in line)
    schema = json.loads(line.split("\t")[2])
    schema["properties"]["metadata"] = {"type": "object"}
    kept = {name: schema[name] for name in ("type", "properties", "required") if name in schema}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": kept}}
    names = {"kind": "EC2NodeClass", "listKind": "EC2NodeClassList", "plural": "ec2nodeclasses"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ec2nodeclasses.karpenter.k8s.aws"},
        "spec": {
            "group": "karpenter.k8s.aws",
            "scope": "Cluster",
            "names": {**names, "singular": "ec2nodeclass"},
            "versions": [{**version, "subresources": {"status": {}}}],
        },
    }


class Server:
    """A connection to the API server of the current context of a kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        context = next(c["context"] for c in config["contexts"] if c["name"] == config["current-context"])
        cluster = next(c["cluster"] for c in config["clusters"] if c["name"] == context["cluster"])
        user = next(u["user"] for u in config["users"] if u["name"] == context["user"])
        self._tls = _tls(cluster, user)
        url = urlsplit(cluster["server"])
        self._connection = http.client.HTTPSConnection(url.hostname or "", url.port, context=self._tls, timeout=30)
        self._headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        self._plural: dict[tuple[str, str], tuple[str, bool]] = {}

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **query: str
    ) -> tuple[int, dict[str, Any]]:
        """Sends a request and returns the status and the JSON answer."""
        target = f"{path}?{urlencode(query)}" if query else path
        data = None if body is None else json.dumps(body)
        headers = {**self._headers, "Content-Type": content_type, "Accept": "application/json"}
        self._connection.request(method, target, data, headers)
        response = self._connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else {}

    def collection(self, api_version: str, kind: str, namespace: str) -> str:
        """Returns the path of the objects of a kind, in the namespace if the kind is namespaced."""
        root = f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}"
        if (api_version, kind) not in self._plural:
            _, answer = self.request("GET", root)
            for resource in answer["resources"]:
                if "/" not in resource["name"]:
                    self._plural[api_version, resource["kind"]] = resource["name"], resource["namespaced"]
        plural, namespaced = self._plural[api_version, kind]
        return f"{root}/namespaces/{namespace}/{plural}" if namespaced else f"{root}/{plural}"

    def remove(self, path: str) -> None:
        """Deletes an object and its finalizers, if it exists."""
        status, _ = self.request("DELETE", path, gracePeriodSeconds="0")
        if status < 300:
            self.request("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE)


def _tls(cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    if cluster.get("insecure-skip-tls-verify"):
        return ssl._create_unverified_context()
    if "certificate-authority-data" in cluster:
        tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    else:
        tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
    if "client-certificate" in user:
        tls.load_cert_chain(user["client-certificate"], user["client-key"])
    elif "client-certificate-data" in user:
        with tempfile.NamedTemporaryFile(suffix=".pem") as pem:
            pem.write(base64.b64decode(user["client-certificate-data"]))
            pem.write(base64.b64decode(user["client-key-data"]))
            pem.flush()
            tls.load_cert_chain(pem.name)
    return tls


@contextmanager
def conformance_server(lab: Lab) -> Iterator[Server]:
    """Yields the API server of a lab with the custom resources above and the namespace ``merge`` for the cases only.

    The controllers are stopped meanwhile: they would write into the objects between the steps of a case.
    """
    from tests.conformance.record import install_crd

    server = Server(lab.kubeconfig)
    for name in CONTROLLERS:
        lab.pause(name)
    try:
        for crd in (*(yaml.safe_load(path.read_text()) for path in CRDS), node_classes()):
            install_crd(server, crd)
        server.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        yield server
    finally:
        for name in CONTROLLERS:
            lab.resume(name)
