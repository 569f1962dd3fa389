"""The page for users of other resource managers: each term that it maps to exists in modelyard."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guides" / "coming-from.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]
TERMS = sorted({term for row in ROWS for term in re.findall(r"`([^`]+)`", row[1])})
COMMANDS = (ROOT / "docs" / "reference" / "command-line.md").read_text()
RUN = (ROOT / "patches" / "job-run" / "v1" / "base.yaml.j2").read_text()


def words(schema: Any) -> Iterator[str]:
    """Returns the keys of a stack file and their possible words."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        yield from (word for word in schema.get("enum", ()) if isinstance(word, str))
        for part in schema.values():
            yield from words(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from words(part)


KNOWN = set(words(json.loads((ROOT / "modelyard" / "stack" / "stack.schema.json").read_text())))


def test_each_resource_manager_has_a_table() -> None:
    assert re.findall(r"^## (.+)", PAGE, re.MULTILINE)[:3] == ["YARN and Hopsworks", "Slurm", "Mesos"]
    assert all(len(row) == 2 and all(row) for row in ROWS)


@pytest.mark.parametrize("term", TERMS)
def test_each_term_exists_in_modelyard(term: str) -> None:
    if term.startswith("modelyard "):
        verb = re.match(r"modelyard ((?:[a-z]+ ?)+)", term)
        assert verb is not None
        assert re.search(rf"^##+ {verb[1].strip()}$", COMMANDS, re.MULTILINE)
        assert all(option in COMMANDS for option in re.findall(r"--\w+", term))
    elif term.isupper():
        assert f"- name: {term}\n" in RUN
    else:
        key, _, value = term.partition(": ")
        assert key in KNOWN
        assert not value.islower() or not value.isalpha() or value in KNOWN
