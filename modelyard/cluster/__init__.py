"""What is there: the starting state of a plan, live from an API server or recorded in the project.

Owns reading Deployments and nodes, recording them, and the cluster's identity. It is the only package that talks to
Kubernetes. Applying is Pulumi's work: all that is ever written here is what undoes an apply (``writing``).
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
