"""How Kubernetes objects merge, what a cluster holds, and which pods its nodes take; without a cluster.

Owns the values of a cluster (``state``, ``kinds``), the merges of the API server (``merge``) and what the scheduler
looks at (``scheduling``). Does not talk to a cluster (``cluster`` does) and does not know stacks. Import the part that
you need: this file imports none.
"""
