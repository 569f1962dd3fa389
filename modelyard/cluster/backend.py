"""Checks, before Pulumi runs, where it keeps the state.

Pulumi.yaml may name any address, and Pulumi sends the operator's token and cloud credentials there. So the operator
must have set, outside the project, every address that could read these.
"""

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from modelyard.files import MAX_YAML_BYTES, ReadError, parse_json, read_file
from modelyard.hiding import Confidential, hidden_words
from modelyard.stack.key_service import address_of
from modelyard.stack.project import PROJECT_FILES
from modelyard.stack.words import plain
from modelyard.stack.yaml.document import parse

BACKEND: Final = "PULUMI_BACKEND_URL"
SERVICE: Final = "https://api.pulumi.com"
"""Pulumi's own service, which is Pulumi's default."""
_BUCKETS: Final = {
    "s3": ("region", "awssdk", "profile", "dualstack", "fips", "accelerate", "use_path_style", "s3ForcePathStyle"),
    "gs": (),
    "azblob": ("storage_account",),
}
"""The schemes of clouds' buckets, each with the parameters that lead to no other server than the cloud's."""
_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_WORD: Final = re.compile(r"[A-Za-z0-9_-]*")


class BackendError(OSError):
    """An address with which modelyard does not run Pulumi.

    ``filename`` is what names the address, with the line in Pulumi.yaml; ``reason`` continues "FILE cannot be used:".
    """

    def __init__(self, place: str, reason: str, remedy: str) -> None:
        super().__init__(errno.EPERM, reason, place)
        self.reason = reason
        self.remedy = remedy


def backend_variables(root: Path) -> Confidential[dict[str, str]]:
    """The environment variable that makes Pulumi use exactly the address that was checked.

    Pulumi takes the address from ``PULUMI_BACKEND_URL``, from Pulumi.yaml, or from the last ``pulumi login``, in that
    order. The variable repeats the result, so Pulumi cannot read Pulumi.yaml differently from modelyard.

    Args:
        root: the project's folder.

    Raises:
        BackendError: only Pulumi.yaml names the address, and credentials would reach it; or they would go there
            without TLS.
    """
    place, url = BACKEND, os.environ.get(BACKEND, "")
    current, logins = _logins()
    if not url:
        place, url = _of_project(root)
        if url and not _is_named(url, logins) and not _is_safe(url):
            shown = plain(hidden_words(url), 200)
            raise BackendError(
                place,
                f"backend.url is {shown}, an address that only this file names, so your credentials are not sent there",
                f"if you trust it, set {BACKEND}={shown} or run pulumi login {shown}; otherwise correct backend.url",
            )
    if not url:
        place, url = "Pulumi's login", current or ""
    if not url and current is not None:
        place, url = "PULUMI_API", os.environ.get("PULUMI_API", "") or SERVICE
    if not url:
        return Confidential({})
    if url.casefold().startswith("http:"):
        from modelyard.servers import Unusable, permit

        try:
            permit(url, "Pulumi's token", os.environ, named=True)
        except Unusable as error:
            raise BackendError(place, hidden_words(error.summary), error.remedy) from None
    return Confidential({BACKEND: url})


def _of_project(root: Path) -> tuple[str, str]:
    """File and line of ``backend.url``, and its value; empty if there is none."""
    for name in PROJECT_FILES:
        try:
            document, _ = parse(read_file(root / name, limit=MAX_YAML_BYTES, within=root))
        except ReadError:
            continue
        backend = document.value.get("backend") if document and isinstance(document.value, dict) else None
        url = backend.get("url") if isinstance(backend, dict) else None
        if document is None or not isinstance(url, str):
            return name, ""
        line, column = document.values.get(("backend", "url"), (1, 1))
        return f"{name}:{line}:{column}", url
    return PROJECT_FILES[0], ""


def _logins() -> tuple[str | None, tuple[str, ...]]:
    """The address of the last ``pulumi login``, and those of all logins; None and empty if the file cannot be read."""
    home = os.environ.get("PULUMI_CREDENTIALS_PATH") or os.environ.get("PULUMI_HOME") or "~/.pulumi"
    try:
        found = parse_json(read_file(Path(os.path.expanduser(home)) / "credentials.json"))  # noqa: PTH111 (no home)
    except ReadError as error:
        return ("" if error.missing else None), ()
    except ValueError:
        return None, ()
    if not isinstance(found, dict) or not {"current", "accounts", "accessTokens"} & found.keys():
        return ("" if found == {} else None), ()
    current = found.get("current")
    return (current if isinstance(current, str) else ""), tuple(_addresses(found))


def _addresses(found: dict[str, object]) -> Iterator[str]:
    for part in (found.get("accounts"), found.get("accessTokens"), found.get("current")):
        yield from (part,) if isinstance(part, str) else part if isinstance(part, dict) else ()


def _is_named(url: str, logins: tuple[str, ...]) -> bool:
    return url.rstrip("/") in (SERVICE, *(one.rstrip("/") for one in logins))


def _is_safe(url: str) -> bool:
    """Whether no server of the project's choice gets credentials: a folder, or a bucket at the cloud itself."""
    if (found := address_of(url)) is None:
        return False
    parts, given = found
    known = _BUCKETS.get(parts.scheme)
    if known is None:
        return parts.scheme == "file"
    return bool(_BUCKET.fullmatch(parts.netloc)) and all(
        name in known and _WORD.fullmatch(value) for name, value in given
    )
