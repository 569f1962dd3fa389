"""Names and times in sentences."""

from datetime import datetime


def run_words(stack: str, run: str, remote: str = "") -> str:
    """The arguments with which commands such as ``job why`` find a run; ``remote`` is its remote cluster's resource."""
    return f"{stack} {run}" + (f" --remote {remote}" if remote else "")


def span(seconds: int) -> str:
    """A duration in its two largest units: ``3d4h``, ``5h``, ``12m30s``."""
    units = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    parts: list[str] = []
    for unit, length in units:
        count, seconds = divmod(seconds, length)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
        elif parts:
            break
    return "".join(parts[:2])


# Times as Kubernetes writes them, and how long ago they were.
def moment(text: str) -> datetime | None:
    """The time in a text of RFC 3339; None if the text has another form."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def seconds_since(text: str, now: datetime) -> int | None:
    """Whole seconds from a time until now, at least 0; None if it is unknown."""
    found = moment(text)
    return None if found is None else max(0, int((now - found).total_seconds()))


def age(since: str, now: datetime) -> str:
    """How long ago a time was, as ``5h`` or ``12m30s``; ``-`` if it is unknown."""
    seconds = seconds_since(since, now)
    return "-" if seconds is None else span(seconds)
