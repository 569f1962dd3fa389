"""The command line: verbs, options, exit codes, progress.

Owns arguments, colours on and off, and turning findings into exit codes. Each verb is a module, imported only when you
ask for it, so that no verb slows another down. Decides nothing about plans.
"""

from modelyard.cli.app import main

__all__ = ["main"]
