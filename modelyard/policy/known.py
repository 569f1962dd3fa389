"""The facts of a stack that an assertion may ask for."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from modelyard.stack.config import Config, Gpu, Platform, Stack
from modelyard.workloads import stack_facts, workloads


@cache
def known_facts() -> frozenset[str]:
    """The dotted path of every fact."""
    config = Config("ray", Platform("23.10"), Gpu("A10"))
    return frozenset(
        _paths(
            stack_facts(
                Stack(name="", file="", sha256="", config=config, context=None, positions={}), workloads(config)
            )
        )
    )


def _paths(known: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for name, value in known.items():
        if isinstance(value, Mapping):
            yield from _paths(value, f"{before}{name}.")
        else:
            yield before + name
