"""Which sizes of a job its estimate goes by, and which ones nothing reads."""

from collections.abc import Mapping
from typing import Final

from modelyard.stack.jobs import Job, JobType, Model
from modelyard.stack.shape import field_of

SIZES: Final = ("rows", "columns", "requestRate", "requestTime", "within", "batch", "sequence")
"""What a job may say of its size, by its key in the stack file; what it says of its model comes on top."""
MODEL: Final = ("parameters", "precision", "size", "layers", "keyValueHeads", "headSize", "activation")
_READ: Final[Mapping[JobType, tuple[str, ...]]] = {
    "data-sink": ("rows", "columns"),
    "dataset": ("rows", "columns"),
    "training": ("rows", "columns"),
    "batch-prediction": ("rows", "columns", "requestTime", "within", "batch"),
    "serving": ("requestRate", "requestTime"),
    "llm-serving": ("requestRate", "requestTime", "sequence", "model.layers", "model.keyValueHeads", "model.headSize"),
    "runtime": (),
}
_SERVES: Final = ("batch-prediction", "serving", "llm-serving")
"""Types whose pods hold the weights of a model."""


def read(job: Job) -> tuple[str, ...]:
    """Keys by which a job of its type is sized, as the stack file spells them; what others say changes nothing."""
    if job.type == "training" and job.model.parameters is not None:
        return ("batch", "model.parameters", "model.activation")
    if job.type not in _SERVES:
        return _READ[job.type]
    # The file of a model is as large as it is, whatever is in it.
    weights = ("model.size",) if job.model.size is not None else ("model.parameters", "model.precision")
    return (*_READ[job.type], *weights)


def unread(job: Job) -> tuple[str, ...]:
    """Keys of sizes that a job says and by which it is not sized."""
    said = [key for key in SIZES if _said(job, key)]
    said += [f"model.{key}" for key in MODEL if _said(job.model, key)]
    known = read(job)
    return tuple(key for key in said if key not in known)


def _said(one: Job | Model, key: str) -> bool:
    """Whether it is another value than what stands for nothing said."""
    field = field_of(key)
    return bool(getattr(one, field) != one._field_defaults[field])
