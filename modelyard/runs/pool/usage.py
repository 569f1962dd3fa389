"""How busy GPUs were and which were idle, from the metrics of NVIDIA's DCGM exporter in a Prometheus server."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from modelyard.probes.prometheus import QueryAnswer, Refused, Server, ask

METRIC: Final = "DCGM_FI_DEV_GPU_UTIL"
"""Per cent of the time in which a kernel ran on a GPU."""
_PODS: Final = ("exported_namespace", "exported_pod", "namespace", "pod")
"""Labels that name a GPU's pod: the first two if the scrape sets the others to the exporter's pod."""
_GPU: Final = ("UUID", "Hostname", "gpu", "GPU_I_ID")


class PodUsage(NamedTuple):
    """The metrics of one pod's GPUs."""

    gpus: int
    idle: int
    """The number of these GPUs that did nothing in the whole time range."""
    load: float = 0.0
    """Sum of the average of each GPU, in per cent."""


class Usage(NamedTuple):
    """A server's metrics of the GPUs of pods."""

    pods: Mapping[tuple[str, str], PodUsage]
    """The metrics of each pod's GPUs, by namespace and name of the pod."""
    minutes: int
    """Length of the time range."""
    problem: str = ""
    """Why no metrics are known; empty if some are."""


def busy_gpus(server: Server, minutes: int) -> Usage:
    """Asks a server how many GPUs of each pod it knows, how many of them did nothing, and how busy they were.

    Args:
        server: the Prometheus server.
        minutes: the length of the time range; a GPU that did nothing in this range is idle.

    Raises:
        ServerError: the server is unreachable.
    """
    answers: list[dict[tuple[str, str], float]] = []
    for query in queries(minutes):
        counted = _counted(server, query)
        if isinstance(counted, str):
            return Usage({}, minutes, counted)
        answers.append(counted)
    gpus, idle, load = answers
    if not gpus:
        return Usage({}, minutes, f"the server has no {METRIC} with a pod label")
    pods = {pod: PodUsage(int(count), int(idle.get(pod, 0)), load.get(pod, 0.0)) for pod, count in gpus.items()}
    return Usage(pods, minutes)


def queries(minutes: int) -> tuple[str, str, str]:
    """Three queries: for the GPUs of each pod, for the number that did nothing, and for the sum of their averages."""
    # The server counts: an answer with each GPU of a large cluster would be too long.
    each = f"max by ({', '.join((*_PODS, *_GPU))}) (max_over_time({METRIC}[{minutes}m]))"
    average = each.replace("max_over_time", "avg_over_time")
    pods = ", ".join(_PODS)
    return f"count by ({pods}) ({each})", f"count by ({pods}) ({each} == 0)", f"sum by ({pods}) ({average})"


def _counted(server: Server, query: str) -> dict[tuple[str, str], float] | str:
    """The numbers of an answer by pod, or why there are none."""
    answer = ask(server, query)
    if isinstance(answer, Refused):
        return f"the server rejects the query: {answer.words}"
    if answer.series is None:
        return "the server returns more series than modelyard reads"
    return _by_pod(answer)


def _by_pod(answer: QueryAnswer) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for labels, value in zip(answer.labels, answer.values, strict=False):
        own = "exported_" if labels.get("exported_pod") else ""
        pod = (labels.get(f"{own}namespace", ""), labels.get(f"{own}pod", ""))
        if all(pod):
            found[pod] = found.get(pod, 0.0) + value
    return found
