"""A switch between Ray and Celery that is killed or disconnected at a given request."""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Literal, NamedTuple

from tests.lab.support.cli_process import CliProcess, cli_process, send_signal
from tests.lab.support.environment import Environment, comparable, environment
from tests.lab.support.fault_proxy import FaultProxy, Lost, Reply, Request, When, fault_proxy

Victim = Literal["modelyard", "the engine", "the provider", "the ledger's provider", "the API server"]
ROUTE, RAY, CELERY = (
    "deployment-api-server",
    "deployment-ray-model-training-worker",
    "deployment-model-training-tasks-gpu",
)
LOG = logging.getLogger(__name__)
COMMANDS = {
    "the engine": "pulumi ",
    "the provider": "pulumi-resource-kubernetes",
    "the ledger's provider": "pulumi.dynamic",
}
"""Text that the command of each victim's process contains."""
OUTAGE = 30
"""Seconds until the API server is restarted for a run that continues without it."""


class Point(NamedTuple):
    """A point of an apply, given by its requests to the API server, and the process that is killed there."""

    victim: Victim
    when: When
    nth: int
    request: str

    def __str__(self) -> str:
        return f"{self.victim} dies {self.when} {self.request} #{self.nth}"


def chains(victim: Victim) -> list[tuple[Point, ...]]:
    """The points of an apply, in chains: an apply that is interrupted at one of a chain still comes to those after it.

    First come the points of its plan, of the engine's refresh and of the program's plan, then those of each target.
    """
    starts = [
        Point(victim, "before", 1, f"GET deployments/{ROUTE} by pulumi-kubernetes"),
        Point(victim, "before", 2, "GET namespaces/kube-system by modelyard"),
    ]
    if victim in ("modelyard", "the API server"):
        starts = [
            Point(victim, "before", 1, "GET namespaces/kube-system by modelyard"),
            Point(victim, "after", 1, f"PATCH deployments/{ROUTE} (dry run) by modelyard"),
            *starts,
        ]
    # modelyard's plan makes two dry runs and the program's plan two; the fifth is right before the step.
    route, ray, celery = (
        (
            Point(victim, "before", 5, f"PATCH deployments/{target} (dry run) by modelyard"),
            Point(victim, "before", 1, f"PATCH deployments/{target} by pulumi-kubernetes"),
            Point(victim, "after", 1, f"PATCH deployments/{target} by pulumi-kubernetes"),
        )
        for target in (ROUTE, RAY, CELERY)
    )
    waiting = Point(victim, "after", 1, "GET ml-platform/deployments (watch) by pulumi-kubernetes")
    return [(*starts[:2], *route), (*starts[2:], *ray), celery, (waiting,)]


def chain_id(chain: tuple[Point, ...]) -> str:
    """The id of a chain's test."""
    return f"{chain[0]}, and {len(chain) - 1} more" if len(chain) > 1 else str(chain[0])


class Switching:
    """An environment that is switched between Ray and Celery through a proxy."""

    def __init__(self, env: Environment, proxy: FaultProxy) -> None:
        self.env, self.proxy = env, proxy
        self.backend = "ray"
        env.env["KUBECONFIG"] = str(proxy.kubeconfig)
        self.before = self.targets()
        env.modelyard("apply", env.name, "--yes")
        env.settle()

    def targets(self) -> dict[str, object]:
        """Every live target, by name."""
        found = {}
        for target in self.env.plan().targets:
            live = self.env.get(target.key)
            assert live is not None
            found[target.name] = comparable(live)
        return found

    def done(self) -> None:
        """Checks that every target is as planned after its rollout."""
        self.env.settle()
        plan = self.env.plan()
        assert plan.changed == ()
        assert self.targets() == {target.name: comparable(target.after.reveal()) for target in plan.targets}

    def flip(self) -> None:
        """Edits ``training`` in the stack file."""
        other = {"ray": "celery", "celery": "ray"}[self.backend]
        self.env.edit(f"modelyard:training: {self.backend}", f"modelyard:training: {other}")
        self.backend = other

    def interrupted(self, point: Point, verb: str = "apply") -> tuple[int, str]:
        """Runs an apply or a destroy in which the victim dies at the point; returns exit code and standard error."""
        came = Event()
        count = 0
        with cli_process(self.env, verb, self.env.name, "--yes") as run:

            def meddle(request: Request, when: When) -> Reply | None:
                nonlocal count
                if request.name != point.request or when != point.when or came.is_set():
                    return None
                count += 1
                if count < point.nth:
                    return None
                came.set()
                self.kill(point.victim, run)
                raise Lost

            self.proxy.meddle = meddle
            if point.victim == "the API server":
                # A step that waits for its rollout goes on waiting, until there is an API server again.
                run.ends_within(OUTAGE)
                if came.is_set():
                    self.restart()
            code, out, said = run.end()
            self.proxy.meddle = lambda _request, _when: None
            self.env.lab.wait("the end of all processes", lambda: run.running() == {})
        assert came.is_set(), f"no such request came: {point}\n{said}"
        return code, out + said

    def restart(self) -> None:
        """Restarts the API server, and the controllers, which could otherwise wait for a minute before they retry."""
        self.env.lab.restart("kube-apiserver")
        for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
            self.env.lab.kill(name)
            self.env.lab.restart(name)

    def kill(self, victim: Victim, run: CliProcess) -> None:
        """Kills a victim, as a crash would."""
        if victim == "the API server":
            self.env.lab.kill("kube-apiserver")
            return
        if victim == "modelyard":
            pids = [run.process.pid]
        else:
            pids = [pid for pid, command in run.running().items() if COMMANDS[victim] in command]
        assert pids, f"{victim} does not run"
        send_signal(pids, signal.SIGKILL)

    def check_interrupted(self, chain: tuple[Point, ...]) -> None:
        """Interrupts a switch and its repetitions at the points of a chain: the next apply finishes it.

        No interrupted apply may claim to be done while something is left to change.
        """
        env = self.env
        self.flip()
        for point in chain:
            LOG.info("%s", point)
            code, said = self.interrupted(point)
            LOG.info("ended with %d: %s", code, said)
            assert "Traceback" not in said
            assert code != 0 or env.plan().changed == (), f"claims to be done: {point}\n{said}"
        again = env.modelyard("apply", env.name, "--yes", check=False)
        assert again.returncode == 0, again.stdout + again.stderr
        self.done()
        assert bool(env.deployment(RAY)["spec"]["replicas"]) == (self.backend == "ray")
        assert bool(env.deployment(CELERY)["spec"]["replicas"]) == (self.backend == "celery")


@contextmanager
def switching_in(folder: Path) -> Iterator[Switching]:
    """A ``Switching`` on a new lab, which stops when the context ends."""
    with environment("dev", folder) as env, fault_proxy(env.lab, folder) as proxy:
        yield Switching(env, proxy)
