"""Conda's lists and their results: packages, channels, and the files of a lock.

A package is a name with versions; a channel is a name or a URL. Conda allows more in both (channels before a package,
tokens in URLs), which would make a lock depend on something unstated, or reveal a password.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from modelyard.patterns import regex
from modelyard.stack.environments import Environment, Fault, Pinned

CHANNELS: Final = ("conda-forge",)
"""Default source of packages."""
SOLVER_VERSION: Final = "0.28.0"
"""Version of py-rattler, conda's solver and installer as a library: it makes locks and installs conda's files."""
SOLVER_SHA256: Final = "4f4ab1d34d5394e7ce130a86e59009c95ace4f5757d9c3af04de1351bcea47eb"
"""SHA-256 of its wheel for Linux x86_64 and Python 3.10 or newer."""
_VERSION: Final = r"[A-Za-z0-9*][A-Za-z0-9.+!*_]*"
_CLAUSE: Final = rf"(?:==|!=|~=|<=|>=|<|>)\s*{_VERSION}"
_PACKAGE: Final = regex(
    r"(?P<name>[A-Za-z0-9_][A-Za-z0-9._-]*)"
    rf"(?:\s*=\s*(?P<version>{_VERSION})(?:\s*=\s*(?P<build>[A-Za-z0-9._*]+))?|\s*{_CLAUSE}(?:\s*[,|]\s*{_CLAUSE})*)?"
)
"""The common part of conda's match specifications: no channel, no brackets, no URL."""
_CHANNEL: Final = regex(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9._-]+)*"
    r"|https?://[A-Za-z0-9._-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~-]+)*/?"
)
_TOKEN: Final = regex(r"@|/t/")
_FILE: Final = regex(
    r"(?P<url>https?://[A-Za-z0-9._-]+(?::[0-9]{1,5})?/(?:[A-Za-z0-9._~%-]+/)*"
    r"(?P<name>[A-Za-z0-9_][A-Za-z0-9._-]*)-(?P<version>[A-Za-z0-9._%+!]+)-(?P<build>[A-Za-z0-9._%+]+)"
    r"\.(?:conda|tar\.bz2))#sha256:(?P<sha>[0-9a-f]{64})"
)


class Solved(NamedTuple):
    """A file that a solver chose."""

    url: str
    sha256: str
    python: bool
    """Whether it is a Python package, which pip may know by the same name."""

    @property
    def line(self) -> str:
        """Its line in the lock."""
        return f"{self.url}#sha256:{self.sha256}"


def spelled(text: str) -> str:
    """Returns a package in the solver's spelling, which reads conda's ``name=version=build`` differently."""
    found = _PACKAGE.fullmatch(text.strip())
    if found is None or found["version"] is None:
        return "".join(text.split())
    version = found["version"]
    if found["build"]:
        return f"{found['name']} {version if '*' in version else f'=={version}'} {found['build']}"
    return f"{found['name']} {version}" if "*" in version else f"{found['name']}={version}"


def pinned(line: str) -> Pinned | None:
    """Returns the package of a lock's line, None if the line is not conda's."""
    found = _FILE.fullmatch(line)
    return Pinned(found["name"], unquote(found["version"]), "conda") if found is not None else None


def channels_of(environment: Environment) -> tuple[str, ...]:
    """Returns the channels of its packages; empty if conda installs none."""
    return (environment.channels or CHANNELS) if environment.conda else ()


def faults_of(environment: Environment) -> Iterator[Fault]:
    """Yields what cannot be locked, each with its place in the stack file."""
    seen = set()
    for index, text in enumerate(environment.conda):
        found = _PACKAGE.fullmatch(text.strip())
        if found is None:
            # The text is not repeated: a URL may contain a password.
            remedy = 'write a name with versions, such as "numpy=1.26"; channels have a list of their own'
            yield Fault("has a package that is not a name with versions", remedy, "conda", item=index)
        elif (name := found["name"].lower()) in seen:
            yield Fault(f"has {found['name']} twice", "merge them, such as numpy>=1.26,<2", "conda", item=index)
        elif name == "python":
            remedy = "drop it, and set the version under the key python of the Python environment"
            yield Fault("lists python as a conda package", remedy, "conda", item=index)
        else:
            seen.add(name)
    for index, text in enumerate(environment.channels):
        if _TOKEN.search(text):
            remedy = "use a channel or a mirror without credentials: every reader of the stack file sees them"
            yield Fault("has a channel with a password or a token", remedy, "channels", item=index)
        elif _CHANNEL.fullmatch(text) is None:
            remedy = "write a name such as conda-forge, or an address that begins with https://"
            yield Fault("has a channel that is neither a name nor an address", remedy, "channels", item=index)
    if environment.channels and not environment.conda:
        yield Fault("has channels but no conda packages", "list packages under conda, or drop channels", "channels")


def constraints(solved: Iterable[Solved]) -> Iterator[str]:
    """Yields pip's constraints, which keep it from replacing conda's files: the Python packages and their versions.

    Versions that Python does not know (PEP 440) are left out; the build checks again.
    """
    for one in solved:
        package = pinned(one.line)
        if (
            one.python
            and package is not None
            and re.fullmatch(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?", package.version)
        ):
            yield f"{package.name}=={package.version}"
