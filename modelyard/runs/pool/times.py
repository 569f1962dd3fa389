"""Moments as Kubernetes writes them, and how long ago they were."""

from datetime import datetime

from modelyard.runs.pool.words import span


def moment(text: str) -> datetime | None:
    """A moment in RFC 3339; None where the text is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def seconds_since(text: str, now: datetime) -> int | None:
    """Whole seconds from a moment until now, at least 0; None where it is not known."""
    found = moment(text)
    return None if found is None else max(0, int((now - found).total_seconds()))


def age(since: str, now: datetime) -> str:
    """How long ago a moment was, as ``5h`` or ``12m30s``; ``-`` where it is not known."""
    seconds = seconds_since(since, now)
    return "-" if seconds is None else span(seconds)
