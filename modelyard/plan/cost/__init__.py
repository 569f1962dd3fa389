"""What a plan costs: GPU-hours and USD, before, after and the difference, each as a range.

Owns the price file of a project (``file``, ``prices.schema.json``), list prices by GPU model and the choice of a price
for a node (``prices``), a pod's share of its node and how two ranges are compared (``project``), and the words for all
of it (``words``). The values are in ``modelyard.plan.cost.values``, so that a plan can carry them.

``project.priced`` prices a plan. This module imports nothing, so that using the words loads no planner.

Does not know what a whole cluster costs (idle nodes, disks, traffic), and never guesses: an amount without a price is
unknown, not free.
"""
