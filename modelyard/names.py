"""Names that several packages read or write: of GPUs, node labels and annotations.

The names of nodes come from the device plugin and from feature discovery. A name that only one package needs stands
there.
"""

from typing import Final

GPU_RESOURCE: Final = "nvidia.com/gpu"
"""The resource of which a pod asks for whole GPUs; of nodes that are divided without renaming, for parts of them."""
SHARED_RESOURCE: Final = "nvidia.com/gpu.shared"
"""The same of GPUs that several pods share, where they are renamed."""
MIG_PREFIX: Final = "nvidia.com/mig-"
"""How the names of MIG slices begin; the profile follows."""
PRODUCT_LABEL: Final = "nvidia.com/gpu.product"
PRESENT_LABEL: Final = "nvidia.com/gpu.present"
COUNT_LABEL: Final = "nvidia.com/gpu.count"
REPLICAS_LABEL: Final = "nvidia.com/gpu.replicas"
"""How many pods share each GPU of a node."""
MACHINE_LABEL: Final = "node.kubernetes.io/instance-type"
NODE_POOL_LABEL: Final = "karpenter.sh/nodepool"
"""Which pool of Karpenter a node is of."""
STACK_NOTE: Final = "modelyard.dev/stack"
"""Whose an object is: as a label of what a stack submits the stack's name, as an annotation of what it applies the full
one, ``project/stack``."""
LEDGER_NOTE: Final = "modelyard.dev/ledger"
"""Annotation with what fields held before they were taken."""


def is_slice(resource: str) -> bool:
    """Whether a resource's name is that of a part of a GPU: of a MIG slice, or of a shared GPU that is called so."""
    return resource.startswith((MIG_PREFIX, f"{GPU_RESOURCE}."))


def is_gpu(resource: str) -> bool:
    """Whether a resource is GPUs, or parts of GPUs."""
    return resource == GPU_RESOURCE or is_slice(resource)
