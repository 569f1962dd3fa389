"""Identities and permissions in a lab: users, tokens and kubeconfigs."""

import base64
import json
from pathlib import Path
from typing import NamedTuple


class User(NamedTuple):
    """One identity known to a lab."""

    name: str
    groups: str
    token: str
    """Empty for the user with the client certificate ``pki/<name>.crt``."""


USERS = {
    user.name: user
    for user in (
        User("admin", "system:masters", "lab-admin-token"),
        # May read everything and change nothing.
        User("viewer", "lab:viewers", "lab-viewer-token"),
        # Is known, and may do nothing.
        User("stranger", "lab:strangers", "lab-stranger-token"),
        # Has an administrator's certificate that has expired.
        User("expired", "", ""),
    )
}
SYSTEM = User("lab-system", "system:masters", "lab-system-token")
"""The control plane itself."""

VIEWER_ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "lab-viewer"},
    "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}],
}
VIEWER_BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "lab-viewer"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "lab-viewer"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "lab:viewers"}],
}

AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}],
}
"""Audit policy for ``logs/audit.log``: logs requests of service accounts, so that tests see which rights they use."""


def tokens() -> str:
    """The API server's token file. The tokens are not secret: they open a server that listens on loopback only."""
    return "".join(
        f'{user.token},{user.name},{user.name},"{user.groups}"\n' for user in (*USERS.values(), SYSTEM) if user.token
    )


def kubeconfig(context: str, port: int, pki: Path, user: User) -> str:
    """A kubeconfig, as JSON (which is YAML), with one context for one user and nothing outside the file."""
    credentials = (
        {"token": user.token}
        if user.token
        else {
            "client-certificate-data": _base64(pki / f"{user.name}.crt"),
            "client-key-data": _base64(pki / f"{user.name}.key"),
        }
    )
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": context,
                "cluster": {
                    "server": f"https://127.0.0.1:{port}",
                    "certificate-authority-data": _base64(pki / "ca.crt"),
                },
            }
        ],
        "users": [{"name": f"{context}-{user.name}", "user": credentials}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": f"{context}-{user.name}"}}],
        "current-context": context,
    }
    return json.dumps(document, indent=2) + "\n"


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
