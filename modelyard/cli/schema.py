"""Print a JSON Schema (2020-12) that modelyard publishes: of files and of what verbs print."""

import sys
from argparse import ArgumentParser, Namespace
from importlib.resources import files

from modelyard.cli.exit import Exit

SCHEMAS = {
    "stack": ("modelyard.stack", "stack.schema.json"),
    "prices": ("modelyard.cost", "prices.schema.json"),
    "plan": ("modelyard.plan", "plan.schema.json"),
    "policy": ("modelyard.policy", "policy.schema.json"),
    "assertion": ("modelyard.policy", "assertion.schema.json"),
    "preview": ("modelyard.report", "preview.schema.json"),
    "drift": ("modelyard.report", "drift.schema.json"),
    "findings": ("modelyard.report", "findings.schema.json"),
    "outputs": ("modelyard.report", "outputs.schema.json"),
}


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("name", nargs="?", choices=tuple(SCHEMAS), default="stack", help="which schema (default stack)")


def run(args: Namespace) -> Exit:
    """Prints the schema."""
    package, name = SCHEMAS[args.name]
    sys.stdout.write(files(package).joinpath(name).read_text(encoding="utf-8"))
    return Exit.FINE
