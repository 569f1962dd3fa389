"""A real Kubernetes control plane and the real Pulumi engine on one machine.

Owns: building the pinned tools (``build``), running a control plane on loopback (``Lab``), its simulated nodes, and
the platforms that ``lab/platform/`` describes. Needs no container, no root and only the standard library, so that it
runs before any virtual environment exists.

Does not know modelyard's plans, patches or stacks, and runs no containers: kwok plays the kubelet.
"""

from lab.cluster import Lab
from lab.errors import LabError

__all__ = ["Lab", "LabError"]
