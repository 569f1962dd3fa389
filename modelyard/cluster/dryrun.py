"""Asks the API server what an apply or a delete would do: the request with ``dryRun=All``, which changes nothing.

The request takes every step except the last, writing: conflicts, admission (webhooks and policies), quotas, defaulting
and validation are real. Loaded only by commands that read a cluster.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
from lightkube import Client

from modelyard.cluster.answer import Answer, Claim, Deletion, Question, Refusal, Why
from modelyard.cluster.connection import ask_server, error_words, status, transport
from modelyard.cluster.live import path_of, unknown_kind
from modelyard.cluster.requests import busy, patiently
from modelyard.cluster.writing import delete_options
from modelyard.files import parse_json
from modelyard.hiding import Confidential
from modelyard.kube.kinds import OPERATORS
from modelyard.kube.state import key_of
from modelyard.names import FIELD_MANAGER

AT_ONCE = 16
"""The most requests at a time."""

_HOLDER = re.compile(
    r'conflict with (?P<manager>"(?:[^"\\]|\\.)*")(?: with subresource (?P<subresource>"(?:[^"\\]|\\.)*"))?'
    r"(?P<update> using \S+)?"
)


def dry_run(client: Client, questions: Sequence[Question]) -> tuple[Answer, ...]:
    """What each apply would do and take from other owners, and what each delete would do; sends all questions at once.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        asked = [_begun(pool, client, question) for question in questions]
        return tuple(answer() for answer in asked)


def _begun(pool: ThreadPoolExecutor, client: Client, question: Question) -> Callable[[], Answer]:
    """Asks one question; the returned function waits for the answer."""
    if isinstance(question, Deletion):
        return pool.submit(_deleted, client, question).result
    forced = pool.submit(lambda: taken(question, _asked(client, question, force=True)))
    unforced = pool.submit(claims_of, client, question)

    def answer() -> Answer:
        predicted, claims = forced.result(), unforced.result()
        if isinstance(predicted, Refusal):
            return Answer(Confidential(None), (), predicted)
        return Answer(Confidential(predicted), () if isinstance(claims, Refusal) else claims)

    return answer


def _deleted(client: Client, deletion: Deletion) -> Answer:
    http, path = transport(client), path_of(deletion.key)

    def send() -> httpx2.Response:
        # If a delete has a body, the API server reads its options from the body alone.
        content = json.dumps({**delete_options(deletion.uid), "dryRun": ["All"]}).encode()
        return http.request("DELETE", path, content=content, headers={"Content-Type": "application/json"})

    answer = _answered(send, f"what a delete of {deletion.key.name} would do")
    gone = answer.status_code == 404
    return Answer(Confidential(None), (), None if gone or answer.is_success else refusal(answer))


def claims_of(client: Client, body: Mapping[str, Any]) -> tuple[Claim, ...] | Refusal:
    """The conflicts of an apply without force, sorted, or why the API server rejects it.

    The API server checks conflicts before admission, so an answer with a conflict shows nothing about later checks.

    Raises:
        ClusterError: the API server does not answer or denies access.
    """
    answer = _asked(client, body, force=False)
    if answer.status_code != 409:
        return () if answer.is_success else refusal(answer)
    causes = (status(answer).get("details") or {}).get("causes") or ()
    return tuple(sorted(_claim(cause) for cause in causes))


def _asked(client: Client, body: Mapping[str, Any], *, force: bool) -> httpx2.Response:
    """The API server's answer to a dry run of an apply."""
    key = key_of(body, "")
    http, path = transport(client), path_of(key)

    def send() -> httpx2.Response:
        return http.patch(
            path,
            params={"fieldManager": FIELD_MANAGER, "dryRun": "All", "force": "true" if force else "false"},
            content=json.dumps(body).encode(),
            headers={"Content-Type": "application/apply-patch+yaml"},
        )

    return _answered(send, f"what an apply to {key.name} would do")


def _answered(send: Callable[[], httpx2.Response], what: str) -> httpx2.Response:
    """The answer to one question; asks again while the API server is busy or another write changes the object."""
    answer = ask_server(lambda: patiently(send, lambda answer: busy(answer) or _overtaken(answer)), what)
    if answer.status_code == 401 or busy(answer):
        ask_server(answer.raise_for_status, what)
    return answer


def _overtaken(answer: httpx2.Response) -> bool:
    # A conflict with the owner of a field is an answer; a conflict with another write is not.
    return answer.status_code == 409 and not (status(answer).get("details") or {}).get("causes")


def _claim(cause: Mapping[str, Any]) -> Claim:
    field, message = str(cause.get("field", "")), str(cause.get("message", ""))
    found = _HOLDER.match(message)
    if found is None:
        return Claim(field, message, "")
    subresource = parse_json(found["subresource"]) if found["subresource"] else ""
    return Claim(field, parse_json(found["manager"]), "Update" if found["update"] else "Apply", subresource)


def taken(body: Mapping[str, Any], answer: httpx2.Response) -> dict[str, Any] | Refusal:
    """The object that the API server returns for a change, or why it rejects the change."""
    if unknown_kind(answer, key_of(body, "")):
        kind = f"{body['kind']} in {body['apiVersion']}"
        operator = OPERATORS.get(body["apiVersion"].partition("/")[0], "its operator")
        return Refusal("missing", f"the cluster has no {kind}: {operator} or its CRDs are not installed")
    return dict(parse_json(answer.content)) if answer.is_success else refusal(answer)


def refusal(answer: httpx2.Response) -> Refusal:
    """Why a change is rejected, in the API server's words."""
    message = error_words(answer)
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
