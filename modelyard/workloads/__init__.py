"""What runs in an environment: each workload's size, place and replicas, derived from the stack file.

Owns the arithmetic between what an operator wrote (memory per GPU, one training flag) and what a pod asks for
(memory of the pod, replicas of both training sides). Does not judge the result (``hardware`` does) and renders
nothing (``catalog`` does).
"""

from modelyard.workloads.facts.jobs import (
    deployment_of,
    is_deployed,
    job_facts,
    namespace_of_job,
    namespace_of_resource,
    sized_resources,
)
from modelyard.workloads.facts.pool import node_labels
from modelyard.workloads.facts.stack import Facts, fact_at, facts, source_of, stack_facts
from modelyard.workloads.pods import GPU_ROLES, Workload, workloads

__all__ = [
    "GPU_ROLES",
    "Facts",
    "Workload",
    "deployment_of",
    "fact_at",
    "facts",
    "is_deployed",
    "job_facts",
    "namespace_of_job",
    "namespace_of_resource",
    "node_labels",
    "sized_resources",
    "source_of",
    "stack_facts",
    "workloads",
]
