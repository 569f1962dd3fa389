"""The values of a drain: the answers of a job source, and the wait until a training backend is idle."""

from typing import Final, NamedTuple, assert_never

from modelyard.findings import Failure
from modelyard.workloads.training import BACKENDS
from modelyard.workloads.training.backend import Broker, Dashboard, HeadService, JobSource, NoJobSource, Numbers

NO_DRAIN: Final = "MODELYARD_NO_DRAIN"
"""Environment variable that turns drains off if it is not empty."""
PATIENCE: Final = 120
"""Seconds without an answer before a drain fails; a restarting broker answers again within this time."""
STOP: Final = "MODELYARD_STOP"
"""Environment variable ``PID:PATH``: every wait ends once the file ``PATH`` exists or the process ``PID`` has ended.

Pulumi does not report to a hook that the run should end, but the process that runs Pulumi can.
"""


class Busy(NamedTuple):
    """The jobs of a backend at one moment."""

    running: int
    waiting: int
    jobs: tuple[str, ...] = ()
    """Names of the running jobs that have names."""

    @property
    def idle(self) -> bool:
        """Whether there is no job."""
        return not self.running and not self.waiting

    def __str__(self) -> str:
        if self.idle:
            return "no job"
        parts = [
            f"{number} {word}" for number, word in ((self.running, "running"), (self.waiting, "waiting")) if number
        ]
        return f"{' and '.join(parts)} job{'' if self.running + self.waiting == 1 else 's'}"


class JobSourceError(Failure):
    """A job source without a usable answer: why, and what to do."""


class BackendDrain(NamedTuple):
    """One drain of a plan: its targets do not change until a training backend is idle."""

    backend: str
    """The backend's name, as in ``modelyard:training``."""
    targets: tuple[str, ...]
    """Names of the targets, in the order in which they are applied."""
    limit: int
    """Seconds after which the wait fails."""
    quiet: int
    """Seconds without a job after which the backend is idle."""
    source: JobSource

    @property
    def name(self) -> str:
        """The backend's display name."""
        return BACKENDS[self.backend].title


def described(source: JobSource) -> str:
    """A job source, in a few words."""
    match source:
        case Dashboard(url):
            return f"the jobs API of {url}"
        case HeadService(_, namespace, deployment, _):
            return f"the jobs API of {deployment} in {namespace}, through the Kubernetes API server"
        case Broker(url, _, queue):
            return f"the queue {queue} at {url}"
        case Numbers(server, _, _):
            return f"a query of {server}"
        case NoJobSource():
            return "no source"
        case _:
            assert_never(source)


def lag(source: JobSource) -> float:
    """The maximum age of a job source's answer, in seconds.

    RabbitMQ collects its statistics every five seconds (its ``collect_statistics_interval``), and a query returns
    the last sample.
    """
    match source:
        case Broker():
            return 5.0
        case Numbers(_, _, interval):
            return float(interval)
        case _:
            return 0.0
