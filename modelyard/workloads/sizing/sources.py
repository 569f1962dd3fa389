"""The values that make up an estimate, and the rules and numbers behind the formulas, each with its source."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, Literal, NamedTuple

from modelyard.quantity import GI

Unit = Literal["bytes", "cores", "pods", "GPUs", "parts", "requests"]


class FormulaSource(NamedTuple):
    """The source of a number or a rule in a formula."""

    title: str
    says: str
    """Its content, in a few words."""
    url: str = ""
    """Empty for a convention of modelyard."""


class Term(NamedTuple):
    """One line of an estimate."""

    name: str
    formula: str
    """With its numbers: ``50M rows × 40 columns × 8 bytes``."""
    value: Fraction
    unit: Unit
    sources: tuple[str, ...] = ()
    """Keys of ``SOURCES``."""


class Assumption(NamedTuple):
    """A size that a job does not set, and what its estimate takes instead."""

    key: str
    """Key of the job that replaces it, as in the stack file: ``model.layers``."""
    value: str
    """As the stack file writes it: ``100m``."""
    says: str
    """What the value stands for, in a few words."""


class Need(NamedTuple):
    """What one job needs of each pod that it runs on; None means unknown."""

    workers: int | None = None
    """Number of pods."""
    cpu: int | None = None
    """Cores of one pod."""
    memory: int | None = None
    """Bytes of one pod, whole Gi."""
    gpus: int | None = None
    """GPUs of one pod; 0 if the job needs none, None if the number is unknown."""
    gpu_memory: int | None = None
    """Bytes on the GPUs of one pod."""

    @property
    def on_gpus(self) -> bool:
        """Whether the job needs GPUs, even if their number is unknown."""
        return bool(self.gpus or self.gpu_memory)


class Estimate(NamedTuple):
    """What a job needs, and why."""

    need: Need
    terms: tuple[Term, ...] = ()
    missing: tuple[str, ...] = ()
    """Keys of the job that would complete the estimate, as in the stack file: ``model.layers``."""
    notes: tuple[str, ...] = ()
    """What the numbers leave out."""
    assumptions: tuple[Assumption, ...] = ()
    """What the numbers take for some of the missing keys."""


# Numbers as people read them.
_BINARY = (("PiB", 2**50), ("TiB", 2**40), ("GiB", GI), ("MiB", 2**20), ("KiB", 2**10))


def amount(value: Fraction | int) -> str:
    """Returns bytes in the largest unit with a value of at least one, to a tenth: ``14.9 GiB``, ``128 MiB``."""
    for unit, size in _BINARY:
        if value >= size:
            return f"{count(Fraction(round(Fraction(value) / size * 10), 10))} {unit}"
    return f"{count(Fraction(value))} B"


def count(value: Fraction | int) -> str:
    """Returns a number with up to three decimal places and thousands separators: ``50,000,000``, ``0.05``.

    Smaller numbers have two significant digits: ``0.0001``, ``2.5e-06``.
    """
    if value.denominator == 1:
        return f"{value.numerator:,}"
    if 0 < value < Fraction(1, 2000):
        return f"{float(value):.2g}"
    whole, part = divmod(round(Fraction(value) * 1000), 1000)
    return f"{whole:,}" + (f".{part:03}".rstrip("0") if part else "")


CELL: Final = 8
"""Bytes of one value: a 64-bit number."""
IN_MEMORY: Final = 5
"""Bytes of memory per byte of data in use."""
PARTITION: Final = 128 * 2**20
"""Bytes of data that one core processes at a time."""
WAVES: Final = 3
"""Partitions per core."""
UTILISATION: Final = Fraction(7, 10)
"""Fraction of the capacity that requests may use."""
TRAINING_BYTES: Final = 18
"""Bytes per parameter in training: 6 of weights (16 and 32 bits), 4 of gradients, 8 of AdamW's state."""
CUDA: Final = GI
"""Bytes that a process uses on a GPU before it loads data."""
ENGINE_SHARE: Final = Fraction(9, 10)
"""Fraction of a GPU's memory that a serving engine uses."""
CACHE_BYTES: Final = 2
"""Bytes of one number in the key-value cache: 16 bits."""
COPIES: Final = 2
"""Models in memory while a new version replaces the old one."""
PROCESS: Final = GI
"""Bytes of an interpreter with its libraries."""
MOST_MEMORY: Final = 64 * GI
"""Bytes of the largest worker that is proposed for data; more data needs more workers."""
MOST_CPU: Final = 8
"""Cores of the largest worker that is proposed for requests and partitions; more work needs more workers."""
WEIGHT: Final[Mapping[str, Fraction]] = {
    "fp32": Fraction(4),
    "fp16": Fraction(2),
    "bf16": Fraction(2),
    "fp8": Fraction(1),
    "int8": Fraction(1),
    "int4": Fraction(1, 2),
}
"""Bytes of one weight, by precision."""

SOURCES: Final[Mapping[str, FormulaSource]] = {
    "cell": FormulaSource(
        "pandas documentation, essential basic functionality, dtypes",
        "numbers take 64 bits by default",
        "https://pandas.pydata.org/docs/user_guide/basics.html#dtypes",
    ),
    "in-memory": FormulaSource(
        "W. McKinney, Apache Arrow and the 10 Things I Hate About pandas (2017)",
        "5 to 10 times as much memory as data; modelyard takes the lower end",
        "https://wesmckinney.com/blog/apache-arrow-pandas-internals/",
    ),
    "partition": FormulaSource(
        "Apache Spark documentation, SQL performance tuning, spark.sql.files.maxPartitionBytes",
        "a task reads 128 MB by default",
        "https://spark.apache.org/docs/latest/sql-performance-tuning.html",
    ),
    "waves": FormulaSource(
        "Apache Spark documentation, tuning, level of parallelism",
        "2 to 3 tasks for each core; modelyard takes the upper end",
        "https://spark.apache.org/docs/latest/tuning.html#level-of-parallelism",
    ),
    "little": FormulaSource(
        "J. D. C. Little, A Proof for the Queuing Formula L = λW, Operations Research 9 (1961)",
        "requests in progress are their rate times the duration of each",
        "https://doi.org/10.1287/opre.9.3.383",
    ),
    "utilisation": FormulaSource(
        "Knative documentation, autoscaling, container-concurrency-target-percentage",
        "instances are filled to 70 % by default",
        "https://knative.dev/docs/serving/autoscaling/concurrency/",
    ),
    "training": FormulaSource(
        "Hugging Face Transformers documentation, model training anatomy",
        "18 bytes a parameter with AdamW in mixed precision, and 1 to 2 GB for CUDA itself",
        "https://huggingface.co/docs/transformers/model_memory_anatomy",
    ),
    "sharding": FormulaSource(
        "S. Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models (2020)",
        "weights, gradients and optimizer state can be divided among GPUs; FSDP does the same",
        "https://arxiv.org/abs/1910.02054",
    ),
    "cache": FormulaSource(
        "W. Kwon et al., Efficient Memory Management for LLM Serving with PagedAttention (2023)",
        "each token keeps a key and a value of every layer and head",
        "https://arxiv.org/abs/2309.06180",
    ),
    "engine": FormulaSource(
        "vLLM documentation, engine arguments, --gpu-memory-utilization",
        "the engine takes 0.9 of a GPU's memory by default",
        "https://docs.vllm.ai/en/stable/configuration/engine_args/",
    ),
    "tensor-parallel": FormulaSource(
        "vLLM documentation, parallelism and scaling",
        "a model is divided among GPUs by its attention heads, so by 2, 4 or 8",
        "https://docs.vllm.ai/en/stable/serving/parallelism_scaling/",
    ),
    "copies": FormulaSource(
        "TensorFlow Serving documentation, architecture, availability preserving policy",
        "a new version is loaded before the old one is released",
        "https://www.tensorflow.org/tfx/serving/architecture",
    ),
    "training-pod": FormulaSource(
        "the requirements of training pods",
        "for each GPU 16 GB or the GPU's own memory, whichever is more; at least 4 cores, and one per GPU",
    ),
    "convention": FormulaSource(
        "a convention of modelyard",
        "whole Gi and cores; workers with at most 64Gi of data or 8 cores; 1Gi for a worker's process",
    ),
}
