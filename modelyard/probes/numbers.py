"""The jobs of a training backend, from a Prometheus query whose one value is the number of jobs."""

import math
import os

from modelyard.probes.prometheus import Answer, BadAddress, Refused, ServerError, server
from modelyard.probes.prometheus import ask as ask_server
from modelyard.probes.values import Busy, JobSourceError
from modelyard.workloads.training.backend import Numbers


def jobs_of(answer: Answer | Refused) -> Busy:
    """The jobs in an answer. An answer without series does not count: a missing metric looks like an idle backend.

    Raises:
        JobSourceError: the answer is not one number of 0 or more.
    """
    if isinstance(answer, Refused):
        raise JobSourceError(f"the server rejects the query: {answer.words}", "correct the query", lasting=True)
    if answer.kind not in ("scalar", "vector") or answer.series != 1:
        number = "many" if answer.series is None else "no" if not answer.series else str(answer.series)
        raise JobSourceError(f"the query returns {number} series, not one number", "aggregate it: sum(…) or vector(0)")
    (value,) = answer.values
    if math.isnan(value) or value < 0:
        raise JobSourceError(f"the query returns {value:g}, not a number of jobs", "correct the query")
    return Busy(math.ceil(value), 0)


def ask(source: Numbers) -> Busy:
    """Asks a Prometheus server for the number of jobs.

    Raises:
        JobSourceError: there is no answer.
    """
    try:
        return jobs_of(ask_server(server(source.server, os.environ), source.query))
    except (ServerError, BadAddress) as error:
        raise JobSourceError(error.summary, error.remedy, lasting=isinstance(error, BadAddress)) from error
