"""From config that follows the schema to the frozen values of ``config``."""

from collections.abc import Mapping
from typing import Any, Final

from modelyard.stack.config import Config, Path, Training
from modelyard.stack.schema import PREFIX
from modelyard.stack.shape import Source, made
from modelyard.stack.shapes import CONFIG

RAY_DEFAULT_SINCE: Final = (23, 7)
"""The platform release, year and month, from which on Ray is the default backend of training."""


def decode(config: Mapping[str, Any], texts: Mapping[Path, str], secrets: tuple[Path, ...]) -> Config:
    """The config of a stack file.

    Args:
        config: by key with its prefix, as the schema wants it; keys of other programs may stand beside ours.
        texts: source text of numbers, by path below ``config`` of the document.
        secrets: paths of encrypted values in it; all stand in parameters of patches or are credentials.
    """
    given = {key.removeprefix(PREFIX): value for key, value in config.items() if key.startswith(PREFIX)}
    source = Source({_own(path): text for path, text in texts.items()}, frozenset(map(_own, secrets)))
    found: Config = made({"training": default_training(given["platform"]["release"]), **given}, CONFIG, source)
    return found


def default_training(release: str) -> Training:
    """The backend that a release, ``YY.MM``, trains on unless the stack says otherwise."""
    year, month = release.split(".")
    return "ray" if (int(year), int(month)) >= RAY_DEFAULT_SINCE else "celery"


def _own(path: Path) -> Path:
    """A path as findings and ``Stack.positions`` have it: without the prefix of its section."""
    return (str(path[0]).removeprefix(PREFIX), *path[1:])
