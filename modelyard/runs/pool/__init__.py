"""The GPU pool as it is now: who has which GPUs, which of them idle, what waits, and why a run waits or has failed.

Owns what pods, queues and metrics mean for people and their runs. All of it is pure: ``cluster`` reads the objects, a
Prometheus server is asked by ``promql``. It changes nothing, and it is no scheduler: what waits is for Kueue to start.
"""

from modelyard.runs.pool.diagnosis import Diagnosis
from modelyard.runs.pool.runs import Run, runs_of
from modelyard.runs.pool.usage import Usage, busy_gpus
from modelyard.runs.pool.view import PoolView, pool_view
from modelyard.runs.pool.why import why

__all__ = ["Diagnosis", "PoolView", "Run", "Usage", "busy_gpus", "pool_view", "runs_of", "why"]
