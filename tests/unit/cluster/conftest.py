"""Nothing here waits for a busy API server; tests see for how long it would have been."""

import pytest


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that a test would have made."""
    waited: list[float] = []
    monkeypatch.setattr("modelyard.cluster.requests.time.sleep", waited.append)
    return waited
