"""A stack without findings for the hardware tests, and a function that changes it."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from modelyard.stack.config import Autoscaling, Celery, Config, Gpu, ModelService, Platform, RayHead, RayWorker, Stack

SECTIONS: dict[str, Any] = {
    "platform": Platform("23.10"),
    "gpu": Gpu("A10"),
    "modelService": ModelService(),
    "rayHead": RayHead(),
    "rayWorker": RayWorker(),
    "celery": Celery(memory="80Gi", consumer_timeout=21600),
    "autoscaling": Autoscaling(),
}
MakeStack = Callable[..., Stack]


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])[A-Z]", lambda found: "_" + found[0].lower(), name)


def make_stack(training: str = "ray", **changes: Mapping[str, Any]) -> Stack:
    """Returns a stack with changed sections, with keys as in a stack file; each key has its own position."""
    sections: dict[str, Any] = {}
    positions: dict[tuple[str | int, ...], tuple[int, int]] = {}
    for line, (name, section) in enumerate(SECTIONS.items(), start=1):
        change = {snake(key): value for key, value in changes.pop(name, {}).items()}
        sections[snake(name)] = section._replace(**change)
        positions[(name,)] = (line * 100, 3)
        for offset, field in enumerate(section._fields, start=1):
            camel = re.sub(r"_([a-z])", lambda found: found[1].upper(), field)
            positions[name, camel] = (line * 100 + offset, 5)
    assert not changes, f"no such section: {changes}"
    return Stack("dev", "stacks/Pulumi.dev.yaml", "0" * 64, Config(training, **sections), None, positions)


@pytest.fixture(name="make_stack")
def make_stack_fixture() -> MakeStack:
    return make_stack
