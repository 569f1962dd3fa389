"""The training backends: one module each, and one line in ``BACKENDS``.

Owns what makes one backend differ from another (``backend``): its workloads, the rules for them, what its jobs are
counted and scaled by. Its section of the stack file is in ``stack``, its patches are in ``patches/``.
Does not ask for jobs (``probes`` does) or order a switch (``plan`` does).
"""

from collections.abc import Mapping

from modelyard.stack.config import Config
from modelyard.workloads.training.backend import Backend
from modelyard.workloads.training.celery import CELERY
from modelyard.workloads.training.ray import RAY

BACKENDS: Mapping[str, Backend] = {one.name: one for one in (RAY, CELERY)}
"""By the value of ``modelyard:training``."""

WORKER_ROLES: tuple[str, ...] = tuple(one.worker for one in BACKENDS.values())
"""The workloads that take jobs; those of one backend are active."""

_BY_ROLE = {role: one for one in BACKENDS.values() for role in one.roles}


def active(config: Config) -> Backend:
    """The backend that trains."""
    return BACKENDS[config.training]


def training_words(config: Config) -> str:
    """``Ray training``, or ``no training`` if the platform has no training workers."""
    trains = any(role not in config.platform.without for role in WORKER_ROLES)
    return f"{active(config).title if trains else 'no'} training"


def backend_of(role: str) -> Backend | None:
    """The backend whose jobs need the workload ``role``; None if no job does."""
    return _BY_ROLE.get(role)


def is_head(role: str) -> bool:
    """Whether ``role`` is the head of a backend."""
    found = _BY_ROLE.get(role)
    return found is not None and found.worker != role


__all__ = ["BACKENDS", "WORKER_ROLES", "Backend", "active", "backend_of", "is_head", "training_words"]
