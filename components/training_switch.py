"""The route of new training requests."""

from components.part import Part


class TrainingSwitch(Part):
    """The route of new training requests: the first target that changes when the flag does."""
