"""Fixtures for each stack of the project; each folder defines ``sites``."""

from collections.abc import Mapping
from typing import Any

import pytest


@pytest.fixture
def dev(sites: Mapping[str, Any]) -> Any:
    return sites["dev"]


@pytest.fixture
def staging(sites: Mapping[str, Any]) -> Any:
    return sites["staging"]


@pytest.fixture
def prod(sites: Mapping[str, Any]) -> Any:
    return sites["prod"]
