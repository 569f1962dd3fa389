"""The cluster of a run, for code that reads it between the engine's steps."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from modelyard.kube.state import ObjectKey

if TYPE_CHECKING:
    from lightkube import Client


class Live:
    """The cluster of a kubeconfig context (None: the current one); connects at the first request."""

    def __init__(self, context: str | None) -> None:
        self._context = context

    @cached_property
    def client(self) -> "Client":
        """The connection.

        Raises:
            ClusterError: the kubeconfig cannot be used.
        """
        from modelyard.cluster.connection import connect

        return connect(self._context)

    def look(self, key: ObjectKey) -> dict[str, Any] | None:
        """The current state of an object; None if it does not exist.

        Raises:
            ClusterError: the API server does not answer or denies access.
        """
        from modelyard.cluster.dryrun import look

        return look(self.client, key)
