"""The rules for the pods of submitted notebooks."""

from modelyard.findings import Finding, Severity
from modelyard.hardware.rules.pods import PodSizes
from modelyard.hardware.rules.worker import size_findings
from modelyard.stack.config import Stack


def notebook_sizes(stack: Stack, gpu: str, gpus: int = 1, slice_gb: int | None = None) -> list[Finding]:
    """Returns what is wrong with the size of a notebook's pod: it needs what a training pod with its GPUs needs.

    Args:
        stack: the stack with the size.
        gpu: the stack file's name for the GPU.
        gpus: its number.
        slice_gb: memory of the slice that it gets instead of a GPU, in GB.
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


def check_notebooks(stack: Stack) -> list[Finding]:
    """Returns why notebooks would be rejected at submission: errors if no GPU is left for them, else advice.

    Notebooks choose among the flavors with a GPU; without any they get the stack's GPU. The needs of
    slices are checked at submission.
    """
    config = stack.config
    if not config.notebooks.image and not config.notebooks.environment:
        return []
    divided = {one.flavor for one in config.partitions}
    gpus = {one.name: one.gpu for one in config.flavors if one.gpu is not None}
    if not gpus:
        return notebook_sizes(stack, config.gpu.model)
    found = {name: _errors(notebook_sizes(stack, gpu)) for name, gpu in gpus.items() if name not in divided}
    refused = {name: errors for name, errors in found.items() if errors}
    if len(refused) == len(gpus):
        return next(iter(refused.values()))
    return [
        one._replace(severity=Severity.ADVICE, summary=f"{one.summary}, so notebooks cannot use flavor {name}")
        for name, errors in refused.items()
        for one in errors
    ]


def _errors(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.severity is Severity.ERROR]
