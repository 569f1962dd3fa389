"""Runs inside the project's Pulumi program: the steps of an apply, around the resources that the engine makes.

Owns the resource of one target and the record of what was applied to it (``resource``), the last check before it
changes (``approved``), waiting for jobs to end before it and for pods to start after it (``draining``, ``rollouts``),
and its ledger (``undoing``). ``components`` defines a stack's components; the plan defines what to change.
"""
