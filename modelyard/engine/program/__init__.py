"""Runs inside the project's Pulumi program: the steps of an apply, around the resources that the engine makes.

Owns the resource of one target and the record of what was applied to it (``resource``), the last check before the
target changes (``approved``), the wait for jobs before the change and for pods after it (``draining``, ``rollouts``),
and the target's ledger (``undoing``). ``components`` defines a stack's components; the plan defines what to change.
"""
