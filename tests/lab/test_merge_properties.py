"""Random writes to random objects, sent to the real API server: each answer must equal the offline one."""

import os
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from lab import Lab
from tests.conformance.fuzz import random_steps, replay, seeds, smallest
from tests.conformance.server import Server, conformance_server

pytestmark = pytest.mark.lab

ROUNDS = int(os.environ.get("MODELYARD_FUZZ_ROUNDS", "2000"))
"""Rounds of each seed: three minutes for all four seeds. A million rounds take hours."""
SEEDS = os.environ.get("MODELYARD_FUZZ_SEEDS", "1 2 3 4").split()
"""The same seeds in every run, so that runs are comparable; set other seeds by hand to find more. With the name of
a round, such as ``3-1443``, only that round is sent.
"""


@pytest.fixture(scope="module")
def server(lab: Lab) -> Iterator[Server]:
    with conformance_server(lab) as started:
        yield started


@pytest.mark.quick
@pytest.mark.parametrize("seed", SEEDS)
def test_random_writes(server: Server, seed: str) -> None:
    """A failure is printed as a case for a file of tests/conformance/cases."""
    kinds = seeds()
    unforeseen: Counter[str] = Counter()
    for name in [seed] if "-" in seed else [f"{seed}-{number}" for number in range(ROUNDS)]:
        kind, steps = random_steps(name, kinds)
        replayed = replay(server, kind, steps)
        unforeseen.update(replayed.unforeseen)
        if replayed.found:
            again = f"MODELYARD_FUZZ_SEEDS={name} repeats it"
            pytest.fail(f"{again}\n{smallest(server, replayed.found)}", pytrace=False)
    # A write that the server's validation rejects is not compared.
    sys.stdout.write(f"accepted offline, refused by the server: {dict(unforeseen)}\n")
