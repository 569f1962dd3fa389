"""Notebooks that are submitted as jobs, and the servers they are written in, as a stack file describes them."""

from typing import NamedTuple


class NotebookUser(NamedTuple):
    """Somebody with a notebook server of their own."""

    name: str
    """Of the server, and the key of the login's Secret that is theirs."""
    team: str | None = None
    """In whose namespace the server is, and submits; None: the only team's, else the platform's namespace."""


class NotebookServers(NamedTuple):
    """The servers in which people write notebooks, one for each. They never have a GPU."""

    image: str
    """With JupyterLab, the extension and modelyard."""
    login: str
    """The Secret with a hashed password for each user, one of this name in each namespace with servers."""
    project: str | None = None
    """The project's folder, as the servers see it; None: the workspace."""
    cpu: str = "1"
    memory: str = "4Gi"
    kernel_idle: int = 3600
    """Seconds without work after which a kernel ends."""
    users: tuple[NotebookUser, ...] = ()


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
    servers: NotebookServers | None = None
    """None: Jupyter is somebody else's."""
