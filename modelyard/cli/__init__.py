"""The command line: verbs, options, exit codes.

Owns arguments, colours on and off, progress, and turning findings into exit codes. Each verb is a module that is
imported only when it is asked for, so that no verb pays for another. It decides nothing about plans.
"""

from modelyard.cli.app import main

__all__ = ["main"]
