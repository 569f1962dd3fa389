"""What is said of a run that was submitted."""

import pytest

from modelyard.cluster.answer import Created
from modelyard.cluster.pool_objects import QUEUE, STACK
from modelyard.kube.state import ObjectKey
from modelyard.report.job import submitted_text


@pytest.mark.parametrize(("remote", "option"), [("", ""), ("far", " --remote far")])
def test_a_run_is_followed_where_it_is(remote: str, option: str) -> None:
    labels = {QUEUE: "far", STACK: "dev"}
    made = Created(ObjectKey("batch/v1", "Job", "far-jobs", "churn-abc12"), "", labels, suspended=True)
    told = submitted_text("churn-abc12", [made], remote=remote)
    assert told[-1] == (
        f"follow it: modelyard job why dev churn-abc12{option}, modelyard job logs dev churn-abc12{option}"
    )
