"""The NVIDIA device plugin, for clusters that come without it: without it no pod gets a GPU."""

import pulumi
from pulumi_kubernetes.apps.v1 import DaemonSet

from modelyard.names import GPU_RESOURCE, PRESENT_LABEL

IMAGE = "nvcr.io/nvidia/k8s-device-plugin:v0.17.4"


class DevicePlugin(pulumi.ComponentResource):
    """The device plugin on each node with the label ``nvidia.com/gpu.present``.

    As NVIDIA's own static manifest of this version, apart from the node selector. Clusters with the GPU operator have a
    device plugin already.
    """

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("modelyard:index:DevicePlugin", name, None, opts)
        labels = {"app.kubernetes.io/name": "nvidia-device-plugin"}
        made = DaemonSet(
            name,
            metadata={"name": "nvidia-device-plugin", "namespace": "kube-system", "labels": labels},
            spec={
                "selector": {"matchLabels": labels},
                "updateStrategy": {"type": "RollingUpdate"},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "nodeSelector": {PRESENT_LABEL: "true"},
                        "tolerations": [{"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"}],
                        "priorityClassName": "system-node-critical",
                        "containers": [
                            {
                                "name": "device-plugin",
                                "image": IMAGE,
                                "env": [{"name": "FAIL_ON_INIT_ERROR", "value": "false"}],
                                "securityContext": {
                                    "allowPrivilegeEscalation": False,
                                    "capabilities": {"drop": ["ALL"]},
                                },
                                "volumeMounts": [{"name": "plugins", "mountPath": "/var/lib/kubelet/device-plugins"}],
                            }
                        ],
                        "volumes": [{"name": "plugins", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}],
                    },
                },
            },
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"daemonSet": made.metadata["name"]})
