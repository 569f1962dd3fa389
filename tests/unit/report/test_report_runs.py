"""The list of runs, and what a submission prints about its run."""

import re

import pytest

from modelyard.cluster.answer import Created
from modelyard.cluster.pool_objects import QUEUE, STACK, STAGE, RunObjects
from modelyard.kube.state import ObjectKey
from modelyard.report.job import submitted_text
from modelyard.report.pipeline import run_text
from modelyard.report.runs import runs_text
from modelyard.report.style import Style
from modelyard.runs.pool.runs import runs_of
from tests.support.pool_objects import LONG_AGO, NOW, job


def test_the_state_is_coloured_but_not_a_name_that_contains_it() -> None:
    body = job("running-totals-11111", active=1, ready=1, startTime=LONG_AGO)
    _, line = runs_text(runs_of(RunObjects((body,), ())), NOW, Style(True))
    assert line.startswith("running-totals-11111  \x1b[32mrunning\x1b[0m  ")


@pytest.mark.parametrize(("remote", "option"), [("", ""), ("far", " --remote far")])
def test_the_commands_to_follow_a_run_name_its_remote_cluster(remote: str, option: str) -> None:
    labels = {QUEUE: "far", STACK: "dev"}
    made = Created(ObjectKey("batch/v1", "Job", "far-jobs", "churn-abc12"), "", labels, suspended=True)
    told = submitted_text("churn-abc12", [made], remote=remote)
    assert re.findall(r"modelyard job (\w+) dev churn-abc12([^,]*)", " ".join(" ".join(told).split())) == [
        ("why", option),
        ("logs", option),
    ]


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("name", ["churn-abc12", "a-job-with-a-rather-long-name-of-fifty-characters-abc12"])
def test_no_line_is_wider_than_the_terminal(columns: int, name: str) -> None:
    labels = {QUEUE: "team-with-a-long-name", STACK: "dev", STAGE: "train"}
    made = [Created(ObjectKey("batch/v1", "Job", "team-namespace", name), "", labels, suspended=True)]
    style = Style(colour=False, columns=columns)
    for lines in (submitted_text(name, made, style), run_text("dev", name, made, style)):
        assert name in " ".join(lines)
        assert max(map(len, lines)) <= columns, max(lines, key=len)
