"""Admission in a lab: policies that reject Deployments, and a webhook that changes or rejects objects."""

import base64
import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from lab import Lab
from tests.lab.support.environment import Environment, Object

DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"]}
Mutate = Callable[[Object], list[Object]]
"""Takes the object of a request and returns JSON Patch operations."""


@contextmanager
def mutating(lab: Lab, mutate: Mutate, resources: tuple[str, ...] = ("deployments",)) -> Iterator[list[bool]]:
    """A mutating webhook for objects of the group apps, in force until the context ends.

    Yields a list that fills with the requests' ``dryRun``.
    """
    seen: list[bool] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request = review["request"]
            seen.append(bool(request.get("dryRun")))
            patch = base64.b64encode(json.dumps(mutate(request["object"])).encode()).decode()
            answer = {"uid": request["uid"], "allowed": True, "patchType": "JSONPatch", "patch": patch}
            body = json.dumps({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": answer})
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args: Any) -> None:
            """Logs nothing."""

    pki = lab.folder / "pki"
    # The webhook uses the API server's certificate, which is valid for this machine and whose authority is known.
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pki / "apiserver.crt", pki / "apiserver.key")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    hook = {
        "name": "changes.lab.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "clientConfig": {
            "url": f"https://127.0.0.1:{server.server_address[1]}/",
            "caBundle": base64.b64encode((pki / "ca.crt").read_bytes()).decode(),
        },
        "rules": [
            {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": resources}
        ],
    }
    manifest = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "changes"},
        "webhooks": [hook],
    }
    lab.kubectl("apply", "--filename", "-", stdin=json.dumps(manifest))
    probe = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "probe"}}
    probe["spec"] = {
        "selector": {"matchLabels": {"app": "probe"}},
        "template": {"metadata": {"labels": {"app": "probe"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }

    def in_force() -> bool:
        lab.request("POST", "/apis/apps/v1/namespaces/default/deployments?dryRun=All", probe)
        return bool(seen)

    try:
        lab.wait("the webhook", in_force)
        seen.clear()
        yield seen
    finally:
        lab.kubectl("delete", "mutatingwebhookconfiguration", "changes")
        server.shutdown()
        server.server_close()


def apply(env: Environment, *objects: Object) -> None:
    """Applies objects to the lab with kubectl."""
    env.lab.kubectl("apply", "--filename", "-", stdin="\n---\n".join(map(json.dumps, objects)))


def policy(expression: str, message: str, *operations: str) -> tuple[Object, Object]:
    """A validating policy for Deployments, with its binding."""
    what = {**DEPLOYMENTS, "operations": operations} if operations else DEPLOYMENTS
    rules = {"resourceRules": [{**what, "resources": ["deployments"]}]}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "lab"}}
    checks = [{"expression": expression, "message": message}]
    return (
        {**head, "kind": "ValidatingAdmissionPolicy", "spec": {"matchConstraints": rules, "validations": checks}},
        {
            **head,
            "kind": "ValidatingAdmissionPolicyBinding",
            "spec": {"policyName": "lab", "validationActions": ["Deny"]},
        },
    )
