"""Training on Celery."""

from components.part import Part


class CeleryTraining(Part):
    """The Celery training tasks."""
