"""Whatever dies at whichever step of an apply: the next run finishes, or a destroy restores, and nobody claims more."""

from collections.abc import Iterator

import pytest

from tests.lab.support.interrupted_switch import LOG, RAY, ROUTE, Point, Switching, Victim, points, switching_in

HEAD, SERVICE = "deployment-ray-head", "deployment-model-service"
VICTIMS: tuple[Victim, ...] = ("modelyard", "the engine", "the provider")
"""``test_faults_api_server.py`` has the API server's deaths, each of which is an outage: another worker runs them."""
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
    with switching_in(tmp_path_factory.mktemp("faults")) as made:
        yield made


def test_there_are_enough_points() -> None:
    assert len({point for victim in (*VICTIMS, "the API server") for point in points(victim)}) >= 50


@pytest.mark.parametrize("point", [point for victim in VICTIMS for point in points(victim)], ids=str)
def test_the_next_run_finishes(switching: Switching, point: Point) -> None:
    switching.finishes(point)


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
