"""Reading single objects of a live cluster, without its nodes and pods."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lightkube import Client

from modelyard.cluster.live import identity, read
from modelyard.kube.state import ObjectKey

AT_ONCE = 8
"""Requests under way at a time."""


def present(client: Client, keys: Iterable[ObjectKey]) -> tuple[str, dict[ObjectKey, dict[str, Any]]]:
    """The cluster's identity, and those of the objects that are there.

    Raises:
        ClusterError: the API server does not answer, or not to us, or an object is of a kind that nobody reads.
    """
    wanted = tuple(dict.fromkeys(keys))
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        uid = pool.submit(identity, client)
        found = [pool.submit(read, client, key) for key in wanted]
        bodies = {key: job.result() for key, job in zip(wanted, found, strict=True)}
        return uid.result(), {key: body for key, body in bodies.items() if body is not None}
