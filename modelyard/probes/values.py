"""What a job source answers, and the wait until a training backend is idle."""

from typing import Final, NamedTuple, assert_never

from modelyard.findings import Failure
from modelyard.workloads.training import BACKENDS
from modelyard.workloads.training.backend import Broker, Dashboard, HeadService, NoJobSource, Numbers, Source

NO_DRAIN: Final = "MODELYARD_NO_DRAIN"
"""Environment variable that makes an apply wait for nothing; any text but an empty one."""
STOP: Final = "MODELYARD_STOP"
"""Environment variable ``PID:PATH``: every wait ends once the file exists or the process does not.

The engine does not report to a hook that the run should end; the process that drives the engine can.
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
    """A source gives no usable answer: why, and what to do."""

    def __init__(self, summary: str, remedy: str = "", *, lasting: bool = False) -> None:
        super().__init__(summary, remedy)
        self.lasting = lasting
        """Whether another attempt is of no use: a wrong address, a wrong password."""


class Drain(NamedTuple):
    """One wait of a plan: targets that are not touched until a backend is idle."""

    backend: str
    """The backend's name, as in ``modelyard:training``."""
    targets: tuple[str, ...]
    """Names, in the order in which they are applied."""
    limit: int
    """Seconds after which the wait fails."""
    quiet: int
    """Seconds without a job after which the backend is idle."""
    source: Source

    @property
    def name(self) -> str:
        """The backend's display name."""
        return BACKENDS[self.backend].title


def described(source: Source) -> str:
    """The source, in a few words."""
    match source:
        case Dashboard(url):
            return f"the jobs API of {url}"
        case HeadService(_, namespace, deployment):
            return f"the jobs API of {deployment} in {namespace}, through the API server"
        case Broker(url, _, queue):
            return f"the queue {queue} at {url}"
        case Numbers(server, _, _):
            return f"a query of {server}"
        case NoJobSource():
            return "no source"
        case _:
            assert_never(source)


def lag(source: Source) -> float:
    """Seconds by which an answer may be old.

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
