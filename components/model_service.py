"""The model service."""

from components.part import Part


class ModelService(Part):
    """CPU inference: size, replicas and the local volume of the model service."""
