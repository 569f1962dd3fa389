"""explanations/CFG.md explains every code, and its examples give the findings that it shows."""

import re
from datetime import date

import pytest

from modelyard.explanations import explanations
from modelyard.stack import apply_waivers, codes, load_text

BASE = {"modelyard:platform": '{release: "23.10"}', "modelyard:gpu": "{model: A10}"}
PAGES = {code: page for code, page in explanations().items() if code.startswith("CFG0")}
KNOWN = {value for name, value in vars(codes).items() if name.isupper() and re.fullmatch(r"CFG\d{3}", str(value))}


def test_every_code_is_explained_and_no_other() -> None:
    assert set(PAGES) == KNOWN


@pytest.mark.parametrize("code", sorted(PAGES))
def test_the_parts_are_there(code: str) -> None:
    body = PAGES[code].body
    assert [body.count(f"**{part}.**") for part in ("Why", "Example", "Fix")] == [1, 1, 1]


def block(code: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGES[code].body, re.DOTALL)
    return found[1] if found else ""


@pytest.mark.parametrize("code", [code for code in sorted(PAGES) if block(code, "yaml")])
def test_the_example_gives_the_finding(code: str) -> None:
    example = block(code, "yaml")
    if not example.startswith("config:"):
        lines = [f"{key}: {value}" for key, value in BASE.items() if f"{key}:" not in example]
        example = "config:\n" + "".join(f"  {line}\n" for line in [*lines, *example.splitlines()])
    stack, findings = load_text(example, "dev", "stacks/Pulumi.dev.yaml")
    if stack is not None:
        findings = apply_waivers(findings, stack, date(2026, 11, 21))
    summaries = [finding.summary for finding in findings if finding.code == code]
    assert summaries[:1] == [block(code, "text").strip()]
