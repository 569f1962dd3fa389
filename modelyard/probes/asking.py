"""Asks the source of a training backend how many jobs it has."""

from typing import assert_never

from modelyard.probes.values import Busy, JobSourceError
from modelyard.workloads.training.backend import Broker, Dashboard, HeadService, JobSource, NoJobSource, Numbers


def ask(source: JobSource) -> Busy:
    """The current jobs of a backend.

    Raises:
        JobSourceError: the source gives no usable answer.
    """
    match source:
        case Dashboard():
            from modelyard.probes import ray

            return ray.ask_dashboard(source)
        case HeadService():
            from modelyard.probes import ray

            return ray.ask_service(source)
        case Broker():
            from modelyard.probes import celery

            return celery.ask(source)
        case Numbers():
            from modelyard.probes import prometheus

            return prometheus.ask_jobs(source)
        case NoJobSource(why, remedy):
            raise JobSourceError(why, remedy, lasting=True)
        case _:
            assert_never(source)
