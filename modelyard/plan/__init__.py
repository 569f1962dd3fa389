"""The plan: one frozen value that the terminal, the comment, the policies and the components all read.

Owns composing a target's patches into one request, predicting the object after it, ordering the changes by free GPUs,
findings (``checks``: one module for each kind of error), undo (``undo``) and cost (``cost``). Computes everything once;
nothing downstream computes anything again. Never prints, never writes to a cluster and never imports Pulumi.
"""

from modelyard.plan.values import FieldChange, Plan, Step, TargetPlan

__all__ = ["FieldChange", "Plan", "Step", "TargetPlan"]
