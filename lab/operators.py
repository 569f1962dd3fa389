"""The operators that a lab can run, as data: ports, command lines, settings, and API server registrations.

They run as processes on loopback, like the control plane. A lab has no pod network, so a webhook is a URL where the
operator's own manifests name a Service.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAMES = ("kueue", "keda", "kuberay")
ALONG: Mapping[str, str] = {"keda": "keda-adapter"}
"""Processes that run with an operator: for KEDA, the server of the metrics that its autoscalers use to count pods."""
PROCESSES = ("kueue", "keda", "keda-adapter", "kuberay")
"""Processes in start order; each name is also the name of the binary and of the log."""
PORTS: Mapping[str, tuple[str, ...]] = {
    "kueue": ("health", "webhook"),
    "keda": ("health", "metrics", "service"),
    "keda-adapter": ("metrics", "secure"),
    "kuberay": ("health", "metrics"),
}
NAMESPACES: Mapping[str, str] = {
    "kueue": "kueue-system",
    "keda": "keda",
    "keda-adapter": "keda",
    "kuberay": "kuberay",
}
ADAPTER_SERVICE = "keda-operator-metrics-apiserver"
KUEUE_SECRET = "kueue-webhook-server-cert"
CONVERTED = ("localqueues", "clusterqueues", "cohorts", "workloads", "multikueueclusters")
"""Kueue's CRDs with a conversion webhook, as in its ``config/components/crd/kustomization.yaml``."""
_FRAMEWORKS = ("batch/job", "ray.io/rayjob", "ray.io/raycluster", "deployment", "pod")
_WORKLOADS = ("job", "rayjob", "raycluster", "deployment", "pod")
_KINDS = (*_WORKLOADS, "clusterqueue", "cohort", "resourceflavor", "workload")
_SPARED = {
    "matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "kueue-system"]}
    ]
}
"""Settings that Kueue's kustomization has for every kind of workload."""

Ports = Mapping[str, int]


def command(name: str, folder: Path, bin_: Path, asked: Mapping[str, Ports]) -> list[str]:
    """The argv of operator ``name`` of the lab in ``folder``; ``asked`` has the ports of all its operators."""
    ports = asked[name]
    at = {use: f"127.0.0.1:{port}" for use, port in ports.items()}
    system = folder / "system.kubeconfig"
    arguments = {
        "kueue": lambda: [
            f"--config={folder / 'operators' / 'kueue.json'}",
            # The visibility server would need an APIService that points to a Service.
            "--feature-gates=VisibilityOnDemand=false",
        ],
        "keda": lambda: [
            f"--metrics-bind-address={at['metrics']}",
            f"--health-probe-bind-address={at['health']}",
            f"--metrics-service-bind-address={at['service']}",
            f"--cert-dir={certificates(folder)}",
        ],
        "keda-adapter": lambda: [
            f"--metrics-service-address=127.0.0.1:{asked['keda']['service']}",
            f"--port={ports['metrics']}",
            "--bind-address=127.0.0.1",
            f"--secure-port={ports['secure']}",
            f"--cert-dir={certificates(folder)}",
            f"--tls-cert-file={certificates(folder) / 'tls.crt'}",
            f"--tls-private-key-file={certificates(folder) / 'tls.key'}",
            *(f"--{use}-kubeconfig={system}" for use in ("lister", "authentication", "authorization")),
        ],
        "kuberay": lambda: [
            f"--metrics-addr={at['metrics']}",
            f"--health-probe-bind-address={at['health']}",
            "--enable-leader-election=false",
        ],
    }
    return [str(bin_ / name), f"--kubeconfig={system}", *arguments[name]()]


def environment(name: str, folder: Path, proxy: str = "") -> dict[str, str]:
    """The environment of operator ``name``; ``proxy`` answers requests to Service names, but not to the API server."""
    made = {"PATH": os.defpath, "HOME": str(folder)} | ({"HTTP_PROXY": proxy} if proxy else {})
    if name in ("keda", "keda-adapter"):
        # Empty means every namespace; if it is unset, the operator does not start.
        namespace = NAMESPACES["keda"]
        made |= {"WATCH_NAMESPACE": "", "POD_NAMESPACE": namespace, "KEDA_CLUSTER_OBJECT_NAMESPACE": namespace}
    return made


def certificates(folder: Path) -> Path:
    """Folder of the operators' authority and server certificate: ``ca.crt``, ``ca.key``, ``tls.crt``, ``tls.key``."""
    return folder / "pki" / "operators"


def kueue_config(folder: Path, ports: Ports) -> dict[str, Any]:
    """Kueue's configuration file."""
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACES["kueue"],
        "health": {"healthProbeBindAddress": f"127.0.0.1:{ports['health']}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": ports["webhook"], "certDir": str(certificates(folder))},
        "leaderElection": {"leaderElect": False},
        # If disabled, Kueue wants certificates for metrics below /etc. It finds the lab's in the Secret and keeps them.
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": "kueue-webhook-service",
            "webhookSecretName": KUEUE_SECRET,
        },
        "waitForPodsReady": {
            "timeout": "30s",
            "recoveryTimeout": "30s",
            "blockAdmission": False,
            "requeuingStrategy": {"timestamp": "Eviction", "backoffBaseSeconds": 5, "backoffMaxSeconds": 30},
        },
        "integrations": {"frameworks": list(_FRAMEWORKS)},
    }


def adapter_objects(port: int) -> Mapping[str, Mapping[str, Any]]:
    """Objects that register KEDA's adapter with the API server, by path: a Service, its API, and read permissions."""
    service = {"name": ADAPTER_SERVICE, "namespace": NAMESPACES["keda-adapter"]}
    group = "external.metrics.k8s.io"
    rules = [
        {"apiGroups": [group], "resources": ["*"], "verbs": ["get", "list"]},
        {"nonResourceURLs": [f"/apis/{group}", f"/apis/{group}/*", "/openapi/*"], "verbs": ["get"]},
    ]
    rbac = "rbac.authorization.k8s.io"
    return {
        f"/api/v1/namespaces/{service['namespace']}/services/{service['name']}": {
            "apiVersion": "v1",
            "kind": "Service",
            # Loopback is not a valid endpoint address; a name is not checked.
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        },
        f"/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.{group}": {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "spec": {
                "group": group,
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {**service, "port": port},
            },
        },
        # The lab's API server has no certificate for the servers behind it, so they see it as anonymous.
        f"/apis/{rbac}/v1/clusterroles/lab-external-metrics": {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "rules": rules,
        },
        f"/apis/{rbac}/v1/clusterrolebindings/lab-external-metrics": {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "lab-external-metrics"},
            "subjects": [{"apiGroup": rbac, "kind": "Group", "name": "system:unauthenticated"}],
        },
    }


def kueue_conversion(port: int, bundle: str) -> dict[str, Any]:
    """The patch that makes a Kueue CRD use Kueue for conversion; ``bundle`` is the authority in base64."""
    return {
        "spec": {
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": _client("/convert", port, bundle), "conversionReviewVersions": ["v1"]},
            }
        }
    }


def kueue_webhooks(manifest: Mapping[str, Any], port: int, bundle: str) -> dict[str, Any]:
    """One of Kueue's two webhook configurations, pointing to its port, for the kinds that the lab has.

    Kueue looks them up by the names that its kustomization makes, so they get the same prefix.
    """
    kept = []
    for hook in manifest["webhooks"]:
        # Hook names are such as mjob.kb.io and vjob.kb.io.
        kind = hook["name"].split(".")[0][1:]
        if kind in _KINDS:
            client = _client(hook["clientConfig"]["service"]["path"], port, bundle)
            spared = {"namespaceSelector": _SPARED} if kind in _WORKLOADS else {}
            kept.append({**hook, **spared, "clientConfig": client})
    name = f"kueue-{manifest['metadata']['name']}"
    return {**manifest, "metadata": {"name": name}, "webhooks": kept}


def _client(path: str, port: int, bundle: str) -> dict[str, str]:
    return {"url": f"https://127.0.0.1:{port}{path}", "caBundle": bundle}
