"""Python environments that jobs run in, as a stack file asks for them."""

from typing import NamedTuple


class Pinned(NamedTuple):
    """A package of a lock."""

    name: str
    """As the index writes it."""
    version: str
    source: str = "pip"
    """Who installs it: ``pip`` or ``conda``, which name the same package differently at times."""


class Lock(NamedTuple):
    """What a lock file holds."""

    made_of: str
    """SHA-256 of the lists and the Python version that it was resolved from."""
    python: str
    packages: tuple[Pinned, ...]
    text: str
    """All files with their hashes."""
    conda: tuple[str, ...] = ()
    """Addresses of conda's files, each with ``#sha256:`` and its hash; none where pip installs everything."""
    pip: str = ""
    """The requirements with their hashes, as pip reads them; empty where conda installs everything."""


class Fault(NamedTuple):
    """What is wrong with one of an environment's files, or with a line of its list."""

    summary: str
    remedy: str
    key: str = ""
    """Of the environment in the stack file; empty for the lock."""
    item: int | None = None
    """Of the list under ``key``."""
    file: str = ""
    """The file that has the mistake, by its path from the project's folder on; empty for the stack file."""
    line: int = 0
    """1-based, 0 where there is none."""


class Files(NamedTuple):
    """What the project's files say of an environment."""

    requirements: tuple[str, ...] = ()
    """The list for pip, wherever it stands."""
    made_of: str = ""
    """SHA-256 of the lists and the Python version: of the lock that would fit."""
    lock_file: str = ""
    """Where the lock is, or would be, by its path from the project's folder on."""
    lock: Lock | None = None
    """None where nothing was locked yet, or ``faults`` say why not."""
    digest: str = ""
    """SHA-256 of what is built: lock, base image, Python version; empty without a lock that fits."""
    faults: tuple[Fault, ...] = ()


class Environment(NamedTuple):
    """Packages for a Python, built once and shared by all runs that name it."""

    name: str
    python: str
    """``3.11``: that of the base image, or with ``conda`` the one that comes from a channel."""
    pip: tuple[str, ...] = ()
    """Requirements, such as ``pandas>=2``; those of ``requirements`` where this is empty."""
    conda: tuple[str, ...] = ()
    """Packages from channels, such as ``numpy=1.26``; pip's are installed on top of them."""
    channels: tuple[str, ...] = ()
    """Names or addresses, the first wins; empty: ``conda-forge``."""
    requirements: str | None = None
    """Path of a file with requirements, from the project's folder on."""
    image: str | None = None
    """In which it is built and its runs run; None: the runtime's."""
    index_secret: str | None = None
    """Secret whose key ``pip.conf`` says where packages come from, in each namespace with runs; None: PyPI."""
    claim: str = "environments"
    """The PersistentVolumeClaim with built environments, one of this name in each namespace with runs."""
    files: Files | None = None
    """None where nobody looked."""
