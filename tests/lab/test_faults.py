"""Whatever dies at whichever step of an apply: the next run finishes, or a destroy restores, and nobody claims more."""

import logging
import signal
from collections.abc import Iterator
from threading import Event
from typing import Literal, NamedTuple

import pytest

from tests.lab.between import Between, Lost, Reply, Request, When, between
from tests.lab.environment import Environment, comparable, environment
from tests.lab.started import Started, started, tell

ROUTE, RAY, CELERY = (
    "deployment-api-server",
    "deployment-ray-model-training-worker",
    "deployment-model-training-tasks-gpu",
)
HEAD, SERVICE = "deployment-ray-head", "deployment-model-service"
Victim = Literal["modelyard", "the engine", "the provider", "the ledger's provider", "the API server"]
COMMANDS = {
    "the engine": "pulumi ",
    "the provider": "pulumi-resource-kubernetes",
    "the ledger's provider": "pulumi.dynamic",
}
"""What the command of a victim's process has in it."""
OUTAGE = 30
"""Seconds until a run that goes on without its API server gets another."""
LOG = logging.getLogger(__name__)


class Point(NamedTuple):
    """A moment of an apply, told by the requests that the API server gets, and who dies then."""

    victim: Victim
    when: When
    nth: int
    request: str

    def __str__(self) -> str:
        return f"{self.victim} dies {self.when} {self.request} #{self.nth}"


def points() -> list[Point]:
    """In the order of an apply: its plan, the engine's look at what is there, the program's plan, then each target."""
    found = []
    for victim in ("modelyard", "the API server"):
        found += [
            Point(victim, "before", 1, "GET namespaces/kube-system by modelyard"),
            Point(victim, "after", 1, f"PATCH deployments/{ROUTE} (dry run) by modelyard"),
        ]
    everybody: tuple[Victim, ...] = ("modelyard", "the engine", "the provider", "the API server")
    for victim in everybody:
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
        found.append(Point(victim, "after", 1, "GET ml-platform/deployments (watch) by pulumi-kubernetes"))
    return found


ENDS = (
    (
        Point("modelyard", "before", 1, f"PATCH deployments/{HEAD} by modelyard"),
        Point("modelyard", "after", 1, f"PATCH deployments/{HEAD} by pulumi-kubernetes"),
    ),
    (
        Point("the engine", "after", 1, f"PATCH deployments/{HEAD} by modelyard"),
        Point("the engine", "before", 1, f"PATCH deployments/{HEAD} by pulumi-kubernetes"),
    ),
    (
        Point("the ledger's provider", "after", 1, f"PATCH deployments/{RAY} by modelyard"),
        Point("the provider", "after", 1, f"PATCH deployments/{SERVICE} by pulumi-kubernetes"),
    ),
    (
        Point("the API server", "before", 1, f"PATCH deployments/{SERVICE} by modelyard"),
        Point("the API server", "after", 1, f"PATCH deployments/{ROUTE} by pulumi-kubernetes"),
    ),
)
"""Moments of a destroy, which puts values and owners back, and of the first apply after it."""


class Switching:
    """An environment whose flag is flipped to and fro, through a proxy."""

    def __init__(self, env: Environment, proxy: Between) -> None:
        self.env, self.proxy = env, proxy
        self.side = "ray"
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
        assert self.targets() == {target.name: comparable(target.after) for target in plan.targets}

    def flip(self) -> None:
        """Edits the flag."""
        other = {"ray": "celery", "celery": "ray"}[self.side]
        self.env.edit(f"modelyard:training: {self.side}", f"modelyard:training: {other}")
        self.side = other

    def interrupted(self, point: Point, verb: str = "apply") -> tuple[int, str]:
        """Runs an apply, or a destroy, in which the victim dies at the point; its exit code and what it said."""
        came = Event()
        count = 0
        with started(self.env, verb, self.env.name, "--yes") as run:

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

    def kill(self, victim: Victim, run: Started) -> None:
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


@pytest.fixture(scope="module")
def switching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Switching]:
    folder = tmp_path_factory.mktemp("faults")
    with environment("dev", folder) as env, between(env.lab, folder) as proxy:
        yield Switching(env, proxy)


def test_there_are_enough_points() -> None:
    assert len(set(points())) >= 50


@pytest.mark.parametrize("point", points(), ids=str)
def test_the_next_run_finishes(switching: Switching, point: Point) -> None:
    env = switching.env
    switching.flip()
    LOG.info("%s", point)
    code, said = switching.interrupted(point)
    LOG.info("ended with %d: %s", code, said)
    assert "Traceback" not in said
    left = env.plan().changed
    assert code != 0 or left == (), f"claims to be done: {said}"
    again = env.modelyard("apply", env.name, "--yes", check=False)
    assert again.returncode == 0, again.stdout + again.stderr
    switching.done()
    assert bool(env.deployment(RAY)["spec"]["replicas"]) == (switching.side == "ray")
    assert bool(env.deployment(CELERY)["spec"]["replicas"]) == (switching.side == "celery")


@pytest.mark.parametrize(("down", "up"), ENDS, ids=str)
def test_a_destroy_and_the_first_apply_after_it_go_on(switching: Switching, down: Point, up: Point) -> None:
    env = switching.env
    for point, verb in ((down, "destroy"), (up, "apply")):
        LOG.info("%s", point)
        code, said = switching.interrupted(point, verb)
        LOG.info("ended with %d: %s", code, said)
        assert "Traceback" not in said
        assert code != 0, f"claims to be done: {said}"
        again = env.modelyard(verb, env.name, "--yes", check=False)
        assert again.returncode == 0, again.stdout + again.stderr
        if verb == "destroy":
            env.settle()
            assert switching.targets() == switching.before
    switching.done()


def test_a_destroy_after_all_of_them_puts_everything_back(switching: Switching) -> None:
    env = switching.env
    code, _ = switching.interrupted(
        Point("the provider", "before", 1, f"GET deployments/{ROUTE} by pulumi-kubernetes"), "destroy"
    )
    assert code != 0
    env.modelyard("destroy", env.name, "--yes")
    env.settle()
    assert switching.targets() == switching.before
