"""What is said of a run that was submitted."""

import pytest

from modelyard.cluster.pool_objects import QUEUE, STACK
from modelyard.report.job import submitted_text


@pytest.mark.parametrize(("remote", "option"), [("", ""), ("far", " --remote far")])
def test_a_run_is_followed_where_it_is(remote: str, option: str) -> None:
    labels = {QUEUE: "far", STACK: "dev"}
    made = {"kind": "Job", "metadata": {"name": "churn-abc12", "namespace": "far-jobs", "labels": labels}}
    told = submitted_text("churn-abc12", [made], remote=remote)
    assert told[-1] == (
        f"follow it: modelyard job why dev churn-abc12{option}, modelyard job logs dev churn-abc12{option}"
    )
