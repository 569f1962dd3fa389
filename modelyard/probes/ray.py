"""The jobs of Ray, from the jobs API of its dashboard (Ray 2.0 and newer).

The API lists submitted jobs, and every driver that connects without a submission. A driver that stays connected without
work counts as a running job here, but not in a query of Ray's tasks.
"""

import os
from collections.abc import Mapping
from typing import Any, Final

from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.state import ObjectKey
from modelyard.probes.http import get_json, parsed
from modelyard.probes.values import Busy, JobSourceError
from modelyard.servers import Unusable, Variables, bearer, secret_for
from modelyard.stack.words import cut
from modelyard.workloads.training.backend import Dashboard, HeadService

TOKEN: Final = "MODELYARD_RAY_TOKEN"
TOKEN_FILE: Final = "MODELYARD_RAY_TOKEN_FILE"
URL: Final = "MODELYARD_RAY_URL"
PATH: Final = "/api/jobs/"
PORT: Final = 8265
"""Default port of the dashboard."""
_WHAT: Final = "Ray's jobs API"
_ENDED: Final = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})
_SHOWN: Final = 60


def jobs_of(document: Any) -> Busy:
    """The jobs in a list from the jobs API.

    A job in an unknown state counts as running: waiting too long loses nothing.

    Raises:
        JobSourceError: the document is not a list of jobs.
    """
    try:
        states = [(str(job["status"]), _name(job)) for job in document]
    except (TypeError, KeyError, AttributeError):
        raise JobSourceError(
            f"the answer is not from {_WHAT}", "check the address and its path", lasting=True
        ) from None
    running = [name for state, name in states if state not in _ENDED and state != "PENDING"]
    waiting = sum(state == "PENDING" for state, _ in states)
    return Busy(len(running), waiting, tuple(sorted(running)))


def _name(job: Mapping[str, Any]) -> str:
    name = job.get("submission_id") or job.get("job_id") or "?"
    what = " ".join(str(job.get("entrypoint") or "").split())
    shown = cut(what, _SHOWN)
    return f"{name} ({shown})" if shown else str(name)


def ask_dashboard(source: Dashboard) -> Busy:
    """Asks a dashboard at its address.

    Raises:
        JobSourceError: there is no answer.
    """
    try:
        token = secret_for(source.url, Variables(TOKEN, TOKEN_FILE, URL), os.environ)
    except Unusable as error:
        raise JobSourceError(error.summary, error.remedy, lasting=True) from None
    let_in = f"set {TOKEN} or {TOKEN_FILE}, and {URL} (the dashboard's address)"
    url = f"{source.url.rstrip('/')}{PATH}"
    return jobs_of(get_json(url, bearer(token), _WHAT, let_in))


def ask_service(source: HeadService) -> Busy:
    """Asks the dashboard through the API server's proxy.

    The API server authenticates the kubeconfig's user and forwards no credentials, so none are sent to Ray.

    Raises:
        JobSourceError: there is no answer.
    """
    from modelyard.cluster.connection import ClusterError, connect
    from modelyard.cluster.proxy import fetch, service_of

    try:
        client = connect(source.context)
        name = service_of(
            client, ObjectKey(WORKLOAD_KINDS[source.kind], source.kind, source.namespace, source.deployment), PORT
        )
        if name is None:
            raise JobSourceError(
                f"no Service in {source.namespace} leads to port {PORT} of {source.deployment}",
                "set drain.ray.jobs to the dashboard's address",
                lasting=True,
            )
        body = fetch(client, source.namespace, name, PORT, PATH)
    except ClusterError as error:
        raise JobSourceError(error.summary, error.remedy, lasting=error.lasting) from error
    return jobs_of(parsed(body, f"{name}:{PORT}{PATH}", _WHAT))
