"""The one exception of the lab."""


class LabError(Exception):
    """The lab cannot do what you asked; the message says why and what to do, and is shown unchanged."""
