"""Taking secrets out of objects that go into files.

Kubernetes has a kind of its own for them, which no plan reads. But passwords also stand where they do not belong: in
the environment and the arguments of a container, in an address with a user, in what kubectl notes of its last apply.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from modelyard.names import LEDGER_NOTE

HIDDEN = "(hidden)"
"""Stands for a value that looks like a secret."""

_SECRET = frozenset({"pwd", "token", "credential", "credentials"})
"""Words that make any name the name of a secret."""
_ENDING = ("password", "passwd", "passphrase", "secret", "apikey", "secretkey")
"""How such a word may also end: ``PGPASSWORD``."""
_LAST = frozenset({"pass", "requirepass", "auth", "cookie"})
"""Words that only say so at the end: ``DB_PASS``, not ``PASS_THROUGH``."""
_KEYS = frozenset(
    {"api", "access", "private", "secret", "encryption", "signing", "account", "fernet", "storage", "master", "auth"}
)
"""What stands before ``key`` in the name of a secret."""
_CONNECTION = ("connection", "string")
_ELSEWHERE = frozenset({"file", "path", "dir", "name", "ref", "url", "uri", "ttl", "seconds"})
"""Last words of names of what only leads to a secret."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ADDRESS = re.compile(r"(?<=://)([^\s:/@]*):([^\s/@]+)@")
_FLAG = re.compile(r"(--?[\w.-]+)(=?)(.*)", re.DOTALL)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_VARIABLE = re.compile(r"""\[name="?(?P<name>[^\]"]+)"?\]\.value""")


def hidden(value: Any) -> Any:
    """The value with ``HIDDEN`` in place of what looks like a secret; the same value where nothing does."""
    if isinstance(value, str):
        shown = _ADDRESS.sub(_address, value) if "://" in value else value
        return value if shown == value else shown
    if isinstance(value, Mapping):
        named = isinstance(value.get("name"), str) and is_secret(value["name"])
        parts = {key: hidden_at(str(key), inner, named and key == "value") for key, inner in value.items()}
        return parts if any(parts[key] is not inner for key, inner in value.items()) else value
    if isinstance(value, list):
        items = _arguments([hidden(item) for item in value])
        return items if any(one is not other for one, other in zip(items, value, strict=True)) else value
    return value


def hidden_at(name: str, value: Any, secret: bool = False) -> Any:
    """The value of a field of that name; ``secret`` says that it is one whatever the field's name."""
    if name == _LAST_APPLIED and isinstance(value, str):
        return _noted(value)
    if name == LEDGER_NOTE and isinstance(value, str):
        return _held(value)
    if isinstance(value, str) and value and (secret or is_secret(name)):
        return HIDDEN
    return hidden(value)


def is_secret(name: str) -> bool:
    """Whether a name says that its value is a secret: ``DB_PASSWORD``, ``apiKey``; not ``TOKEN_FILE``."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or words[-1] in _ELSEWHERE:
        return False
    return (
        bool(_SECRET.intersection(words))
        or any(word.endswith(_ENDING) for word in words)
        or words[-1] in _LAST
        or any(
            (second == "key" and first in _KEYS) or (first, second) == _CONNECTION for first, second in pairwise(words)
        )
    )


def _address(found: re.Match[str]) -> str:
    # A reference to a variable is no password.
    return found[0] if found[2].startswith("$(") else f"{found[1]}:{HIDDEN}@"


def _arguments(items: Sequence[Any]) -> list[Any]:
    """A command line without the values of options that are secrets: ``--password=x``, ``--password x``."""
    out: list[Any] = []
    following = False
    for item in items:
        flag = _FLAG.fullmatch(item) if isinstance(item, str) else None
        if flag is not None and is_secret(flag[1]):
            out.append(f"{flag[1]}={HIDDEN}" if flag[2] and not flag[3].startswith("$(") else item)
            following = not flag[2]
        else:
            out.append(HIDDEN if following and isinstance(item, str) and not item.startswith("$(") else item)
            following = False
    return out


def _noted(text: str) -> str:
    """What kubectl notes of an object, which is the whole object once more."""
    try:
        noted = json.loads(text)
    except ValueError:
        return HIDDEN
    shown = hidden(noted)
    return text if shown is noted else json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def _held(text: str) -> str:
    """What a ledger notes of the fields before: ``[path, value]`` each."""
    try:
        ledger = json.loads(text)
        held = [[path, _field(path, value)] for path, value in ledger["held"]]
    except (ValueError, TypeError, KeyError):
        return HIDDEN
    if held == ledger["held"]:
        return text
    return json.dumps({**ledger, "held": held}, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _field(path: str, value: Any) -> Any:
    variable = _VARIABLE.search(path)
    name = variable["name"] if variable is not None else path.rpartition(".")[2]
    return hidden_at(name, value)
