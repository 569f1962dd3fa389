"""Prepares a running lab for an operator, and checks when the operator is ready."""

import base64
import http.client
import json
from typing import TYPE_CHECKING, Any

import yaml

from lab import install, operators, process, state
from lab.errors import LabError

if TYPE_CHECKING:
    from lab.cluster import Lab

WITHIN = 120.0
"""Seconds that an operator may take to become ready; on an idle machine it takes a few."""
_APPLY = "application/apply-patch+yaml"
_FILES = ("ca.crt", "ca.key", "tls.crt", "tls.key")


def prepare(lab: "Lab", name: str, ports: operators.Ports) -> None:
    """Install what operator ``name`` needs before it starts. Repeating it changes only the ports.

    Raises:
        LabError: the API server refuses something, or certificates cannot be made.
    """
    install.crds(lab)
    _certificates(lab)
    namespace = operators.NAMESPACES[name]
    _apply(lab, f"/api/v1/namespaces/{namespace}", {"apiVersion": "v1", "kind": "Namespace"})
    if name == "kueue":
        _prepare_kueue(lab, ports)
    if name == "keda-adapter":
        for path, body in operators.adapter_objects(ports["secure"]).items():
            _apply(lab, path, dict(body))


def is_ready(lab: "Lab", name: str, ports: operators.Ports) -> bool:
    """Whether the operator reports ready, and the API server reaches Kueue's webhooks and KEDA's adapter."""
    if name == "keda-adapter":
        return lab.request("GET", "/apis/external.metrics.k8s.io/v1beta1").status == 200
    connection = http.client.HTTPConnection("127.0.0.1", ports["health"], timeout=5)
    try:
        connection.request("GET", "/readyz")
        if connection.getresponse().status != 200:
            return False
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    if name != "kueue":
        return True
    body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "lab-probe"}}
    return lab.request("POST", "/apis/kueue.x-k8s.io/v1beta2/resourceflavors?dryRun=All", body).status == 201


def _certificates(lab: "Lab") -> None:
    folder = operators.certificates(lab.folder)
    if (folder / "tls.crt").exists():
        return
    process.run([str(lab.tools.bin / "pki"), "--operators", str(folder)])


def _prepare_kueue(lab: "Lab", ports: operators.Ports) -> None:
    folder = operators.certificates(lab.folder)
    texts = {name: base64.b64encode((folder / name).read_bytes()).decode() for name in _FILES}
    secret = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": texts}
    _apply(lab, f"/api/v1/namespaces/{operators.NAMESPACES['kueue']}/secrets/{operators.KUEUE_SECRET}", secret)
    conversion = operators.kueue_conversion(ports["webhook"], texts["ca.crt"])
    for plural in operators.CONVERTED:
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.kueue.x-k8s.io"
        _must(lab, path, conversion, "application/merge-patch+json")
    for manifest in _manifests(lab):
        made = operators.kueue_webhooks(manifest, ports["webhook"], texts["ca.crt"])
        plural = f"{made['kind'].lower()}s"
        _apply(lab, f"/apis/admissionregistration.k8s.io/v1/{plural}/{made['metadata']['name']}", made)
    config = lab.folder / "operators" / "kueue.json"
    config.parent.mkdir(exist_ok=True)
    state.write(config, json.dumps(operators.kueue_config(lab.folder, ports), indent=2) + "\n")


def _manifests(lab: "Lab") -> list[dict[str, Any]]:
    path = lab.tools.folder / "webhooks" / "kueue" / "manifests.yaml"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}; build the tools: modelyard-lab build") from error
    return [document for document in yaml.safe_load_all(text) if document]


def _apply(lab: "Lab", path: str, body: dict[str, Any]) -> None:
    name = path.rpartition("/")[2]
    named = {**body, "metadata": {**body.get("metadata", {}), "name": name}}
    _must(lab, f"{path}?fieldManager=lab&force=true", named, _APPLY)


def _must(lab: "Lab", path: str, body: dict[str, Any], content_type: str) -> None:
    answer = lab.request("PATCH", path, body, content_type=content_type)
    if answer.status not in (200, 201):
        message = answer.body.get("message") if isinstance(answer.body, dict) else answer.body
        raise LabError(f"the API server refused {path}: {message}")
