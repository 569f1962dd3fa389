"""Plans of the project's own stacks."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

from modelyard.plan import Plan
from modelyard.plan.project import plan_recorded

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def plans() -> Mapping[str, Plan]:
    """The plan of each environment against its recorded platform."""
    found = {}
    for name in ("dev", "prod", "staging"):
        plan = plan_recorded(ROOT, ROOT / "stacks" / f"Pulumi.{name}.yaml", date(2026, 11, 21)).plan
        assert plan is not None
        found[name] = plan
    return found
