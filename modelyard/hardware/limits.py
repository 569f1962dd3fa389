"""The limits that the rules compare with, each with its source.

If a docstring says "requirements", the source is the requirements page of the platform's vendor for model training
and inference (``REQ`` in ``data/README.md``). Its GB are read as 10^9 bytes, the less strict reading.
"""

from typing import NamedTuple


class SupportedGpu(NamedTuple):
    """One row of the table of supported GPUs."""

    tflops: int
    """FP16 tensor throughput in TFLOPS, without sparsity."""
    memory_gb: int
    nvlink: bool


LISTED: dict[str, SupportedGpu] = {
    "A100": SupportedGpu(312, 40, True),
    "V100": SupportedGpu(112, 32, True),
    "A10": SupportedGpu(125, 24, False),
    "A30": SupportedGpu(165, 24, True),
    "A40": SupportedGpu(150, 48, True),
}
"""Supported GPUs by name (requirements, list of supported GPUs). It overrides the alternative."""

FLOOR_TFLOPS = 125
"""FP16 tensor TFLOPS of the A10, the lowest tier: the minimum for a GPU off the list (requirements)."""

DEFAULT_CUDA = "11.7"
"""CUDA version that a GPU off the list must support (requirements)."""

DEVICE_PLUGIN_COMPUTE = (3, 0)
"""Minimum compute capability for the container toolkit under the device plugin (NVIDIA Container Toolkit installation
guide, prerequisites: Kepler or newer)."""

MEMORY_GB = 16
"""Minimum memory of a training worker, of the Ray head and of a model service pod (requirements)."""

GPUS_VARIABLE = "NUM_GPUS_REQUESTED"
"""Environment variable with the GPUs of a Ray worker (requirements, distributed multi-GPU training)."""

TRAINING_CPU = 4
"""Minimum cores of a training worker, whatever its GPUs (requirements); also no fewer cores than GPUs."""

HEAD_CPU = 2
"""Minimum cores of the Ray head (requirements)."""

HEAD_REPLICAS = 1
"""Replicas of the Ray head, always (requirements)."""

SERVICE_CPU = 4
"""Minimum cores of a model service pod (requirements)."""

SERVICE_VOLUME_GB = 50
"""Minimum local volume of a model service pod (requirements)."""

CELERY_GPUS = 1
"""GPUs of a Celery training replica: it trains one job at a time on one GPU (requirements: as many jobs at once as
replicas; several GPUs per job and parts of a GPU are allocation modes of Ray)."""

JOB_SECONDS = 6 * 3600
"""Maximum duration of a training job (requirements)."""

RAY_PREVIEW = (23, 4)
"""First platform release with Ray training, as a preview (requirements)."""

RAY_DEFAULT = (23, 7)
"""First platform release where Ray training is the default (requirements)."""

CONSUMER_TIMEOUT_SECONDS = 30 * 60
"""RabbitMQ's own limit on an unacknowledged delivery, since 3.8.17 (RabbitMQ documentation, consumers)."""
