"""Notebooks that are submitted as jobs, as a stack file describes them."""

from typing import NamedTuple


class Notebooks(NamedTuple):
    """The pods of submitted notebooks. ``memory`` is per GPU and ``cpu`` is for the pod, as for training workers."""

    image: str | None = None
    """With papermill and the notebooks' kernel; None: nothing can be submitted."""
    environment: str | None = None
    """With papermill and the kernel, instead of ``image``."""
    claim: str = "workspace"
    """The PersistentVolumeClaim with people's files, one of this name in each namespace that notebooks run in."""
    path: str = "/home/jovyan/work"
    """Where the volume is mounted, in the job as in Jupyter."""
    cpu: str = "4"
    memory: str = "24Gi"
    time_limit: int = 21600
    """Seconds that one notebook may run."""
    keep: int = 86400
    """Seconds for which a finished job and its log stay."""
