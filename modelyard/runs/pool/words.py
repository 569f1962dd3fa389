"""Names and times in sentences."""


def run_words(stack: str, run: str, remote: str = "") -> str:
    """What the verbs of runs take to find one; ``remote`` is the resource in whose remote cluster it is."""
    return f"{stack} {run}" + (f" --remote {remote}" if remote else "")


def span(seconds: int) -> str:
    """A time in its two largest units: ``3d4h``, ``5h``, ``12m30s``."""
    units = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    parts: list[str] = []
    for unit, length in units:
        count, seconds = divmod(seconds, length)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
        elif parts:
            break
    return "".join(parts[:2])
