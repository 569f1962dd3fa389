"""A process dies at any step of an apply or destroy: the run reports a failure, and the next one completes."""

from collections.abc import Iterator

import pytest

from tests.lab.support.interrupted_switch import (
    LOG,
    RAY,
    ROUTE,
    Point,
    Switching,
    Victim,
    chain_id,
    chains,
    switching_in,
)

HEAD, SERVICE = "deployment-ray-head", "deployment-model-service"
VICTIMS: tuple[Victim, ...] = ("modelyard", "the engine", "the provider")
"""The API server's deaths are in ``test_faults_api_server.py``, for another pytest worker: each is an outage."""
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
"""Points of a destroy, which restores values and owners, and of the first apply after it."""


@pytest.fixture(scope="module")
def switching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Switching]:
    with switching_in(tmp_path_factory.mktemp("faults")) as made:
        yield made


def test_at_least_50_points_of_an_apply_are_interrupted() -> None:
    every = {point for victim in (*VICTIMS, "the API server") for chain in chains(victim) for point in chain}
    assert len(every) >= 50


@pytest.mark.parametrize("chain", [chain for victim in VICTIMS for chain in chains(victim)], ids=chain_id)
def test_the_next_apply_finishes_interrupted_ones(switching: Switching, chain: tuple[Point, ...]) -> None:
    switching.check_interrupted(chain)


@pytest.mark.parametrize(("down", "up"), ENDS, ids=str)
def test_an_interrupted_destroy_and_apply_can_be_repeated(switching: Switching, down: Point, up: Point) -> None:
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


def test_destroy_restores_every_target_after_all_interruptions(switching: Switching) -> None:
    env = switching.env
    code, _ = switching.interrupted(
        Point("the provider", "before", 1, f"GET deployments/{ROUTE} by pulumi-kubernetes"), "destroy"
    )
    assert code != 0
    env.modelyard("destroy", env.name, "--yes")
    env.settle()
    assert switching.targets() == switching.before
