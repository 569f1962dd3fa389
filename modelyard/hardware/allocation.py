"""Which GPU allocation modes a training pod can serve.

The mode belongs to a training task, the pod only sets what is possible. ``single`` takes one GPU, ``partial`` half of
one (two jobs share a GPU), ``multi_gpu`` all GPUs of a worker. Half a GPU is Ray's bookkeeping inside the pod: the pod
itself always asks the cluster for whole GPUs, because Kubernetes has no fractional extended resources.
"""

from modelyard.stack.config import Allocation, Config


def serves(config: Config) -> tuple[Allocation, ...]:
    """The modes that tasks may choose on this stack's active training backend, in the order single, partial, multi_gpu.

    Celery trains one job per replica and serves ``single`` only. Release and GPU are not judged here.
    """
    if config.training == "celery":
        return ("single",)
    return ("single", "partial", "multi_gpu") if config.gpu.per_worker >= 2 else ("single", "partial")
