"""Print a completion script for a shell: eval it in the shell's startup file, or save it in its completion folder.

In fish, pipe it to source instead of eval. The script asks modelyard for each word, so stacks, targets, patches and
jobs are those of the current project. Completion reads files only, never a cluster.
"""

import os
import sys
from argparse import Action, ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.exit import Exit
from modelyard.cli.parser import VERBS, Parser, global_options, split, verb_parser

if TYPE_CHECKING:
    from modelyard.stack import Config

SHELLS = ("bash", "zsh", "fish", "tcsh")
_OF_STACK: dict[str, Callable[["Config"], Iterable[str]]] = {
    "JOB": lambda config: [job.name for job in config.jobs],
    "PIPELINE": lambda config: [pipeline.name for pipeline in config.pipelines],
    "RESOURCE": lambda config: [resource.name for resource in config.resources],
    "--team": lambda config: [team.name for team in config.teams],
    "--flavor": lambda config: [flavor.name for flavor in config.flavors],
    "--priority": lambda config: [priority.name for priority in config.priorities],
    "environment": lambda config: [one.name for one in config.environments],
    "size": lambda config: [*(one.name for one in config.resources), *(job.name for job in config.jobs)],
    "remote": lambda config: [one.name for one in config.resources if one.remote is not None],
}
"""What a stack's settings have: by metavar or option, and for a verb's own NAME by the verb."""
_FILES = ("DIR", "FILE", "PATH")
"""What arguments are called that are files or folders."""


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(args: Namespace) -> Exit:
    """Prints the script."""
    from argcomplete.shell_integration import shellcode

    sys.stdout.write(shellcode(["modelyard"], shell=args.shell) + "\n")
    return Exit.FINE


def complete() -> None:
    """Answers a completion script with the words that fit, and ends the process."""
    import argcomplete

    _, verb, _ = split(_typed())
    argcomplete.autocomplete(_parser(verb), validator=lambda word, typed: word.lower().startswith(typed.lower()))


def _typed() -> list[str]:
    """The words after the program's name."""
    return os.environ.get("COMP_LINE", "").split()[1:]


def _parser(verb: str | None) -> ArgumentParser:
    """The whole command line, with the arguments of only the verb that was typed."""
    parser = Parser(prog="modelyard")
    global_options(parser)
    parser.add_argument("--version", action="store_true")
    verbs = parser.add_subparsers()
    for name, known in VERBS.items():
        if name == verb:
            chosen = verb_parser(name)
            verbs._name_parser_map[name] = chosen
            _add_words(chosen, name)
        else:
            verbs.add_parser(name, help=known.help)
    return parser


def _add_words(parser: ArgumentParser, verb: str) -> None:
    """Tells each argument which words fit it."""
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for inner in action.choices.values():
                _add_words(inner, verb)
        elif words := _words_of(action, verb) or _no_files(action):
            action.completer = lambda parsed_args, words=words, **_: words(parsed_args)  # type: ignore[attr-defined]


def _words_of(action: Action, verb: str) -> "Callable[[Namespace], Iterable[str]] | None":
    """The function that gives an argument's words; None where the shell completes files, or nothing."""
    shown = str(action.metavar)
    if shown.startswith("STACK") or shown == "SOURCE" or (verb, shown) == ("promote", "TARGET"):
        return _stacks
    if action.dest == "target":
        return _targets
    plain = {"CODE": _codes, "GPU": _gpus}.get(shown) or ({"patches": _patches}.get(verb) if shown == "NAME" else None)
    if plain is not None:
        return plain
    keys = (*action.option_strings, shown, verb if shown == "NAME" else "")
    found = next((_OF_STACK[key] for key in keys if key in _OF_STACK), None)
    return None if found is None else lambda args: _of_config(args, found)


def _no_files(action: Action) -> "Callable[[Namespace], Iterable[str]] | None":
    """No words, for an argument that is no file: else the shell would offer files."""
    return None if action.choices or str(action.metavar or action.dest) in _FILES else lambda _args: ()


def _root(args: Namespace) -> Path | None:
    from modelyard.stack.project import find_project

    return find_project(Path(getattr(args, "directory", None) or ".").resolve())


def _stacks(args: Namespace) -> list[str]:
    from modelyard.stack.project import discover

    root = _root(args)
    return [found.name for found in discover(root)] if root is not None else []


def _of_config(args: Namespace, names: "Callable[[Config], Iterable[str]]") -> list[str]:
    """Names in the settings of the stack that was typed, or of the default one."""
    from modelyard.cli.common import default_stack
    from modelyard.stack import discover, load

    root = _root(args)
    if root is None:
        return []
    files = {found.name: found.path for found in discover(root)}
    # Which argument a word is may still be open.
    typed = next((word for word in _typed() if word in files), default_stack(sorted(files)))
    if typed not in files:
        return []
    stack, _ = load(files[typed], files[typed].name, root)
    return list(names(stack.config)) if stack is not None else []


def _targets(args: Namespace) -> list[str]:
    from modelyard.workloads import workloads

    return _of_config(args, lambda config: [name for one in workloads(config) for name in (one.deployment, one.role)])


def _patches(args: Namespace) -> list[str]:
    root = _root(args)
    if root is None:
        return []
    from modelyard.catalog import load_library

    return list(load_library(root).patches)


def _codes(_args: Namespace) -> list[str]:
    from modelyard.explanations import explanations

    return list(explanations())


def _gpus(_args: Namespace) -> list[str]:
    from modelyard.hardware.gpu_models import families, gpu_models

    return [*families(), *gpu_models()]
