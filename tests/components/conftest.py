"""What the components register for a plan, without an engine: each resource as the engine would be asked for it."""

import asyncio
from collections.abc import Iterator

import pulumi
import pytest
from pulumi.runtime.settings import SETTINGS

from modelyard.components.platform import Platform
from modelyard.plan import Plan
from tests.support.component_engine import Accepting, Build, Engine


@pytest.fixture
def build() -> Iterator[Build]:
    """Builds a plan's components."""
    loops = []

    def run(plan: Plan) -> Engine:
        engine = Engine()
        # Whoever has used asyncio.run before has left none.
        loops.append(asyncio.new_event_loop())
        asyncio.set_event_loop(loops[-1])
        pulumi.runtime.set_mocks(Accepting(), project="modelyard", stack=plan.stack, monitor=engine)
        SETTINGS.callbacks = engine

        @pulumi.runtime.test
        def program() -> None:
            Platform("platform", plan)

        program()
        return engine

    yield run
    # Each holds three files open, and one process runs thousands of tests.
    for loop in loops:
        loop.close()
