"""Lock files: every package of an environment with its version and the hash of its file.

A lock is a requirements file for pip with ``--require-hashes``; two comments at its top say what it was made of, and
conda's files come before pip's, one per line, each URL with its hash.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from modelyard.patterns import regex
from modelyard.stack.environments import Lock, Pinned
from modelyard.workloads.environments.conda import Solved, pinned
from modelyard.workloads.environments.lists import canonical

FOLDER: Final = "environments"
"""Project folder of locks, and of lists that are files."""
PLATFORM: Final = "linux x86_64"
"""Platform of GPU nodes; wheels are for one platform."""
MAX_BYTES: Final = 96 * 1024
"""Size of the largest lock, about 900 packages. The build gets it as an argument; Linux allows 128 KiB."""
_PIN: Final = regex(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9][A-Za-z0-9.+!_-]*)(?: --hash=sha256:[0-9a-f]{64})+"
)
_HEAD: Final = regex(r"# python (3\.\d+), linux x86_64\n# list sha256:([0-9a-f]{64})\n")


class LockError(ValueError):
    """Says why a text is not a lock."""


def lock_file(name: str) -> str:
    """Returns the path of an environment's lock, relative to the project. Stacks with equal name and list share it."""
    return f"{FOLDER}/{name}.lock"


def made_of(
    python: str, requirements: Iterable[str], conda: Iterable[str] = (), channels: Iterable[str] = (), cuda: str = ""
) -> str:
    """Returns the SHA-256 of a lock's input; order and blanks of lists do not count, the order of channels does.

    The platform's CUDA decides the builds that conda chooses.
    """
    made = {"python": python, "requirements": _plain(requirements)}
    if wanted := _plain(conda):
        return _sha256({**made, "conda": wanted, "channels": list(channels), "cuda": cuda})
    return _sha256(made)


def digest(lock: Lock, image: str) -> str:
    """Returns the SHA-256 of what is built: a change of any part gives another environment."""
    return _sha256({"image": image, "python": lock.python, "lock": lock.text.splitlines()})


def locked(python: str, fingerprint: str, files: Mapping[str, tuple[str, str]], conda: Iterable[Solved] = ()) -> str:
    """Returns the text of a lock.

    ``fingerprint`` is the result of :func:`made_of`; ``files`` are version and SHA-256 of pip's files by package name.
    """
    pins = sorted((canonical(name), version, sha) for name, (version, sha) in files.items())
    lines = [f"{one.line}\n" for one in conda]
    lines += [f"{name}=={version} \\\n    --hash=sha256:{sha}\n" for name, version, sha in pins]
    return f"# python {python}, {PLATFORM}\n# list sha256:{fingerprint}\n{''.join(lines)}"


def is_lock(text: str) -> bool:
    """Whether a text begins like a lock, even if it was edited since."""
    return _HEAD.match(text) is not None


def parse_lock(text: str) -> Lock:
    """Parses the text of a lock.

    Raises:
        LockError: the text is not a lock, or no longer one after an edit.
    """
    head = _HEAD.match(text)
    if head is None:
        raise LockError("its first two lines do not name the Python version and the list it was made from")
    body = text[head.end() :]
    packages: list[Pinned] = []
    conda: list[str] = []
    for number, entry in enumerate(body.replace("\\\n", " ").splitlines(), 1):
        if len(conda) == len(packages) and (package := pinned(entry)) is not None:
            conda.append(entry)
            packages.append(package)
            continue
        found = _PIN.fullmatch(" ".join(entry.split()))
        if found is None:
            raise LockError(f"entry {number} is not a package with version and hash")
        packages.append(Pinned(found["name"], found["version"]))
    if not packages:
        raise LockError("it has no packages")
    return Lock(
        made_of=head[2],
        python=head[1],
        packages=tuple(packages),
        text=body,
        conda=tuple(conda),
        pip=body[sum(len(one) + 1 for one in conda) :],
    )


def _plain(lines: Iterable[str]) -> list[str]:
    return sorted("".join(line.split()) for line in lines)


def _sha256(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
