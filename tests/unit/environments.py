"""The project's own stacks with their recorded platforms."""

from collections.abc import Mapping
from pathlib import Path

from modelyard.catalog import Library, load_library
from modelyard.cluster import load_recorded
from modelyard.kube.state import ClusterState
from modelyard.stack import Stack, load

ROOT = Path(__file__).parents[2]


def environments() -> Mapping[str, tuple[Stack, ClusterState, Library]]:
    """What each of the three asks for, what is there, and the patches that they share."""
    library = load_library(ROOT)
    found = {}
    for name in ("dev", "prod", "staging"):
        stack, findings = load(ROOT / "stacks" / f"Pulumi.{name}.yaml", f"stacks/Pulumi.{name}.yaml")
        state, problems = load_recorded(ROOT, name)
        assert stack is not None, findings
        assert state is not None, problems
        found[name] = (stack, state, library)
    return found
