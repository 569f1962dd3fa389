"""What runs on each GPU that a stack file names, and whether that GPU is supported for it.

A GPU is judged for its use: the platform's training, jobs in images of their own, or notebooks. A partition, node pool
or flavor has no use of its own: its GPU is judged only if no use has named it.
"""

from collections.abc import Iterator

from modelyard.findings import Finding
from modelyard.hardware.gpu_models import GpuModel, resolve
from modelyard.hardware.partitions import partition_gpu
from modelyard.hardware.rules.gpu import training_use, use_findings
from modelyard.hardware.verdict import GpuUse
from modelyard.stack.config import Config, Stack, StackPath
from modelyard.stack.jobs import Resource
from modelyard.workloads.environments.rules import has_image

_CUDA = ("GPU005",)
"""Codes of problems that come from the CUDA version of the images."""


def resource_use(config: Config, resource: Resource) -> GpuUse:
    """Returns what the jobs of a resource run: their own images, or the platform's if nothing names an image."""
    trains = resource.type == "training"
    image = resource.image or resource.environment or resource.remote is not None or config.runtime.image
    named = (has_image(config, job, resource) for job in config.jobs if job.resource == resource.name)
    if resource.cuda or image or any(named):
        return GpuUse(resource.cuda or config.runtime.cuda, trains=trains, platform=False)
    return training_use(config)._replace(trains=trains)


def notebook_use(config: Config) -> GpuUse:
    """Returns what submitted notebooks run."""
    return GpuUse(config.notebooks.cuda, trains=False, platform=False)


def check_gpu_uses(stack: Stack) -> Iterator[Finding]:
    """Yields findings about the GPUs that a stack file names, except ``gpu.model`` and rented machines."""
    config = stack.config
    own = resolve(config.gpu.model)
    used = [own]
    shared: set[str] = set()
    for index, resource in enumerate(config.resources):
        if resource.remote is not None and resource.remote.cluster is None:
            continue  # Its GPU is that of the machine that it rents.
        who, use = f"resource {resource.name}", resource_use(config, resource)
        if resource.gpu is not None:
            gpu = resolve(resource.gpu)
            used.append(gpu)
            if gpu is not None:
                yield from use_findings(stack, ("resources", index, "gpu"), gpu, use, who=who)
            continue
        gpu = next((partition_gpu(config, one) for one in config.partitions if one.name == resource.partition), own)
        if gpu is None or use.platform or not (resource.gpus or resource.partition):
            continue
        if resource.cuda is not None:
            yield from use_findings(stack, ("resources", index, "cuda"), gpu, use, who=who, only=_CUDA)
        elif config.runtime.cuda is not None and gpu.id not in shared:
            shared.add(gpu.id)
            yield from use_findings(stack, ("runtime", "cuda"), gpu, use, who="jobs", only=_CUDA)
    if own is not None and config.notebooks.cuda is not None:
        yield from use_findings(stack, ("notebooks", "cuda"), own, notebook_use(config), who="notebooks", only=_CUDA)
    for where, who, name, use, is_stated in _places(config):
        gpu = resolve(name)
        if gpu is not None and not any(other is not None and _same(gpu, other) for other in used):
            used.append(gpu)
            found = use_findings(stack, where, gpu, use, who=who)
            yield from (one for one in found if not is_stated or one.code not in _CUDA)


def _places(config: Config) -> Iterator[tuple[StackPath, str, str, GpuUse, bool]]:
    """Yields the places that name a GPU without a use of their own, with what may run there, and whether the CUDA
    version of its images is stated elsewhere and judged with the GPUs that they use.
    """
    jobs = GpuUse(config.runtime.cuda, trains=False, platform=False)
    is_stated = config.runtime.cuda is not None or all(one.cuda for one in config.resources or (config.runtime,))
    own = config.notebooks.image or config.notebooks.environment
    notebooks = (notebook_use(config), False) if own else (jobs, is_stated)
    for index, flavor in enumerate(config.flavors):
        if flavor.gpu is not None:
            yield ("flavors", index, "gpu"), f"flavor {flavor.name}", flavor.gpu, *notebooks
    for index, partition in enumerate(config.partitions):
        if partition.gpu is not None:
            yield ("partitions", index, "gpu"), f"partition {partition.name}", partition.gpu, jobs, is_stated
    for index, pool in enumerate(config.node_pools):
        yield ("nodePools", index, "gpu"), f"node pool {pool.name}", pool.gpu, training_use(config), False


def _same(one: GpuModel, other: GpuModel) -> bool:
    """Whether two names may mean one GPU: a family has its variants."""
    return one.id == other.id or one.id in other.members or other.id in one.members
