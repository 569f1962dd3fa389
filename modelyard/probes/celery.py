"""The jobs of Celery, from its queue in RabbitMQ: waiting messages, and messages that a worker has not acknowledged.

A worker that acknowledges before it runs a job (Celery's ``task_acks_late`` is off) shows nothing here while the job
runs. The platform's own autoscaling query counts unacknowledged messages too, so its workers acknowledge late.
"""

import os
from typing import Any, Final
from urllib.parse import quote

from modelyard.hiding import Confidential
from modelyard.probes.http import get_json
from modelyard.probes.values import Busy, JobSourceError
from modelyard.servers import Unusable, Variables, basic, secret_for
from modelyard.workloads.training.backend import Broker

USER: Final = "MODELYARD_BROKER_USER"
PASSWORD: Final = "MODELYARD_BROKER_PASSWORD"
PASSWORD_FILE: Final = "MODELYARD_BROKER_PASSWORD_FILE"
URL: Final = "MODELYARD_BROKER_URL"
_WHAT: Final = "RabbitMQ's management API"
_GUEST: Final = Confidential("guest")
"""RabbitMQ's default password, the same on every broker: without a setting, no secret is sent."""


def jobs_of(document: Any) -> Busy:
    """The jobs in the management API's answer about a queue.

    Raises:
        JobSourceError: the answer is not about a queue, or nothing was counted yet.
    """
    if not isinstance(document, dict) or "name" not in document:
        raise JobSourceError(f"the answer is not from {_WHAT}", "check the address and its path", lasting=True)
    ready, taken = document.get("messages_ready"), document.get("messages_unacknowledged")
    if not isinstance(ready, int) or not isinstance(taken, int):
        raise JobSourceError(
            f"the broker has not counted the messages of {document['name']} yet", "try again in a moment"
        )
    return Busy(taken, ready)


def ask(source: Broker) -> Busy:
    """The jobs in a Celery queue, from RabbitMQ's management API.

    Raises:
        JobSourceError: there is no answer.
    """
    try:
        password = secret_for(source.url, Variables(PASSWORD, PASSWORD_FILE, URL, USER), os.environ) or _GUEST
    except Unusable as error:
        raise JobSourceError(error.summary, error.remedy, lasting=True) from None
    user = os.environ.get(USER, "").strip() or "guest"
    place = f"{quote(source.virtual_host, safe='')}/{quote(source.queue, safe='')}"
    url = f"{source.url.rstrip('/')}/api/queues/{place}"
    let_in = f"set {USER}, {PASSWORD} or {PASSWORD_FILE}, and {URL} (the broker's address)"
    return jobs_of(get_json(url, basic(user, password), _WHAT, let_in))
