"""The list of runs."""

from modelyard.cluster.pool_objects import RunObjects
from modelyard.report.runs import runs_text
from modelyard.report.style import Style
from modelyard.runs.pool.runs import runs_of
from tests.support.pool_objects import LONG_AGO, NOW, job


def test_the_state_is_painted_and_no_name_that_has_it() -> None:
    body = job("running-totals-11111", active=1, ready=1, startTime=LONG_AGO)
    _, line = runs_text(runs_of(RunObjects((body,), ())), NOW, Style(True))
    assert line.startswith("running-totals-11111  \x1b[32mrunning\x1b[0m  ")
