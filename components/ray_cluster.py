"""Training on Ray."""

from components.part import Part


class RayCluster(Part):
    """The Ray head and the training workers."""
