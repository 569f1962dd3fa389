"""What is wrong with a submission, as a value."""

from typing import NamedTuple


class Problem(NamedTuple):
    """One thing that is wrong, and what to do about it."""

    summary: str
    remedy: str
