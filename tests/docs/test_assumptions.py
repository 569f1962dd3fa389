"""The page about jobs lists the assumptions of estimates."""

import re
from pathlib import Path

import pytest

from modelyard.stack.jobs import Job, JobType
from modelyard.workloads.sizing.formulas import estimate

PAGE = Path(__file__).parents[2] / "docs/guides/jobs.md"


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("data-sink", {"rows": "1M"}),
        ("dataset", {"rows": "1M"}),
        ("training", {"rows": "1M"}),
        ("batch-prediction", {"rows": "1M"}),
        ("serving", {"request_rate": "1"}),
        ("llm-serving", {"request_rate": "1"}),
    ],
)
def test_the_page_lists_each_assumption(kind: JobType, given: dict[str, str]) -> None:
    (row,) = (line for line in PAGE.read_text().splitlines() if "assumes" not in line and _is_row(line, kind))
    listed = dict(re.findall(r"`([\w.]+): (\w+)`", row))
    assert listed == {one.key: one.value for one in estimate(Job("it", kind, **given), None).assumptions}  # type: ignore[arg-type]


def _is_row(line: str, kind: str) -> bool:
    """Returns whether a line is the row of a type in the table of assumptions."""
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    return len(cells) == 3 and f"`{kind}`" in cells[0] and ": " in cells[2] and cells[1] in ("`rows`", "`requestRate`")
