"""The command line: verbs, options, exit codes, progress.

Owns arguments, colours on and off, and turning findings into exit codes. Each verb is a module that is imported only
when it is asked for, so that no verb pays for another. Decides nothing about plans.
"""

from modelyard.cli.app import main

__all__ = ["main"]
