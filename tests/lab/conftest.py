"""Real control planes for the tests. A missing tool is built; no test is skipped for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import Lab
from tests.lab.support.environment import PlatformLab


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.lab)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One control plane for a module, without nodes, with the CRDs of Kueue, KEDA and KubeRay.

    A start takes three seconds of CPU time and an idle minute two, so one lab for the whole run would cost more.
    """
    with Lab.start(tmp_path_factory.mktemp("lab"), context="lab") as started:
        started.install_crds()
        yield started


@pytest.fixture(scope="module")
def platform_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlatformLab]:
    """A factory: ``platform_lab("dev")`` is shared by a module, for tests that leave the lab unchanged."""
    yield from _factory(tmp_path_factory)


@pytest.fixture
def fresh_platform_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlatformLab]:
    """A factory: ``fresh_platform_lab("dev")`` is a new lab for a test that changes it."""
    yield from _factory(tmp_path_factory)


def _factory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlatformLab]:
    started: dict[str, Lab] = {}

    def make(environment: str) -> Lab:
        if environment not in started:
            lab = Lab.start(tmp_path_factory.mktemp(environment), context=environment)
            started[environment] = lab
            lab.install_platform(environment)
        return started[environment]

    try:
        yield make
    finally:
        for lab in started.values():
            lab.stop()
