"""The rules for the pods of submitted notebooks."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.hardware import resolve
from modelyard.hardware.partitions import partition_gpu, slices
from modelyard.hardware.rules.shared import PodSizes
from modelyard.hardware.rules.workloads import size_findings
from modelyard.stack.config import Config, Stack
from modelyard.stack.pool import Partition

_OWN: Final = "the stack's GPU"


def notebook_sizes(stack: Stack, gpu: str, gpus: int = 1, slice_gb: int | None = None) -> list[Finding]:
    """Returns what is wrong with the size of a notebook's pod: it needs what a training pod with its GPUs needs.

    ``gpu`` is the stack file's name for the GPU; instead of a GPU, the pod may get a slice with ``slice_gb`` GB.
    """
    config = stack.config
    asked = stack._replace(config=config._replace(gpu=config.gpu._replace(model=gpu)))
    pods = PodSizes(
        role="notebooks",
        deployment="",
        replicas=1,
        cpu=config.notebooks.cpu,
        memory=config.notebooks.memory,
        gpus=gpus,
    )
    return size_findings(asked, pods, slice_gb)


class _Pod(NamedTuple):
    """What a notebook may get."""

    words: str
    gpu: str
    """The stack file's name for it."""
    slice_gb: int | None = None
    whole: bool = True


def check_notebooks(stack: Stack) -> list[Finding]:
    """Returns why notebooks would be rejected at submission: errors if no GPU is left for them, else advice.

    Notebooks choose among the flavors with a GPU; without any they get the stack's GPU. On the nodes of a partition
    they get its slices.
    """
    config = stack.config
    if not config.notebooks.image and not config.notebooks.environment:
        return []
    pods = tuple(_pods(config))
    found = {one.words: notebook_sizes(stack, one.gpu, 1, one.slice_gb) for one in pods}
    if pods and all(map(_errors, found.values())):
        return found[pods[0].words]
    several = config.gpu.per_worker
    more = {
        f"multi_gpu with {one.words}": notebook_sizes(stack, one.gpu, several)
        for one in pods
        if several > 1 and one.whole and not _errors(found[one.words])
    }
    own = [one for one in found.get(_OWN, ()) if one.severity is not Severity.ERROR]
    refused = [
        one._replace(severity=Severity.ADVICE, summary=f"{one.summary}, so notebooks cannot use {words}")
        for words, findings in (found | more).items()
        for one in _errors(findings)
    ]
    return [*own, *refused]


def _pods(config: Config) -> Iterator[_Pod]:
    """What a notebook with one GPU may get; whole GPUs first."""
    flavors: list[tuple[str, str | None, str]]
    flavors = [(f"flavor {one.name}", one.name, one.gpu) for one in config.flavors if one.gpu is not None]
    slices_of = []
    for words, name, gpu in flavors or [(_OWN, None, config.gpu.model)]:
        mine = [one for one in config.partitions if _divides(config, one, name, gpu)]
        if not any(one.flavor is not None for one in mine):
            yield _Pod(words, gpu)
        slices_of += [(words, gpu, one) for one in mine]
    for words, gpu, partition in slices_of:
        for name, part in slices(config, partition).items():
            what = f"slice {name}" if partition.mode == "mig" else "a share"
            yield _Pod(f"{what} of partition {partition.name} with {words}", gpu, part.memory_gb, whole=False)


def _divides(config: Config, partition: Partition, flavor: str | None, gpu: str) -> bool:
    if partition.flavor is not None:
        return partition.flavor == flavor
    return partition_gpu(config, partition) == resolve(gpu)


def _errors(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.severity is Severity.ERROR]
