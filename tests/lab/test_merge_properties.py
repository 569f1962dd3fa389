"""Random writes to random objects, sent to the real API server: every answer must be the offline one."""

import itertools
import os
import time
from collections.abc import Iterator

import pytest

from lab import Lab
from tests.conformance.fuzz import random_steps, replay, seeds, smallest
from tests.conformance.server import Server, conformance_server

pytestmark = pytest.mark.lab

SECONDS = float(os.environ.get("MODELYARD_FUZZ_SECONDS", "120"))
"""How long random writes are sent, of all seeds together: hours by hand."""
SEEDS = os.environ.get("MODELYARD_FUZZ_SEEDS", "1 2 3 4").split()
"""The same in every run; by hand others find more. Of one round, ``3-1443``, only that is sent."""


@pytest.fixture(scope="module")
def server(lab: Lab) -> Iterator[Server]:
    with conformance_server(lab) as started:
        yield started


@pytest.mark.parametrize("seed", SEEDS)
def test_random_writes(server: Server, seed: str) -> None:
    """What fails here is printed as a case, ready for a file of tests/conformance/cases."""
    deadline = time.monotonic() + SECONDS / len(SEEDS)
    kinds = seeds()
    rounds = [seed] if "-" in seed else (f"{seed}-{number}" for number in itertools.count())
    compared = 0
    for name in rounds:
        kind, steps = random_steps(name, kinds)
        found = replay(server, kind, steps)
        if found is not None:
            again = f"MODELYARD_FUZZ_SEEDS={name} repeats it"
            pytest.fail(f"{again}\n{smallest(server, found)}", pytrace=False)
        compared += 1
        if time.monotonic() > deadline:
            break
    assert "-" in seed or compared > SECONDS / len(SEEDS), "the server answers too slowly to find anything"
