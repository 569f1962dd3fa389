"""Every rule has a page, and its example breaks just that rule.

Two pages are in ``tests/golden/test_rule_pages.txt``.
"""

import re
from typing import Any

import pytest
import yaml

from modelyard.findings import Severity
from modelyard.policy.judging import judge
from modelyard.policy.loading import explained, policies_of
from modelyard.policy.rules import PARTS
from modelyard.policy.settings import Policies, RuleSetting, Settings
from tests.support.policy_subjects import ROOT, subjects

CODES = tuple(policies_of(ROOT).rules)
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def test_all_promised_rules_exist() -> None:
    assert {f"POL{number}" for number in range(101, 115)} == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_page_has_its_parts_in_order(book: Policies, code: str) -> None:
    page = book.rules[code].page
    assert re.findall(r"^\*\*(\w+)\.\*\*", page, re.MULTILINE) == list(PARTS)


@pytest.mark.parametrize("code", CODES)
def test_an_example_breaks_its_rule_with_the_summary_on_the_page(book: Policies, code: str) -> None:
    rule = book.rules[code]
    blocks = BLOCK.findall(rule.page)
    texts = [text for kind, text in blocks if kind == "yaml"]
    params = dict(rule.defaults)
    if texts[0].startswith("modelyard:policy"):
        params |= yaml.safe_load(texts.pop(0))["modelyard:policy"]["rules"][code]["params"]
    found = judge(Settings([RuleSetting(rule, rule.level, params)]), subjects("\n---\n".join(texts)))
    assert found
    assert {finding.code for finding in found} == {code}
    wanted = Severity.WARNING if rule.level == "advisory" else Severity.ERROR
    assert found[0].severity is wanted
    said = [text.strip() for kind, text in blocks if kind == "text"]
    assert [finding.summary for finding in found][: len(said)] == said


@pytest.mark.parametrize("code", CODES)
def test_a_finding_has_target_field_and_remedy(book: Policies, code: str) -> None:
    rule = book.rules[code]
    texts = [text for kind, text in BLOCK.findall(rule.page) if kind == "yaml"]
    params = dict(rule.defaults)
    if texts[0].startswith("modelyard:policy"):
        params |= yaml.safe_load(texts.pop(0))["modelyard:policy"]["rules"][code]["params"]
    for finding in judge(Settings([RuleSetting(rule, rule.level, params)]), subjects("\n---\n".join(texts))):
        assert finding.target
        assert finding.field
        assert finding.remedy


def test_a_page_has_level_parameters_and_file(golden: Any) -> None:
    page = explained(ROOT)["POL112"]
    golden(page.title, "".join(page.body.partition("**Level.**")[1:]))


def test_an_assertion_has_a_page(golden: Any) -> None:
    page = explained(ROOT)["POL114"]
    golden(page.title, "".join(page.body.partition("**Level.**")[1:]))
