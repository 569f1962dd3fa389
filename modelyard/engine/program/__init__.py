"""What runs inside the project's Pulumi program: the steps of an apply, around the resources that the engine makes.

Owns the resource of one target (``resource``), the last look before it changes (``approved``), waiting for jobs to end
before it and for pods to come up after it (``draining``, ``rollouts``), its ledger (``undoing``) and the record of what
was applied (``record``). What a stack's components are is said in ``components``; what to change, by the plan.
"""
