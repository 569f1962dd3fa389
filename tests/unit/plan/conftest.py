"""Plans of the project's own stacks against their recorded platforms, and what becomes of them when applied."""

from collections.abc import Mapping

import pytest

from tests.support.example_stacks import Site, environments


@pytest.fixture(scope="session")
def sites() -> Mapping[str, Site]:
    """The three environments."""
    return {name: Site(*parts) for name, parts in environments().items()}
