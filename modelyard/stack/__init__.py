"""Stack files: read, checked and frozen.

Owns the form of ``Pulumi.<stack>.yaml`` (its JSON Schema, ``stack.schema.json``), YAML with positions (``yaml``), the
CFG findings (all at once, each with its line and column), the frozen values that everything else is computed from
(``config``), the location of a project's files, and waivers.

Does not write stack files, decrypt secrets, or judge whether the settings make sense: ``hardware`` checks that a GPU
exists and that a worker has enough memory, ``catalog`` checks that a patch exists.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from modelyard.stack.config import Config, RuleChoice, Scope, Stack, Waiver
    from modelyard.stack.loader import load, load_text
    from modelyard.stack.project import (
        StackFile,
        discover,
        find_project,
        misnamed,
        project_name,
        stack_folder,
        stack_of,
    )
    from modelyard.stack.projectfile import check_project
    from modelyard.stack.schema import schema_text
    from modelyard.stack.secret import Secret
    from modelyard.stack.waivers import apply_policy_waivers, apply_waivers, waive

__all__ = [
    "Config",
    "RuleChoice",
    "Scope",
    "Secret",
    "Stack",
    "StackFile",
    "Waiver",
    "apply_policy_waivers",
    "apply_waivers",
    "check_project",
    "discover",
    "find_project",
    "load",
    "load_text",
    "misnamed",
    "project_name",
    "schema_text",
    "stack_folder",
    "stack_of",
    "waive",
]

_MODULES = {
    "config": ("Config", "RuleChoice", "Scope", "Stack", "Waiver"),
    "loader": ("load", "load_text"),
    "project": ("StackFile", "discover", "find_project", "misnamed", "project_name", "stack_folder", "stack_of"),
    "projectfile": ("check_project",),
    "schema": ("schema_text",),
    "secret": ("Secret",),
    "waivers": ("apply_policy_waivers", "apply_waivers", "waive"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    # Who only looks for stack files needs no YAML.
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    return found
