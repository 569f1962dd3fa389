"""The API server dies at whichever step of an apply, and comes back: the next run finishes, and nobody claims more."""

from collections.abc import Iterator

import pytest

from tests.lab.support.interrupted_switch import Point, Switching, points, switching_in


@pytest.fixture(scope="module")
def switching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Switching]:
    with switching_in(tmp_path_factory.mktemp("outages")) as made:
        yield made


@pytest.mark.parametrize("point", points("the API server"), ids=str)
def test_the_next_run_finishes(switching: Switching, point: Point) -> None:
    switching.finishes(point)


def test_a_destroy_after_all_of_them_puts_everything_back(switching: Switching) -> None:
    env = switching.env
    env.modelyard("destroy", env.name, "--yes")
    env.settle()
    assert switching.targets() == switching.before
