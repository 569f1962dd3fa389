"""Documents of YAML whose texts know their places."""

from typing import Any

import yaml


class Placed(str):
    """A text of a document, and where it stands."""

    __slots__ = ("end", "start")
    start: int
    end: int


class _Loader(yaml.CBaseLoader):
    """Every scalar is a text."""

    def construct_scalar(self, node: Any) -> Placed:
        text = Placed(super().construct_scalar(node))
        text.start, text.end = node.start_mark.index, node.end_mark.index
        return text


def placed(text: str) -> list[Any]:
    """The documents of a text.

    Raises:
        ValueError: it is no YAML.
    """
    try:
        return list(yaml.load_all(text, Loader=_Loader))
    except (yaml.YAMLError, TypeError) as error:
        raise ValueError(type(error).__name__) from None
