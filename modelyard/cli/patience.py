"""Progress while a verb waits for a Job: why the Job does not start, each reason once."""

from typing import TYPE_CHECKING

from modelyard.cli.common import note

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.kube.state import ObjectKey


class Patience:
    """Tracks the reasons already reported for one Job."""

    def __init__(self, client: "Client", job: "ObjectKey", more: str = "") -> None:
        """Starts with no reasons reported.

        Args:
            client: the cluster's client.
            job: the Job.
            more: how to learn more about a Job that waits in a queue.
        """
        self._client, self._more = client, more
        # The kubelet alternates between reporting a failed pull and the pause before the next one.
        self._reported: set[str] = set()
        self._name, self._namespace = job.name, job.namespace

    def look(self, *, suspended: bool = False) -> None:
        """Prints to standard error why the Job does not start, if that is a new reason.

        Args:
            suspended: whether Kueue holds the Job back, so that it has no pods.

        Raises:
            ClusterError: the API server does not answer.
        """
        from modelyard.cluster.lists import pods_of_job
        from modelyard.cluster.pods import not_started

        if suspended:
            why = f"{self._name} is in its queue{self._more}"
        else:
            why = not_started(pods_of_job(self._client, self._namespace, self._name))
        if why and why not in self._reported:
            note(f"it waits: {why}")
            self._reported.add(why)
