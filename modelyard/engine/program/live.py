"""The cluster of a run, for those who look at it between the engine's steps."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from modelyard.kube.state import ObjectKey

if TYPE_CHECKING:
    from lightkube import Client


class Live:
    """The cluster of a kubeconfig's context (None: its current one); connected when first asked."""

    def __init__(self, context: str | None) -> None:
        self._context = context

    @cached_property
    def client(self) -> "Client":
        """A connection.

        Raises:
            ClusterError: the kubeconfig cannot be used.
        """
        from modelyard.cluster.connection import connect

        return connect(self._context)

    def look(self, key: ObjectKey) -> dict[str, Any] | None:
        """An object as it is now; None where there is none.

        Raises:
            ClusterError: the API server does not answer, or not to us.
        """
        from modelyard.cluster.dryrun import look

        return look(self.client, key)
