"""The command line of each process of a lab, as data."""

from pathlib import Path
from typing import NamedTuple


class Ports(NamedTuple):
    """Loopback ports of one lab."""

    api: int
    etcd: int
    etcd_peer: int


STORE = ("etcd",)
SERVER = ("kube-apiserver",)
CONTROLLERS = ("kube-controller-manager", "kube-scheduler", "kwok")
NAMES = (*STORE, *SERVER, *CONTROLLERS)
"""Components in start order; stopped in reverse, so that the API server never outlives its store."""


def command(name: str, folder: Path, bin_: Path, ports: Ports, stages: Path) -> list[str]:
    """The argv of component ``name`` of the lab in ``folder``."""
    pki = folder / "pki"
    system = folder / "system.kubeconfig"
    etcd = f"http://127.0.0.1:{ports.etcd}"
    peer = f"http://127.0.0.1:{ports.etcd_peer}"
    arguments = {
        "etcd": [
            "--name=lab",
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=lab={peer}",
            # A lab's data need not survive a power cut, and etcd spends most of its time waiting for the disk.
            "--unsafe-no-fsync",
            "--log-level=warn",
        ],
        "kube-apiserver": [
            f"--etcd-servers={etcd}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={ports.api}",
            # Loopback is not a valid endpoint address; nothing in a lab finds the API server through its Service.
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki / 'service-account.key'}",
            f"--service-account-signing-key-file={pki / 'service-account.key'}",
            f"--tls-cert-file={pki / 'apiserver.crt'}",
            f"--tls-private-key-file={pki / 'apiserver.key'}",
            f"--client-ca-file={pki / 'ca.crt'}",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            f"--audit-policy-file={folder / 'audit.yaml'}",
            f"--audit-log-path={folder / 'logs' / 'audit.log'}",
            "--enable-priority-and-fairness=false",
            "--profiling=false",
            "--shutdown-watch-termination-grace-period=1s",
        ],
        "kube-controller-manager": [
            f"--kubeconfig={system}",
            "--secure-port=0",
            "--leader-elect=false",
            f"--service-account-private-key-file={pki / 'service-account.key'}",
            f"--root-ca-file={pki / 'ca.crt'}",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
            # The defaults are 15 seconds and 5 minutes.
            "--horizontal-pod-autoscaler-sync-period=1s",
            "--horizontal-pod-autoscaler-downscale-stabilization=3s",
        ],
        "kube-scheduler": [
            f"--kubeconfig={system}",
            "--secure-port=0",
            "--leader-elect=false",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ],
        "kwok": [
            f"--kubeconfig={system}",
            f"--config={stages}",
            "--manage-all-nodes",
            # Without leases every node becomes NotReady after 40 seconds, and rollouts hang.
            "--node-lease-duration-seconds=40",
        ],
    }
    return [str(bin_ / name), *arguments[name]]
