"""What runs in a stack: size, place and replicas of each workload and job.

Owns the arithmetic from what an operator writes (memory per GPU, one training flag) to what a pod requests (``pods``),
the training backends (``training``), the rules for all of these (``rules``), what jobs need (``sizing``), their Python
environments (``environments``), jobs outside the platform's cluster (``remote``), the facts that patches may ask for
(``facts``), and which objects of a cluster are a platform (``discovery``). Does not judge a GPU (``hardware`` does),
render (``catalog`` does) or place pods.
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
from modelyard.workloads.facts.stack import FACTS, Facts, fact_at, instead_of, source_of, stack_facts
from modelyard.workloads.pods import Workload, by_object, every_workload, present, workloads

__all__ = [
    "FACTS",
    "Facts",
    "Workload",
    "by_object",
    "deployment_of",
    "every_workload",
    "fact_at",
    "instead_of",
    "is_deployed",
    "job_facts",
    "namespace_of_job",
    "namespace_of_resource",
    "node_labels",
    "present",
    "sized_resources",
    "source_of",
    "stack_facts",
    "workloads",
]
