"""Failures of other programs and servers, as exceptions."""

import pickle

import pytest

from modelyard.cluster.connection import ClusterError
from modelyard.findings import Failure
from modelyard.probes.prometheus import ServerError
from modelyard.probes.values import JobSourceError
from modelyard.servers import Unreachable
from modelyard.workloads.environments.locking import LockingError


@pytest.mark.parametrize(
    "failure",
    [
        ClusterError("it does not answer", "wait"),
        ServerError("it does not answer", "wait"),
        JobSourceError("it does not answer", "wait", lasting=True),
        Unreachable("it does not answer", "wait", lasting=True),
        LockingError("it does not answer", "wait", out_of_reach=True),
    ],
)
def test_a_failure_survives_pickling(failure: Failure) -> None:
    there = pickle.loads(pickle.dumps(failure))
    assert (type(there), str(there), vars(there)) == (type(failure), "it does not answer", vars(failure))
