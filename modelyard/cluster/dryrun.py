"""Asking the API server what an apply would do: server-side apply with ``dryRun=All``, which changes nothing.

The whole way of a request is gone but for the last step, writing: conflicts, admission (webhooks and policies), quotas,
defaulting and validation are the real ones. Loaded only by verbs that look at a cluster.
"""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
from lightkube import Client

from modelyard.cluster.answer import Answer, Claim, Refusal, Why
from modelyard.cluster.connection import ask_server, sent, transport
from modelyard.cluster.live import path_of
from modelyard.cluster.state import ObjectKey, key_of

AT_ONCE = 16
"""Requests under way at a time."""
PAUSES = (0.1, 0.3, 0.9)
"""Seconds before each further attempt where the API server is busy or the object changed under the question."""
LONGEST_PAUSE = 5.0
"""Seconds that an API server may ask us to wait before the next attempt; past it we give up."""

_BUSY = (429, 500, 502, 503, 504)
_HOLDER = re.compile(
    r'conflict with (?P<manager>"(?:[^"\\]|\\.)*")(?: with subresource (?P<subresource>"(?:[^"\\]|\\.)*"))?'
    r"(?P<update> using \S+)?"
)


def dry_run(client: Client, bodies: Sequence[Mapping[str, Any]], manager: str) -> tuple[Answer, ...]:
    """What each apply would do, and what it would take from others; all are asked at once.

    Raises:
        ClusterError: the API server does not answer, or not to us.
    """
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        forced = [pool.submit(_forced, client, body, manager) for body in bodies]
        unforced = [pool.submit(claims_of, client, body, manager) for body in bodies]
        pairs = [(one.result(), other.result()) for one, other in zip(forced, unforced, strict=True)]
    return tuple(
        Answer(None, (), said)
        if isinstance(said, Refusal)
        else Answer(said, () if isinstance(claims, Refusal) else claims)
        for said, claims in pairs
    )


def claims_of(client: Client, body: Mapping[str, Any], manager: str) -> tuple[Claim, ...] | Refusal:
    """The conflicts of an apply without force, sorted; or why it is refused.

    Conflicts come before admission: where there is one, nothing is known of the rest.

    Raises:
        ClusterError: the API server does not answer, or not to us.
    """
    answer = _asked(client, body, manager, force=False)
    if answer.status_code != 409:
        return () if answer.is_success else _refusal(answer)
    causes = (_status(answer).get("details") or {}).get("causes") or ()
    return tuple(sorted(_claim(cause) for cause in causes))


def _forced(client: Client, body: Mapping[str, Any], manager: str) -> dict[str, Any] | Refusal:
    answer = _asked(client, body, manager, force=True)
    return dict(answer.json()) if answer.is_success else _refusal(answer)


def _asked(client: Client, body: Mapping[str, Any], manager: str, *, force: bool) -> httpx2.Response:
    """What the API server says to a dry run of an apply."""
    key = key_of(body, "")
    http, path = transport(client), path_of(key)

    def send() -> httpx2.Response:
        return http.patch(
            path,
            params={"fieldManager": manager, "dryRun": "All", "force": "true" if force else "false"},
            content=json.dumps(body).encode(),
            headers={"Content-Type": "application/apply-patch+yaml"},
        )

    return _patiently(send, f"what an apply to {key.name} would do")


def look(client: Client, key: ObjectKey) -> dict[str, Any] | None:
    """An object as it is now, asked for as patiently as what an apply would do; None where there is none.

    Raises:
        ClusterError: the API server does not answer, or not to us.
    """
    http, path = transport(client), path_of(key)
    answer = _patiently(lambda: http.get(path), key.name)
    if answer.status_code == 404 and _status(answer).get("kind") == "Status":
        return None
    ask_server(answer.raise_for_status, key.name)
    return {**ask_server(answer.json, key.name), "apiVersion": key.api_version, "kind": key.kind}


def _patiently(send: Callable[[], httpx2.Response], what: str) -> httpx2.Response:
    """The answer to one question, asked again while the API server is busy."""
    answer = ask_server(lambda: sent(send), what)
    for pause in PAUSES:
        wait = _wait(answer, pause)
        if wait is None:
            break
        time.sleep(wait)
        answer = ask_server(send, what)
    if answer.status_code == 401 or (answer.status_code in _BUSY and _webhook_failed(answer) is None):
        ask_server(answer.raise_for_status, what)
    return answer


def _wait(answer: httpx2.Response, pause: float) -> float | None:
    """Seconds to wait before the question is asked once more; None where this answer counts."""
    busy = answer.status_code in _BUSY and _webhook_failed(answer) is None
    # A conflict with a field's owner is an answer; one with another write is not.
    overtaken = answer.status_code == 409 and not (_status(answer).get("details") or {}).get("causes")
    if not busy and not overtaken:
        return None
    said = answer.headers.get("Retry-After", "")
    wait = max(pause, float(said)) if said.isdigit() else pause
    return wait if wait <= LONGEST_PAUSE else None


def _webhook_failed(answer: httpx2.Response) -> str | None:
    """The message where a webhook that must be asked does not answer: applying fails the same way."""
    message = str(_status(answer).get("message", ""))
    return message if "failed calling webhook" in message else None


def _status(answer: httpx2.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _claim(cause: Mapping[str, Any]) -> Claim:
    field, message = str(cause.get("field", "")), str(cause.get("message", ""))
    found = _HOLDER.match(message)
    if found is None:
        return Claim(field, message, "")
    subresource = json.loads(found["subresource"]) if found["subresource"] else ""
    return Claim(field, json.loads(found["manager"]), "Update" if found["update"] else "Apply", subresource)


def _refusal(answer: httpx2.Response) -> Refusal:
    message = str(_status(answer).get("message") or f"the API server answered {answer.status_code}")
    return Refusal(_why(answer.status_code, message), message)


def _why(code: int, message: str) -> Why:
    if "exceeded quota" in message or "failed quota" in message:
        return "quota"
    if "webhook" in message or "ValidatingAdmissionPolicy" in message or "MutatingAdmissionPolicy" in message:
        return "admission"
    if code == 404:
        return "missing"
    if code == 403:
        return "rights" if " cannot " in message else "admission"
    return "invalid"
