"""Asks Ray, RabbitMQ and Prometheus whether a training backend has work, and decides when a drain is over.

Owns the requests, the meaning of the answers, and the decision to continue, to wait or to give up. Does not know plans,
does not decide which changes must wait, and changes nothing.
"""

from modelyard.probes.values import BackendDrain, Busy, JobSourceError, described

__all__ = [
    "BackendDrain",
    "Busy",
    "JobSourceError",
    "described",
]
