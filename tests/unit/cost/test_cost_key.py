"""The key ``modelyard:prices`` of a stack file."""

import pytest

from modelyard.stack import load_text

BASE = 'config:\n  modelyard:platform: {release: "23.10"}\n  modelyard:gpu: {model: A10}\n'


@pytest.mark.parametrize("path", ["prices.yaml", "stacks/prices.yaml", "a..b/c", "stacks/my prices.yaml"])
def test_it_is_a_path_inside_the_project(path: str) -> None:
    stack, findings = load_text(f"{BASE}  modelyard:prices: {path}\n", "dev", "Pulumi.dev.yaml")
    assert stack is not None, findings
    assert stack.config.prices == path
    assert stack.positions[("prices",)] == (4, 3)


def test_without_it_there_is_no_price_file() -> None:
    stack, _ = load_text(BASE, "dev", "Pulumi.dev.yaml")
    assert stack is not None
    assert stack.config.prices is None


@pytest.mark.parametrize(
    ("line", "code", "summary"),
    [
        ("modelyard:prices: /etc/passwd", "CFG018", 'prices is "/etc/passwd", not a path inside the project'),
        ("modelyard:prices: ../prices.yaml", "CFG018", 'prices is "../prices.yaml", not a path inside the project'),
        ("modelyard:prices: a/../../b", "CFG018", 'prices is "a/../../b", not a path inside the project'),
        ("modelyard:prices: a/..", "CFG018", 'prices is "a/..", not a path inside the project'),
        ("modelyard:prices: ''", "CFG018", "prices is empty"),
        ("modelyard:prices: [a]", "CFG010", "prices is a list; it must be text"),
        ("modelyard:prices: {secure: v1:abc}", "CFG016", "prices is encrypted, but the plan needs its plain value"),
        ("modelyard:price: a", "CFG008", "unknown key modelyard:price"),
        ("prices: a", "CFG008", "unknown key prices"),
    ],
)
def test_other_values_are_refused(line: str, code: str, summary: str) -> None:
    stack, findings = load_text(f"{BASE}  {line}\n", "dev", "Pulumi.dev.yaml")
    assert stack is None
    assert [(one.code, one.summary, one.line) for one in findings] == [(code, summary, 4)]
    assert findings[0].remedy


@pytest.mark.parametrize(
    ("line", "example"),
    [
        ("modelyard:prices: /a", "stacks/prices.yaml"),
        ("modelyard:environments: [{name: a, python: '3.11', requirements: /a}]", "environments/tabular.txt"),
    ],
)
def test_the_example_of_a_path_is_that_of_its_key(line: str, example: str) -> None:
    _, (finding,) = load_text(f"{BASE}  {line}\n", "dev", "Pulumi.dev.yaml")
    assert finding.remedy.endswith(f" such as {example}")
