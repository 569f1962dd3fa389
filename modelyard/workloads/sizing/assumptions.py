"""What an estimate takes for sizes that a job does not set, so that its rows or its request rate are enough.

Nothing is assumed for a job without either: its work is unknown. The estimate shows each assumption with the key that
replaces it.
"""

from typing import Any, Final, NamedTuple

from modelyard.quantity import parse
from modelyard.stack import durations
from modelyard.stack.jobs import Job
from modelyard.stack.shape import field_of
from modelyard.workloads.sizing.sources import WEIGHT
from modelyard.workloads.sizing.values import Assumption


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
_ANSWER_TIME: Final = _Default("requestTime", "10", "an answer of some hundred tokens")
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
        section, _, key = one.key.rpartition(".")
        if getattr(job.model if section else job, field_of(key)) is not None:
            continue
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
