"""Where new training requests go."""

from components.part import Part


class TrainingSwitch(Part):
    """The route of new training requests: the first thing that moves when the flag does."""
