"""Estimates what a job needs from its size, one function per type of job; every intermediate number is a term."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from modelyard.hardware import GpuModel
from modelyard.hardware.limits import MEMORY_GB, TRAINING_CPU
from modelyard.quantity import GB, GI, parse
from modelyard.stack import durations
from modelyard.stack.jobs import Job, JobType
from modelyard.stack.shape import field_of
from modelyard.workloads.sizing.sources import (
    CACHE_BYTES,
    CELL,
    COPIES,
    CUDA,
    ENGINE_SHARE,
    IN_MEMORY,
    MOST_CPU,
    MOST_MEMORY,
    PARTITION,
    PROCESS,
    TRAINING_BYTES,
    UTILISATION,
    WAVES,
    WEIGHT,
    Assumption,
    Estimate,
    Need,
    Term,
    Unit,
    amount,
    count,
)


class _Default(NamedTuple):
    key: str
    """As in the stack file, below the job."""
    value: int | str
    """As in the job."""
    says: str


_COLUMNS: Final = _Default("columns", 50, "a table of medium width")
_ROW_TIME: Final = _Default("requestTime", "1m", "a core predicts 1,000 rows a second")
_WITHIN: Final = _Default("within", 3600, "the rows are predicted in an hour")
_MODEL_FILE: Final = _Default("model.size", "2Gi", "a large model for CPUs")
_REQUEST_TIME: Final = _Default("requestTime", "100m", "a core answers 10 requests a second")
_ANSWER_TIME: Final = _Default("requestTime", "10", "an answer of a few hundred tokens")
_SEQUENCE: Final = _Default("sequence", 4096, "a long question with its answer")
_PARAMETERS: Final = _Default("model.parameters", "8G", "a small language model, such as Llama 3 8B")
_HEADS: Final = _Default("model.keyValueHeads", 8, "as in every Llama 3")
_HEAD_SIZE: Final = _Default("model.headSize", 128, "as in every Llama 3")
_LAYERS: Final = ((20 * 10**9, 32), (150 * 10**9, 80))
"""Parameters up to which a language model is taken for Llama 3 8B and 70B, and their layers. The layers and heads are
those of A. Dubey et al., The Llama 3 Herd of Models (2024), table 3.
"""
_MOST_LAYERS: Final = 126
"""Layers of Llama 3 405B."""


def with_assumptions(job: Job) -> tuple[Job, tuple[Assumption, ...]]:
    """Returns the job with what its estimate assumes in place of sizes that are not set, and these assumptions."""
    made = []
    for one in _defaults(job):
        if _value(job, one.key) is not None:
            continue
        section, _, key = one.key.rpartition(".")
        given: Any = {field_of(key): one.value}
        job = job._replace(model=job.model._replace(**given)) if section else job._replace(**given)
        shown = durations.text(one.value) if isinstance(one.value, int) and one is _WITHIN else str(one.value)
        made.append(Assumption(one.key, shown, one.says))
    return job, tuple(made)


def _defaults(job: Job) -> tuple[_Default, ...]:
    """Returns what to take where the job sets nothing; empty for a job without rows or a request rate."""
    model = job.model
    file = () if model.parameters is not None else (_MODEL_FILE,)
    match job.type:
        case "data-sink" | "dataset" if job.rows is not None:
            return (_COLUMNS,)
        case "training" if job.rows is not None and model.parameters is None:
            return (_COLUMNS,)
        case "batch-prediction" if job.rows is not None:
            return (_COLUMNS, _ROW_TIME, _WITHIN, *file)
        case "serving" if job.request_rate is not None:
            return (_REQUEST_TIME, *file)
        case "llm-serving" if job.request_rate is not None:
            weights = () if model.size is not None else (_PARAMETERS,)
            return (*weights, _layers(job), _HEADS, _HEAD_SIZE, _ANSWER_TIME, _SEQUENCE)
    return ()


def _layers(job: Job) -> _Default:
    model = job.model
    parameters = parse(model.parameters or str(_PARAMETERS.value))
    if model.size is not None:
        parameters = parse(model.size) / WEIGHT[model.precision]
    layers = next((layers for most, layers in _LAYERS if parameters <= most), _MOST_LAYERS)
    return _Default("model.layers", layers, "as in the Llama 3 of this size")


MOST_GPUS: Final = 16
"""GPUs of the largest machine in the table of instances; a larger job needs several machines."""

_PARTITION: Final = amount(PARTITION)
_PROCESS: Final = f"{amount(PROCESS)} of the process"
_MOST_MEMORY: Final = amount(MOST_MEMORY)
"""Text that most estimates contain, formatted once: a large stack has thousands of them."""


def estimate(job: Job, gpu: GpuModel | None) -> Estimate:
    """Estimates what a job needs. Rows or a request rate are enough: for other sizes there are assumptions."""
    whole, assumptions = with_assumptions(job)
    found = _FORMULAS[job.type](whole, gpu)
    missing = (*(one.key for one in assumptions), *found.missing)
    return found._replace(missing=missing, assumptions=assumptions) if assumptions else found


class _Sum:
    """Collects the terms of an estimate."""

    def __init__(self) -> None:
        self.terms: list[Term] = []

    def term(self, name: str, formula: str, value: Fraction | int, unit: Unit, *sources: str) -> Fraction:
        """Adds a line and returns its value."""
        self.terms.append(Term(name, formula, Fraction(value), unit, sources))
        return Fraction(value)

    def whole(self, name: str, formula: str, value: Fraction | int, unit: Unit, *sources: str) -> int:
        """Adds a line and returns its value, rounded up, and at least 1."""
        return int(self.term(name, formula, max(math.ceil(value), 1), unit, *sources))

    def gi(self, name: str, formula: str, value: Fraction, *sources: str) -> int:
        """Adds a line and returns its value, rounded up to whole Gi."""
        return int(self.term(name, formula, max(math.ceil(value / GI), 1) * GI, "bytes", *sources))

    def result(self, need: Need, *missing: str, notes: tuple[str, ...] = ()) -> Estimate:
        return Estimate(need, tuple(self.terms), missing, notes)


def _absent(job: Job, *keys: str) -> tuple[str, ...]:
    """Returns the keys that a job does not set, of those given, in the stack file's spelling (``model.layers``)."""
    return tuple(key for key in keys if _value(job, key) is None)


def _value(job: Job, key: str) -> Any:
    section, _, name = key.rpartition(".")
    return getattr(job.model if section else job, field_of(name))


def _each(value: Fraction | int, word: str) -> str:
    """Returns a number with its unit: ``1 row``, ``50,000,000 rows``."""
    return f"{count(value)} {word}" + ("" if value == 1 else "s")


def _data(job: Job, found: _Sum) -> Fraction | None:
    """Returns the bytes of the dataset."""
    if job.rows is None or job.columns is None:
        return None
    rows = parse(job.rows)
    formula = f"{_each(rows, 'row')} × {_each(job.columns, 'column')} × {CELL} bytes"
    return found.term("data", formula, rows * job.columns * CELL, "bytes", "cell")


def _partitions(data: Fraction, found: _Sum) -> int:
    """Returns the cores for a dataset that is processed partition by partition."""
    pieces = found.whole("partitions", f"data ÷ {_PARTITION}", data / PARTITION, "parts", "partition")
    return found.whole("total cores", f"partitions ÷ {WAVES}", Fraction(pieces, WAVES), "cores", "waves")


def _data_sink(job: Job, _gpu: GpuModel | None) -> Estimate:
    """Estimates a job that streams rows: a core holds one partition at a time."""
    found = _Sum()
    data = _data(job, found)
    if data is None:
        return found.result(Need(gpus=0), *_absent(job, "rows", "columns"))
    cores = min(_partitions(data, found), MOST_CPU)
    cpu = found.whole("cpu", f"total cores, at most {MOST_CPU}", cores, "cores", "convention")
    each = cpu * PARTITION * IN_MEMORY + PROCESS
    formula = f"{_each(cpu, 'core')} × {_PARTITION} × {IN_MEMORY} + {_PROCESS}"
    memory = found.gi("memory", formula, Fraction(each), "in-memory", "convention")
    return found.result(Need(1, cpu, memory, 0), notes=("the loading time is not estimated; more workers load faster",))


def _dataset(job: Job, _gpu: GpuModel | None) -> Estimate:
    """Estimates a job with the whole dataset in the workers' memory, for joins and aggregates."""
    found = _Sum()
    data = _data(job, found)
    if data is None:
        return found.result(Need(gpus=0), *_absent(job, "rows", "columns"))
    memory = found.term("in memory", f"data × {IN_MEMORY}", data * IN_MEMORY, "bytes", "in-memory")
    workers = found.whole("workers", f"in memory ÷ {_MOST_MEMORY}", memory / MOST_MEMORY, "pods", "convention")
    cores = min(_partitions(data, found), workers * MOST_CPU)
    formula = f"total cores ÷ workers, at most {MOST_CPU}"
    cpu = found.whole("cpu", formula, Fraction(cores, workers), "cores", "convention")
    each = memory / workers + PROCESS
    formula = f"in memory ÷ workers + {_PROCESS}"
    return found.result(Need(workers, cpu, found.gi("memory", formula, each, "convention"), 0))


def _training(job: Job, gpu: GpuModel | None) -> Estimate:
    """Estimates training: with parameters, on GPUs; otherwise with the whole dataset in the memory of one pod."""
    return _deep_training(job, gpu) if job.model.parameters is not None else _classic_training(job)


def _classic_training(job: Job) -> Estimate:
    found = _Sum()
    data = _data(job, found)
    if data is None:
        # Whether it needs a GPU is unknown too.
        return found.result(Need(), *_absent(job, "rows", "columns", "model.parameters"))
    memory = found.term("in memory", f"data × {IN_MEMORY}", data * IN_MEMORY, "bytes", "in-memory")
    cpu = found.whole("cpu", "minimum of a training pod", TRAINING_CPU, "cores", "training-pod")
    least = Fraction(MEMORY_GB * GB)
    formula = f"in memory + {_PROCESS}, at least {MEMORY_GB} GB"
    each = found.gi("memory", formula, max(memory + PROCESS, least), "training-pod", "convention")
    return found.result(Need(1, cpu, each, 0), notes=("one pod: few of these libraries divide a model among several",))


def _deep_training(job: Job, gpu: GpuModel | None) -> Estimate:
    found = _Sum()
    model = job.model
    assert model.parameters is not None
    parameters = parse(model.parameters)
    formula = f"{count(parameters)} parameters × {TRAINING_BYTES} bytes"
    parts = "weights, gradients, optimizer"
    needed = found.term(parts, formula, parameters * TRAINING_BYTES, "bytes", "training")
    if model.activation is not None:
        each = parse(model.activation)
        formula = f"batch {job.batch} × {amount(each)}"
        needed += found.term("activations", formula, each * job.batch, "bytes")
        parts = f"({parts} + activations)"
    missing = _absent(job, "model.activation")
    notes = ("activations are not included",) if missing else ()
    found.term("CUDA", "used by a process on each GPU", CUDA, "bytes", "training")
    if gpu is None:
        needed = found.term("GPU memory", f"{parts} + CUDA", needed + CUDA, "bytes")
        return found.result(Need(gpu_memory=math.ceil(needed)), *missing, notes=notes)
    room = Fraction(gpu.memory_gb * GB - CUDA)
    gpus = found.whole(
        "GPUs", f"{parts} ÷ ({gpu.memory_gb} GB of the {gpu.short} − CUDA)", needed / room, "GPUs", "sharding"
    )
    needed = found.term("GPU memory", f"{parts} + CUDA × GPUs", needed + CUDA * gpus, "bytes")
    return found.result(_training_pod(found, gpus, gpu, needed), *missing, notes=notes)


def _training_pod(found: _Sum, gpus: int, gpu: GpuModel, gpu_memory: Fraction) -> Need:
    """Estimates one pod with the GPUs: its cores and memory follow them."""
    cores, beside = beside_gpus(gpus, gpu)
    cpu = found.whole("cpu", f"{TRAINING_CPU}, or one per GPU if that is more", cores, "cores", "training-pod")
    least = max(MEMORY_GB, gpu.memory_gb)
    memory = found.gi("memory", f"{gpus} × {least} GB", Fraction(beside), "training-pod")
    return Need(1, cpu, memory, gpus, math.ceil(gpu_memory))


def beside_gpus(gpus: int, gpu: GpuModel) -> tuple[int, int]:
    """Returns the cores and the memory in whole Gi, as bytes, that a pod with ``gpus`` GPUs of this model needs."""
    memory = Fraction(gpus * max(MEMORY_GB, gpu.memory_gb) * GB)
    return max(TRAINING_CPU, gpus), math.ceil(memory / GI) * GI


def _busy(job: Job, found: _Sum) -> Fraction | None:
    """Returns the cores that are always busy, or requests in progress."""
    if job.request_rate is None or job.request_time is None:
        return None
    rate, time = parse(job.request_rate), parse(job.request_time)
    formula = f"{count(rate)} a second × {count(time)} s"
    return found.term("requests at a time", formula, rate * time, "requests", "little")


def _model_size(job: Job, found: _Sum) -> Fraction | None:
    """Returns the bytes of the model's file."""
    model = job.model
    if model.size is not None:
        return found.term("model", "size of its file", parse(model.size), "bytes")
    if model.parameters is None:
        return None
    parameters, each = parse(model.parameters), WEIGHT[model.precision]
    formula = f"{count(parameters)} parameters × {count(each)} bytes ({model.precision})"
    return found.term("model", formula, parameters * each, "bytes")


def _no_size(size: Fraction | None) -> tuple[str, ...]:
    return ("model.size",) if size is None else ()


def _with_model(found: _Sum, size: Fraction | None, rest: int, formula: str) -> int | None:
    """Returns the memory of a pod that holds a model; None if the model's size is unknown."""
    if size is None:
        return None
    return found.gi("memory", f"model × {COPIES} + {formula}", size * COPIES + rest, "copies", "convention")


def _spread(found: _Sum, cores: int) -> tuple[int, int]:
    """Returns the number of workers and the cores of each."""
    workers = found.whole("workers", f"total cores ÷ {MOST_CPU}", Fraction(cores, MOST_CPU), "pods", "convention")
    return workers, found.whole("cpu", "total cores ÷ workers", Fraction(cores, workers), "cores")


def _batch_prediction(job: Job, _gpu: GpuModel | None) -> Estimate:
    """Estimates rows that all cores process within a given time."""
    found = _Sum()
    size = _model_size(job, found)
    missing = _absent(job, "rows", "columns", "requestTime", "within") + _no_size(size)
    if job.rows is None or job.columns is None or job.request_time is None or job.within is None:
        return found.result(Need(gpus=0), *missing)
    rows, time = parse(job.rows), parse(job.request_time)
    work = f"{_each(rows, 'row')} × {count(time)} s ÷ {count(Fraction(job.within))} s"
    busy = found.term("busy cores", work, rows * time / job.within, "cores", "little")
    formula = f"busy cores ÷ {count(UTILISATION)}"
    cores = found.whole("total cores", formula, busy / UTILISATION, "cores", "utilisation")
    workers, cpu = _spread(found, cores)
    held = cpu * job.batch * job.columns * CELL * IN_MEMORY
    cells = f"{_each(cpu, 'core')} × {_each(job.batch, 'row')} × {_each(job.columns, 'column')}"
    formula = f"{cells} × {CELL} × {IN_MEMORY} bytes + {_PROCESS}"
    memory = _with_model(found, size, held + PROCESS, formula)
    return found.result(Need(workers, cpu, memory, 0), *missing)


def _serving(job: Job, _gpu: GpuModel | None) -> Estimate:
    """Estimates requests on CPUs, one core per request."""
    found = _Sum()
    size = _model_size(job, found)
    missing = _absent(job, "requestRate", "requestTime") + _no_size(size)
    busy = _busy(job, found)
    workers = cpu = None
    if busy is not None:
        formula = f"requests at a time ÷ {count(UTILISATION)}, a core each"
        cores = found.whole("total cores", formula, busy / UTILISATION, "cores", "utilisation")
        workers, cpu = _spread(found, cores)
    return found.result(Need(workers, cpu, _with_model(found, size, PROCESS, _PROCESS), 0), *missing)


def _llm_serving(job: Job, gpu: GpuModel | None) -> Estimate:
    """Estimates weights and KV cache in the memory of one pod's GPUs."""
    found = _Sum()
    weights = _model_size(job, found)
    cache = _cache(job, found)
    cached = ("model.layers", "model.keyValueHeads", "model.headSize")
    missing = _absent(job, "requestRate", "requestTime", "sequence", *cached)
    if weights is None:
        return found.result(Need(), "model.parameters", *missing)
    notes: tuple[str, ...] = () if cache is not None else ("the KV cache is not included",)
    formula = f"(model + cache) ÷ {count(ENGINE_SHARE)}" if cache is not None else f"model ÷ {count(ENGINE_SHARE)}"
    needed = found.term("GPU memory", formula, (weights + (cache or 0)) / ENGINE_SHARE, "bytes", "engine")
    if gpu is None:
        return found.result(Need(workers=1, gpu_memory=math.ceil(needed)), *missing, notes=notes)
    ratio = needed / (gpu.memory_gb * GB)
    gpus = 1
    while gpus < ratio and gpus < MOST_GPUS:
        gpus *= 2
    formula = f"GPU memory ÷ {gpu.memory_gb} GB of the {gpu.short}, rounded up to 1, 2, 4, 8 …"
    if gpus < ratio:
        notes += (f"more than {MOST_GPUS} GPUs of one machine; it takes several machines, or a GPU with more memory",)
        return found.result(Need(workers=1, gpu_memory=math.ceil(needed)), *missing, notes=notes)
    found.term("GPUs", formula, gpus, "GPUs", "tensor-parallel")
    return found.result(_training_pod(found, gpus, gpu, needed), *missing, notes=notes)


def _cache(job: Job, found: _Sum) -> Fraction | None:
    """Returns the bytes of keys and values of all requests in progress."""
    model = job.model
    if model.layers is None or model.key_value_heads is None or model.head_size is None or job.sequence is None:
        return None
    busy = _busy(job, found)
    if busy is None:
        return None
    formula = f"2 × {model.layers} layers × {model.key_value_heads} heads × {model.head_size} × {CACHE_BYTES} bytes"
    token = 2 * model.layers * model.key_value_heads * model.head_size * CACHE_BYTES
    each = found.term("cache per token", formula, token, "bytes", "cache")
    at_once = max(math.ceil(busy), 1)
    formula = f"cache per token × {count(Fraction(job.sequence))} tokens × {_each(at_once, 'request')} at a time"
    return found.term("cache", formula, each * job.sequence * at_once, "bytes", "cache")


def _runtime(_job: Job, _gpu: GpuModel | None) -> Estimate:
    """Estimates nothing: the content of a custom runtime is unknown."""
    return Estimate(Need(), notes=("a custom runtime is sized by its resource alone",))


_FORMULAS: Final[Mapping[JobType, Callable[[Job, GpuModel | None], Estimate]]] = {
    "data-sink": _data_sink,
    "dataset": _dataset,
    "training": _training,
    "batch-prediction": _batch_prediction,
    "serving": _serving,
    "llm-serving": _llm_serving,
    "runtime": _runtime,
}
