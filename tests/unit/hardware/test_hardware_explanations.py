"""Each code has an explanation, and each example has the message that modelyard prints."""

import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from modelyard.hardware.nodes import check_nodes
from modelyard.hardware.rules.shared import AppliedPod
from modelyard.quantity import GI, parse
from modelyard.stack import Waiver
from modelyard.workloads.rules import check, check_applied
from modelyard.workloads.training import active

PACKAGE = Path(__file__).parents[3] / "modelyard"
FAMILIES = ("GPU", "RES", "RAY", "CEL")
SECTION = re.compile(r"^## (?P<code>[A-Z]{3}\d{3}) (?P<title>.+?)\n(?P<body>.*?)(?=^## |\Z)", re.M | re.S)
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.S)
NOT_REACHABLE = {"GPU006", "RAY010", "CEL009"}
"""No GPU of the table is that old (test_hardware_verdict makes one up); only whole pods have variables and arguments
(test_plan_sizes, test_celery_container)."""


def explained():
    found = {}
    for family in FAMILIES:
        text = (PACKAGE / "explanations" / f"{family}.md").read_text(encoding="utf-8")
        for section in SECTION.finditer(text):
            if section["code"][3] != "0":
                continue  # Codes from 100 belong to the plan, those from 200 to jobs.
            assert section["code"].startswith(family)
            assert section["code"] not in found, "a code is never reused"
            found[section["code"]] = section["body"]
    return found


def raised():
    folders = (PACKAGE / "hardware", PACKAGE / "workloads" / "training")
    source = "".join(path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))
    return set(re.findall(rf'"((?:{"|".join(FAMILIES)})\d{{3}})"', source))


def test_each_code_has_an_explanation():
    assert set(explained()) == raised()


@pytest.mark.parametrize("code", sorted(explained()))
def test_an_explanation_has_its_parts_in_order(code):
    assert re.findall(r"^\*\*(\w+)\.\*\*", explained()[code], re.M) == ["Why", "Example", "Fix"]


@pytest.mark.parametrize("code", sorted(set(explained()) - NOT_REACHABLE))
def test_each_example_prints_its_message(make_stack, code):
    blocks = BLOCK.findall(explained()[code])
    (message,) = [text.strip() for kind, text in blocks if kind == "text"]
    config, *of_node = [text for kind, text in blocks if kind == "yaml"]
    sections = {key.removeprefix("modelyard:"): value for key, value in yaml.safe_load(config).items()}
    for section in sections.values():
        if isinstance(section, dict):
            section.update({key: str(section[key]) for key in ("cpu", "memory", "volume") if key in section})
    training = sections.pop("training", "ray")
    patches = sections.pop("patches", [])
    waivers = tuple(Waiver(**one) for one in sections.pop("waivers", ()))
    if code == "CEL005":
        sections["celery"] = {"consumerTimeout": None}
    stack = make_stack(training, **sections)
    stack = stack._replace(config=stack.config._replace(waivers=waivers))
    found = {finding.summary: finding.code for finding in check(stack)}
    for patch in patches:
        tasks = AppliedPod(1, Fraction(8), Fraction(64 * GI), Fraction(0), patch["params"]["gpus"], 21900)
        found |= {finding.summary: finding.code for finding in check_applied(stack, "celery", tasks)}
    for text in of_node or ["{}"]:
        facts = yaml.safe_load(text)
        disk = {name: parse(amount) for name, amount in facts.items() if name == "ephemeral-storage"}
        node = SimpleNamespace(name="gpu-1", labels=facts, allocatable=disk)
        found |= {
            finding.summary: finding.code
            for finding in check_nodes(stack, [node], active(stack.config).pods(stack.config))
        }
    assert found.get(message) == code
