"""The project's own rules, and a way to show them objects."""

from collections.abc import Mapping
from typing import Any

import pytest

from modelyard.findings import Finding
from modelyard.policy.judging import judge
from modelyard.policy.loading import policies_of
from modelyard.policy.settings import Policies, RuleSetting, Settings
from tests.support.policy_subjects import ROOT, Found, subjects


@pytest.fixture(scope="session")
def book() -> Policies:
    policies_of.cache_clear()
    found = policies_of(ROOT)
    assert found.findings == ()
    return found


@pytest.fixture
def finds(book: Policies) -> Found:
    """What one rule finds in the objects of a text."""

    def run(code: str, text: str, *, params: Mapping[str, Any] | None = None, **more: Any) -> list[Finding]:
        setting = book.settings.by_code[code]
        one = RuleSetting(setting.rule, setting.rule.level, {**setting.params, **(params or {})})
        return judge(Settings([one]), subjects(text, **more))

    return run
