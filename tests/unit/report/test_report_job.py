"""What was submitted, in words."""

from typing import Any

import pytest

from modelyard.report.job import submitted_text

RUN: dict[str, Any] = {
    "kind": "Job",
    "metadata": {"name": "train-x7k2p", "namespace": "far-jobs", "labels": {"modelyard.dev/stack": "dev"}},
}


@pytest.mark.parametrize(("remote", "words"), [("", "dev train-x7k2p"), ("far", "dev train-x7k2p --remote far")])
def test_a_run_is_followed_where_it_is(remote: str, words: str) -> None:
    *_, last = submitted_text("train-x7k2p", [RUN], remote=remote)
    assert last == f"follow it: modelyard job why {words}, modelyard job logs {words}"
