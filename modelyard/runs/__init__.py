"""Runs: the submitted objects, and the state of the runs.

Owns the objects of a submission (``jobs``, ``notebooks``, ``functions``, ``pipelines``) and the GPU pool that runs
share (``pool``: who has which GPUs, what waits, and why). Pure functions over objects that ``cluster`` reads and
writes. Kueue does all queueing and scheduling.
"""
