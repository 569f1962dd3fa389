"""Stack files: read, checked and frozen.

Owns the form of ``Pulumi.<stack>.yaml`` (its JSON Schema, ``stack.schema.json``), YAML with positions (``yaml``), the
CFG findings (all at once, each with its line and column), the frozen values that everything else is computed from
(``config``), the location of a project's files, and waivers.

Does not write stack files, decrypt secrets, or judge whether the settings make sense: ``hardware`` checks that a GPU
exists and that a worker has enough memory, ``catalog`` checks that a patch exists.
"""

from modelyard.stack.config import Config, RuleChoice, Scope, Stack, Waiver
from modelyard.stack.loader import load, load_text, stack_of
from modelyard.stack.project import StackFile, discover, find_project, misnamed, project_name, stack_folder
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
