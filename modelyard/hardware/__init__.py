"""GPUs, node labels and machine types, and the rules that a stack must follow.

Owns the GPU tables with their sources (``data/``), the meaning of GPU names (``gpu_models``), whether a GPU is
supported and why (``verdict``, ``cuda``, ``table``), the limits with their sources (``limits``), the rules for the pods
of a stack (``rules``), the meaning of node labels (``nodes``), and the clouds' machine types (``instances``).

Does not read stack files, render workloads, place pods (``kube.scheduling`` does), or apply waivers.
"""

from modelyard.hardware.gpu_models import Ambiguous, GpuModel, find, near_gpus, not_one_gpu, products, resolve
from modelyard.hardware.verdict import verdict

__all__ = ["Ambiguous", "GpuModel", "find", "near_gpus", "not_one_gpu", "products", "resolve", "verdict"]
