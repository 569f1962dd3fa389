"""The key service that a stack file names for its encrypted values (``secretsprovider``).

Pulumi asks it with the operator's cloud credentials, so the file may choose a key, but no server.
"""

import re
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

_KEY: Final = re.compile(r"[A-Za-z0-9_.:-]+")
_VAULT: Final = re.compile(
    r"[A-Za-z0-9-]+\.(?:vault|managedhsm)\.(?:azure\.net|azure\.cn|usgovcloudapi\.net|microsoftazure\.de)"
)
_SERVICES: Final = {
    "awskms": (_KEY, ("region", "awssdk", "profile", "dualstack", "fips")),
    "gcpkms": (re.compile("projects"), ()),
    "azurekeyvault": (_VAULT, ("algorithm",)),
    # Its address is in VAULT_ADDR.
    "hashivault": (_KEY, ("engine",)),
}
"""Of each service: the part of the address that a server may be named in, and the parameters that name none."""
_WORDS: Final = ("", "default", "passphrase")
_WORD: Final = re.compile(r"[A-Za-z0-9_-]*")


def address_of(text: str) -> tuple[SplitResult, list[tuple[str, str]]] | None:
    """The parts of an address and its parameters; None if it is no address, or has characters that none needs."""
    if not (text.isascii() and text.isprintable()):
        return None
    try:
        parts = urlsplit(text)
        return parts, parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return None


def is_at_its_cloud(provider: str) -> bool:
    """Whether a ``secretsprovider`` leads to no server of the file's choice."""
    if provider in _WORDS:
        return True
    if (found := address_of(provider)) is None:
        return False
    parts, given = found
    place, known = _SERVICES.get(parts.scheme, (None, ()))
    # awskms:///arn:… names its key behind the third slash.
    at = not parts.netloc if parts.scheme == "awskms" and parts.path.startswith("/arn:") else False
    return (
        place is not None
        and (at or place.fullmatch(parts.netloc) is not None)
        and all(name.startswith("context_") or (name in known and _WORD.fullmatch(value)) for name, value in given)
    )
