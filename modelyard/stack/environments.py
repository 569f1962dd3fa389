"""Python environments of jobs, as a stack file defines them."""

from typing import Annotated, NamedTuple

from modelyard.stack.units import COMPUTED


class Pinned(NamedTuple):
    """A package in a lock."""

    name: str
    """As the index writes it."""
    version: str
    source: str = "pip"
    """What installs it: ``pip`` or ``conda``, whose names for a package can differ."""


class Lock(NamedTuple):
    """The content of a lock file."""

    made_of: str
    """SHA-256 of the lists and the Python version that the lock was resolved from."""
    python: str
    packages: tuple[Pinned, ...]
    text: str
    """All files with their hashes."""
    conda: tuple[str, ...] = ()
    """URLs of conda's files, each with ``#sha256:`` and its hash; empty if pip installs everything."""
    pip: str = ""
    """The requirements with their hashes, as pip reads them; empty if conda installs everything."""


class Fault(NamedTuple):
    """What is wrong with one of an environment's files, or with a line of its list."""

    summary: str
    remedy: str
    key: str = ""
    """Key of the environment in the stack file; empty for the lock."""
    item: int | None = None
    """Position in the list under ``key``."""
    file: str = ""
    """The file with the mistake, relative to the project; empty for the stack file."""
    line: int = 0
    """1-based; 0 if there is no line."""


class Files(NamedTuple):
    """What the project's files contain for an environment."""

    requirements: tuple[str, ...] = ()
    """The list for pip, from the stack file or a requirements file."""
    made_of: str = ""
    """SHA-256 of the lists and the Python version, to match against the lock."""
    lock_file: str = ""
    """Path of the lock, existing or not, relative to the project."""
    lock: Lock | None = None
    """None: nothing is locked yet, or ``faults`` say why not."""
    digest: str = ""
    """SHA-256 of what is built: lock, base image, Python version; empty without a matching lock."""
    faults: tuple[Fault, ...] = ()


class Environment(NamedTuple):
    """Packages for a Python, built once and shared by all runs that name it."""

    name: str
    python: str
    """``3.11``: the Python of the base image, or with ``conda`` the one from a channel."""
    pip: tuple[str, ...] = ()
    """Requirements, such as ``pandas>=2``; if empty, those of ``requirements``."""
    conda: tuple[str, ...] = ()
    """Packages from channels, such as ``numpy=1.26``; pip's packages are installed on top of them."""
    channels: tuple[str, ...] = ()
    """Names or URLs, the first wins; empty: ``conda-forge``."""
    requirements: str | None = None
    """Path of a requirements file, relative to the project."""
    image: str | None = None
    """Image in which it is built and its runs run; None: that of the runtime."""
    index_secret: str | None = None
    """Secret whose key ``pip.conf`` sets the package index, in each namespace with runs; None: PyPI."""
    claim: str = "environments"
    """The PersistentVolumeClaim with built environments, with this name in each namespace with runs."""
    files: Annotated[Files | None, COMPUTED] = None
    """None: the files were not read."""
