"""What is checked of a plan, a module for each thing that can be wrong; ``plan.checking`` asks them all.

The hardware rules are not here: they need no plan (``hardware``).
"""
