"""The state that a plan starts from, read live from an API server or recorded in the project.

Reads Deployments and nodes, records them, and identifies the cluster. No other package talks to Kubernetes.
Pulumi does the applying: this package writes only what undoes an apply (``writing``) and what a submission creates
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
