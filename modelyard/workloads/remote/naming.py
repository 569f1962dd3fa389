"""Names of machines."""

import hashlib


def machine_name(stack: str, job: str, most: int = 40) -> str:
    """Letters, digits and dashes, ``most`` at the most; shortened names keep apart by a checksum."""
    whole = f"{stack}-{job}".lower().replace("_", "-").replace(".", "-")
    name = whole if whole[0].isalpha() else f"m-{whole}"
    if len(name) <= most:
        return name
    return f"{name[: most - 9]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
