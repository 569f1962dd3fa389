"""Names that several packages use: of GPUs, node labels, owners, annotations and files.

The names on nodes come from the device plugin and from feature discovery. A name that only one package needs is
defined in that package.
"""

from typing import Final

GPU_RESOURCE: Final = "nvidia.com/gpu"
"""Resource by which pods request whole GPUs; on nodes divided without renaming, it counts parts of GPUs."""
SHARED_RESOURCE: Final = "nvidia.com/gpu.shared"
"""Resource for GPUs that several pods share, where they are renamed."""
MIG_PREFIX: Final = "nvidia.com/mig-"
"""Prefix of the names of MIG slices, followed by the profile."""
PRODUCT_LABEL: Final = "nvidia.com/gpu.product"
MEMORY_LABEL: Final = "nvidia.com/gpu.memory"
"""Label with the memory of a node's GPUs in MiB."""
PRESENT_LABEL: Final = "nvidia.com/gpu.present"
COUNT_LABEL: Final = "nvidia.com/gpu.count"
REPLICAS_LABEL: Final = "nvidia.com/gpu.replicas"
"""Label with the number of pods that share each GPU of a node."""
MACHINE_LABEL: Final = "node.kubernetes.io/instance-type"
NODE_POOL_LABEL: Final = "karpenter.sh/nodepool"
"""Label with the Karpenter node pool of a node."""
RAY_NODE_TYPE: Final = "ray.io/node-type"
"""KubeRay's label for whether a pod is the head or a worker of a Ray cluster."""
STACK_NOTE: Final = "modelyard.dev/stack"
"""Key for the owning stack: on submitted objects, a label with the stack's name; on applied objects, an annotation with
the full name, ``project/stack``."""
LEDGER_NOTE: Final = "modelyard.dev/ledger"
"""Annotation with the values that fields had before they were taken over."""
FIELD_MANAGER: Final = "modelyard"
"""The field manager name under which the API server records modelyard's fields."""

HARDWARE_FILE: Final = "hardware.yaml"
"""File in a project's folder with the GPUs that the project defines."""
PATCHES_FOLDER: Final = "patches"
POLICIES_FOLDER: Final = "policies"
RECORDED: Final = "stacks/recorded"
"""Folder in a project with the recorded platforms, wherever the stack files are."""


def is_slice(resource: str) -> bool:
    """Whether a resource is a part of a GPU: a MIG slice, or a renamed shared GPU."""
    return resource.startswith((MIG_PREFIX, f"{GPU_RESOURCE}."))


def is_gpu(resource: str) -> bool:
    """Whether a resource counts GPUs or parts of GPUs."""
    return resource == GPU_RESOURCE or is_slice(resource)
