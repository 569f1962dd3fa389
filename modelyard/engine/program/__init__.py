"""Runs inside the project's Pulumi program: the steps of an apply, around the resources that the engine makes.

Owns the resources of one target, with the record of what was applied to it and its ledger (``resource``), and what
runs around its step: the last check before it, the wait for jobs before it and for pods after it (``hooks``).
``components`` defines a stack's components; the plan defines what to change.
"""
