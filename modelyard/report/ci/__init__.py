"""Findings in the formats of CI systems, one module per format; ``FORMATS`` lists them.

Owns the table of formats and how each shows a run of ``check``. Writes no file: ``cli.check`` does. To add a format,
write a module with ``document(checked)`` and add its row.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from modelyard.report.ci.checked import Checked


class Format(NamedTuple):
    """A row of the table."""

    module: str
    """Name of its module in this folder, loaded when the format is asked for."""
    purpose: str
    """The description for the help."""
    ending: str = ""
    """File ending that selects this format by default; empty: none."""
    rules: bool = False
    """Whether it describes the rules that have findings or were checked."""


FORMATS: Final[Mapping[str, Format]] = {
    "sarif": Format("sarif", "code scanning", ".sarif", rules=True),
    "junit": Format("junit", "test reports", ".xml", rules=True),
    "github": Format("annotations", "annotations and the run's summary"),
}


def document(name: str, checked: "Checked") -> str:
    """The findings of a run in a format of the table.

    Args:
        name: a key of ``FORMATS``.
        checked: the run.
    """
    text: str = import_module(f"{__name__}.{FORMATS[name].module}").document(checked)
    return text
