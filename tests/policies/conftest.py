"""The project's own rules, and a way to show them objects."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelyard.findings import Finding
from modelyard.policy import Subject, subject_of
from modelyard.policy.judging import judge
from modelyard.policy.loading import policies_of
from modelyard.policy.settings import Policies, Setting, Settings
from modelyard.stack import load
from modelyard.workloads import Facts, facts, workloads

ROOT = Path(__file__).parents[2]
Found = Callable[..., list[Finding]]


@pytest.fixture(scope="session")
def book() -> Policies:
    policies_of.cache_clear()
    found = policies_of(ROOT)
    assert found.findings == ()
    return found


def known(name: str = "dev") -> Facts:
    """What a stack of the project says."""
    stack, findings = load(ROOT / "stacks" / f"Pulumi.{name}.yaml", f"stacks/Pulumi.{name}.yaml")
    assert stack is not None, findings
    return facts(stack.config, workloads(stack.config))


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


@pytest.fixture
def finds(book: Policies) -> Found:
    """What one rule finds in the objects of a text."""

    def run(code: str, text: str, *, params: Mapping[str, Any] | None = None, **more: Any) -> list[Finding]:
        setting = book.settings.by_code[code]
        one = Setting(setting.rule, setting.rule.level, {**setting.params, **(params or {})})
        return judge(Settings([one]), subjects(text, **more))

    return run
