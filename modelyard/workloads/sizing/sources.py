"""The rules and numbers behind the formulas, each with its source."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from modelyard.quantity import GI
from modelyard.workloads.sizing.values import Source

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

SOURCES: Final[Mapping[str, Source]] = {
    "cell": Source(
        "pandas documentation, essential basic functionality, dtypes",
        "numbers take 64 bits by default",
        "https://pandas.pydata.org/docs/user_guide/basics.html#dtypes",
    ),
    "in-memory": Source(
        "W. McKinney, Apache Arrow and the 10 Things I Hate About pandas (2017)",
        "5 to 10 times as much memory as data; modelyard takes the lower end",
        "https://wesmckinney.com/blog/apache-arrow-pandas-internals/",
    ),
    "partition": Source(
        "Apache Spark documentation, SQL performance tuning, spark.sql.files.maxPartitionBytes",
        "a task reads 128 MB by default",
        "https://spark.apache.org/docs/latest/sql-performance-tuning.html",
    ),
    "waves": Source(
        "Apache Spark documentation, tuning, level of parallelism",
        "2 to 3 tasks for each core; modelyard takes the upper end",
        "https://spark.apache.org/docs/latest/tuning.html#level-of-parallelism",
    ),
    "little": Source(
        "J. D. C. Little, A Proof for the Queuing Formula L = λW, Operations Research 9 (1961)",
        "requests in progress are their rate times the duration of each",
        "https://doi.org/10.1287/opre.9.3.383",
    ),
    "utilisation": Source(
        "Knative documentation, autoscaling, container-concurrency-target-percentage",
        "instances are filled to 70 % by default",
        "https://knative.dev/docs/serving/autoscaling/concurrency/",
    ),
    "training": Source(
        "Hugging Face Transformers documentation, model training anatomy",
        "18 bytes a parameter with AdamW in mixed precision, and 1 to 2 GB for CUDA itself",
        "https://huggingface.co/docs/transformers/model_memory_anatomy",
    ),
    "sharding": Source(
        "S. Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models (2020)",
        "weights, gradients and optimizer state can be divided among GPUs; FSDP does the same",
        "https://arxiv.org/abs/1910.02054",
    ),
    "cache": Source(
        "W. Kwon et al., Efficient Memory Management for LLM Serving with PagedAttention (2023)",
        "each token keeps a key and a value of every layer and head",
        "https://arxiv.org/abs/2309.06180",
    ),
    "engine": Source(
        "vLLM documentation, engine arguments, --gpu-memory-utilization",
        "the engine takes 0.9 of a GPU's memory by default",
        "https://docs.vllm.ai/en/stable/configuration/engine_args/",
    ),
    "tensor-parallel": Source(
        "vLLM documentation, parallelism and scaling",
        "a model is divided among GPUs by its attention heads, so by 2, 4 or 8",
        "https://docs.vllm.ai/en/stable/serving/parallelism_scaling/",
    ),
    "copies": Source(
        "TensorFlow Serving documentation, architecture, availability preserving policy",
        "a new version is loaded before the old one is released",
        "https://www.tensorflow.org/tfx/serving/architecture",
    ),
    "training-pod": Source(
        "the requirements of training pods",
        "for each GPU 16 GB or the GPU's own memory, whichever is more; at least 4 cores, and one per GPU",
    ),
    "convention": Source("a convention of modelyard", "whole Gi and cores; workers of at most 64Gi or 8 cores"),
}
