"""A switch between Ray and Celery that is killed, or cut off, at a request of its own."""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Literal, NamedTuple

from tests.lab.support.cli_process import CliProcess, cli_process, tell
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
"""What the command of a victim's process has in it."""
OUTAGE = 30
"""Seconds until a run that goes on without its API server gets another."""


class Point(NamedTuple):
    """A moment of an apply, told by the requests that the API server gets, and who dies then."""

    victim: Victim
    when: When
    nth: int
    request: str

    def __str__(self) -> str:
        return f"{self.victim} dies {self.when} {self.request} #{self.nth}"


def points(victim: Victim) -> list[Point]:
    """In the order of an apply: its plan, the engine's look at what is there, the program's plan, then each target."""
    found = []
    if victim in ("modelyard", "the API server"):
        found += [
            Point(victim, "before", 1, "GET namespaces/kube-system by modelyard"),
            Point(victim, "after", 1, f"PATCH deployments/{ROUTE} (dry run) by modelyard"),
        ]
    found += [
        Point(victim, "before", 1, f"GET deployments/{ROUTE} by pulumi-kubernetes"),
        Point(victim, "before", 2, "GET namespaces/kube-system by modelyard"),
    ]
    for target in (ROUTE, RAY, CELERY):
        # Two dry runs belong to the plan of modelyard, two to that of the program; the fifth comes before the step.
        found += [
            Point(victim, "before", 5, f"PATCH deployments/{target} (dry run) by modelyard"),
            Point(victim, "before", 1, f"PATCH deployments/{target} by pulumi-kubernetes"),
            Point(victim, "after", 1, f"PATCH deployments/{target} by pulumi-kubernetes"),
        ]
    return [*found, Point(victim, "after", 1, "GET ml-platform/deployments (watch) by pulumi-kubernetes")]


class Switching:
    """An environment whose flag is flipped to and fro, through a proxy."""

    def __init__(self, env: Environment, proxy: FaultProxy) -> None:
        self.env, self.proxy = env, proxy
        self.backend = "ray"
        env.env["KUBECONFIG"] = str(proxy.kubeconfig)
        self.before = self.targets()
        env.modelyard("apply", env.name, "--yes")
        env.settle()

    def targets(self) -> dict[str, object]:
        """Every target as it is now."""
        found = {}
        for target in self.env.plan().targets:
            live = self.env.get(target.key)
            assert live is not None
            found[target.name] = comparable(live)
        return found

    def done(self) -> None:
        """Every target is what the plan says, once it has rolled out."""
        self.env.settle()
        plan = self.env.plan()
        assert plan.changed == ()
        assert self.targets() == {target.name: comparable(target.after.reveal()) for target in plan.targets}

    def flip(self) -> None:
        """Edits the flag."""
        other = {"ray": "celery", "celery": "ray"}[self.backend]
        self.env.edit(f"modelyard:training: {self.backend}", f"modelyard:training: {other}")
        self.backend = other

    def interrupted(self, point: Point, verb: str = "apply") -> tuple[int, str]:
        """Runs an apply, or a destroy, in which the victim dies at the point; its exit code and what it said."""
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
                run.over(OUTAGE)
                if came.is_set():
                    self.restart()
            code, out, said = run.end()
            self.proxy.meddle = lambda _request, _when: None
            self.env.lab.wait("the end of all processes", lambda: run.running() == {})
        assert came.is_set(), f"no such request came: {point}\n{said}"
        return code, out + said

    def restart(self) -> None:
        """A new API server. After some deaths controllers wait up to a minute before they look again: new ones, too."""
        self.env.lab.restart("kube-apiserver")
        for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
            self.env.lab.kill(name)
            self.env.lab.restart(name)

    def kill(self, victim: Victim, run: CliProcess) -> None:
        """Ends a victim as a crash would."""
        if victim == "the API server":
            self.env.lab.kill("kube-apiserver")
            return
        if victim == "modelyard":
            pids = [run.process.pid]
        else:
            pids = [pid for pid, command in run.running().items() if COMMANDS[victim] in command]
        assert pids, f"{victim} does not run"
        tell(pids, signal.SIGKILL)

    def finishes(self, point: Point) -> None:
        """Interrupts an apply of the other side at a point: it claims no more than it did, and the next finishes."""
        env = self.env
        self.flip()
        LOG.info("%s", point)
        code, said = self.interrupted(point)
        LOG.info("ended with %d: %s", code, said)
        assert "Traceback" not in said
        left = env.plan().changed
        assert code != 0 or left == (), f"claims to be done: {said}"
        again = env.modelyard("apply", env.name, "--yes", check=False)
        assert again.returncode == 0, again.stdout + again.stderr
        self.done()
        assert bool(env.deployment(RAY)["spec"]["replicas"]) == (self.backend == "ray")
        assert bool(env.deployment(CELERY)["spec"]["replicas"]) == (self.backend == "celery")


@contextmanager
def switching_in(folder: Path) -> Iterator[Switching]:
    """One on a lab of its own, until the context ends."""
    with environment("dev", folder) as env, fault_proxy(env.lab, folder) as proxy:
        yield Switching(env, proxy)
