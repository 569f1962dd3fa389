"""The state that a plan starts from, live from an API server or recorded in the project.

Owns reading Deployments and nodes, recording them, and the cluster's identity. No other package talks to Kubernetes.
Applying is Pulumi's work: this package writes only what undoes an apply (``writing``) and what a submission creates
(``creating``).
"""

from modelyard.cluster.answer import Answer, Ask, Claim, Deletion, Question, Refusal
from modelyard.cluster.recorded import load_recorded

__all__ = [
    "Answer",
    "Ask",
    "Claim",
    "Deletion",
    "Question",
    "Refusal",
    "load_recorded",
]
