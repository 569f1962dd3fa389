"""The API server dies at any step of an apply and restarts: the apply reports a failure, and the next one completes."""

from collections.abc import Iterator

import pytest

from tests.lab.support.interrupted_switch import Point, Switching, chain_id, chains, switching_in


@pytest.fixture(scope="module")
def switching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Switching]:
    with switching_in(tmp_path_factory.mktemp("outages")) as made:
        yield made


@pytest.mark.parametrize("chain", chains("the API server"), ids=chain_id)
def test_the_next_apply_finishes_interrupted_ones(switching: Switching, chain: tuple[Point, ...]) -> None:
    switching.check_interrupted(chain)


def test_destroy_restores_every_target_after_all_interruptions(switching: Switching) -> None:
    env = switching.env
    env.modelyard("destroy", env.name, "--yes")
    env.settle()
    assert switching.targets() == switching.before
