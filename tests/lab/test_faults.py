"""Whatever dies at whichever step of an apply: the next run finishes, or a destroy restores, and nobody claims more."""

import logging
from collections.abc import Iterator

import pytest

from tests.lab.support.environment import environment
from tests.lab.support.fault_proxy import fault_proxy
from tests.lab.support.interrupted_switch import Point, Switching, Victim

ROUTE, RAY, CELERY = (
    "deployment-api-server",
    "deployment-ray-model-training-worker",
    "deployment-model-training-tasks-gpu",
)
HEAD, SERVICE = "deployment-ray-head", "deployment-model-service"
LOG = logging.getLogger(__name__)


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


@pytest.fixture(scope="module")
def switching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Switching]:
    folder = tmp_path_factory.mktemp("faults")
    with environment("dev", folder) as env, fault_proxy(env.lab, folder) as proxy:
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
    assert bool(env.deployment(RAY)["spec"]["replicas"]) == (switching.backend == "ray")
    assert bool(env.deployment(CELERY)["spec"]["replicas"]) == (switching.backend == "celery")


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
