"""The checks of a plan, one module for each kind of error; ``plan.build`` runs them all.

The hardware rules are in ``hardware``, because they need no plan.
"""
