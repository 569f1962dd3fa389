"""Kubernetes offline: how objects merge, what a cluster holds, and which pods its nodes take.

Owns the values of a cluster (``state``, ``kinds``), the merges of the API server (``merge``) and what the scheduler
looks at (``scheduling``). Does not talk to a cluster (``cluster`` does) and knows no stack. Nothing is imported here:
each part is loaded by who needs it.
"""
