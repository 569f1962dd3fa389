"""Objects of a YAML text as rules see them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from modelyard.findings import Finding
from modelyard.policy import Subject, subject_of
from modelyard.stack import load
from modelyard.workloads import Facts, stack_facts, workloads

ROOT = Path(__file__).parents[2]
Found = Callable[..., list[Finding]]


def known(name: str = "dev") -> Facts:
    """What a stack of the project says."""
    stack, findings = load(ROOT / "stacks" / f"Pulumi.{name}.yaml", f"stacks/Pulumi.{name}.yaml")
    assert stack is not None, findings
    return stack_facts(stack, workloads(stack.config))


def subjects(text: str, stack: str = "dev", **more: Any) -> list[Subject]:
    """The objects of a YAML text, each with the role that its name has in a stack."""
    told = known(stack)
    roles = {
        value["deployment"]: role
        for role, value in told.items()
        if isinstance(value, Mapping) and "deployment" in value
    }
    found = []
    for body in yaml.safe_load_all(text):
        name = body["metadata"]["name"]
        role = roles.get(name, "") if body["kind"] == "Deployment" else ""
        found.append(subject_of(body, **{"role": role, "facts": told, **more}))
    return found
