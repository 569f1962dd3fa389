"""Plans of the project's stacks against their recorded platforms, and the result of applying them."""

from collections.abc import Mapping

import pytest

from tests.support.example_stacks import Site, environments


@pytest.fixture(scope="session")
def sites() -> Mapping[str, Site]:
    """Returns the three stacks."""
    return {name: Site(*parts) for name, parts in environments().items()}
