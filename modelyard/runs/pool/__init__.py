"""The GPU pool now: who has which GPUs, which of them are idle, what waits, and why a run waits or has failed.

Interprets pods, queues and metrics for users and their runs. Everything here is pure: ``cluster`` reads the objects,
and ``promql`` asks a Prometheus server. Changes nothing and schedules nothing: Kueue starts waiting runs.
"""

from modelyard.runs.pool.diagnosis import Diagnosis
from modelyard.runs.pool.runs import Run, runs_of, with_positions
from modelyard.runs.pool.usage import Usage, busy_gpus
from modelyard.runs.pool.view import PoolView, pool_view
from modelyard.runs.pool.why import why

__all__ = ["Diagnosis", "PoolView", "Run", "Usage", "busy_gpus", "pool_view", "runs_of", "why", "with_positions"]
