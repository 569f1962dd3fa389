"""The verbs, and how a command line is parsed into the verb and its arguments."""

import re
import sys
from argparse import (
    SUPPRESS,
    Action,
    ArgumentParser,
    HelpFormatter,
    Namespace,
    RawDescriptionHelpFormatter,
    _SubParsersAction,
)
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from modelyard.cli.exit import EXIT_CODES, Exit, Stop
from modelyard.cli.streams import columns

COLOUR = ("--colour", "--color")


class Verb(NamedTuple):
    """A verb's module under ``modelyard.cli`` and its line in the help."""

    module: str
    help: str


GROUPS: dict[str, dict[str, Verb]] = {
    "review changes": {
        "plan": Verb("plan", "show what would change in one or more stacks"),
        "show": Verb("show", "show what a stack requests, or a saved plan"),
        "check": Verb("check", "show only findings, for CI"),
        "diff": Verb("diff", "show a unified diff of each target"),
        "render": Verb("render", "write the rendered patches as files"),
        "blame": Verb("blame", "trace a field to its patches, owners and line"),
        "preview": Verb("preview", "show what a branch changes in every stack"),
        "promote": Verb("promote", "propose the edit that copies settings from one stack to another"),
    },
    "apply and undo": {
        "apply": Verb("apply", "plan, ask, and apply with Pulumi"),
        "destroy": Verb("destroy", "restore what a stack patched, delete what it created"),
        "ledger": Verb("ledger", "show what patched fields were before, and what destroy restores"),
        "drift": Verb("drift", "compare what is live with what was applied"),
        "verify": Verb("verify", "wait until stacks match their files, and every query is true"),
        "waves": Verb("waves", "split stacks into waves, and write the pipeline that rolls them out"),
    },
    "look at the platform": {
        "record": Verb("record", "record the live platform for offline plans"),
        "gpus": Verb("gpus", "show which GPUs are supported, or with --live who uses them"),
        "size": Verb("size", "show the sizes of resources, with the estimates behind them"),
    },
    "run jobs": {
        "job": Verb("job", "submit jobs; list, explain, follow and cancel runs"),
        "pipeline": Verb("pipeline", "show, render and submit pipelines"),
        "environment": Verb("environment", "lock, build and show Python environments of jobs"),
        "remote": Verb("remote", "show where remote resources run, and write the files that their jobs need"),
    },
    "work on a project": {
        "init": Verb("init", "write a new project into this folder"),
        "doctor": Verb("doctor", "check programs, versions, login and rights, with remedies"),
        "patches": Verb("patches", "show the patches of this project, or release versions"),
        "upgrade-check": Verb("upgrade_check", "show what new built-in patches would change"),
        "fmt": Verb("fmt", "format stack files and patches"),
        "explain": Verb("explain", "explain a finding's code and how to fix it"),
        "schema": Verb("schema", "print the JSON Schema of a file, or of JSON output"),
        "completion": Verb("completion", "print a completion script for a shell"),
    },
}
"""All verbs, by what people do with them, as the help lists them."""
VERBS = {name: verb for group in GROUPS.values() for name, verb in group.items()}


class Formatter(HelpFormatter):
    """Help that never gets wider than the rest of the output, and whose options are never broken at a hyphen."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns(sys.stdout) - 2)

    def format_help(self) -> str:
        """The help, with lines broken that argparse leaves long: groups of options, lists of verbs and exit codes."""
        return "\n".join(part for line in super().format_help().split("\n") for part in _fitted(line))

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _filled(" ".join(text.split()), width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in self._split_lines(text, width - len(indent)))


def _fitted(line: str) -> list[str]:
    """A line of help in several that fit the terminal, the later ones below the second column."""
    room = columns(sys.stdout)
    if len(line) <= room:
        return [line]
    second = re.match(r" *\S+  +| *", line)
    indent = " " * (second.end() if second is not None else 0)
    return _filled(line, room, indent)


def _filled(text: str, width: int, indent: str = "") -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


class OverviewFormatter(RawDescriptionHelpFormatter, Formatter):
    """Help of limited width that prints the lists of verbs and exit codes unchanged."""


_ALIKE = 0.75
"""How like an option a mistyped one is, from 0 to 1."""
_MOST = 3
"""Options that are suggested for their first letters."""


_ELSEWHERE = {
    "--dry-run": "modelyard plan STACK --live shows what an apply would change",
    "-o": "did you mean --json, or --out FILE?",
    "--base": "modelyard preview compares with another commit; check --base runs the Python rules of that commit",
    "--stack": "write the stack's name without an option: modelyard VERB STACK",
    "--format": "did you mean --json? modelyard preview --format markdown writes a comment",
    "--markdown": "modelyard preview --format markdown writes a comment",
}
"""The answers to options that other tools or verbs have."""
_ARGUMENTS = {
    "modelyard init": "give the names of new stacks with --stacks NAME,NAME; ",
    "modelyard preview": "it compares all stacks of the project; ",
    "modelyard diff": "it takes one stack; modelyard plan STACK STACK --matrix compares stacks; ",
}
"""The answers to an unexpected argument, such as a stack's name, by verbs."""
_ONE_STACK = "it takes one stack; "
"""The answer of other verbs to a second stack's name."""
_REQUIRED = {"modelyard blame": "name a target and a field, such as: modelyard blame dev rayWorker spec.replicas; "}
"""The answers to arguments that are missing, by verbs."""
_SYNONYMS = {
    **dict.fromkeys(("ls", "status", "ps", "get"), "list"),
    **dict.fromkeys(("run", "start", "create"), "submit"),
    **dict.fromkeys(("rm", "delete", "stop", "kill"), "cancel"),
    **dict.fromkeys(("describe", "explain"), "why"),
}
"""Words of other tools, and the sub-verbs that do the same."""


class Parser(ArgumentParser):
    """An argument parser that takes no abbreviated options, and whose errors say what to do next."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Prints the message in one line and stops with the code for bad usage."""
        example = _REQUIRED.get(self.prog, "") if "are required" in message else ""
        raise Stop(Exit.USAGE, message, f"{example}see {self.prog} --help")

    def _check_value(self, action: Action, value: Any) -> None:
        """Stops at a value that is not one of the choices, with the one that was probably meant."""
        if action.choices is None or value in action.choices:
            return
        from modelyard.stack.words import did_you_mean, plain

        choices = tuple(map(str, action.choices))
        name = "/".join(action.option_strings) or action.metavar or action.dest
        summary = f"argument {name}: invalid choice: {plain(str(value))!r} (choose from {', '.join(choices)})"
        if isinstance(action, _SubParsersAction):
            summary = f"unknown verb {plain(f'{self.prog} {value}'.partition(' ')[2])!r}"
        meant = _SYNONYMS.get(value, value) if isinstance(action, _SubParsersAction) else value
        suggested = f"did you mean {meant}?" if meant in choices else did_you_mean(str(value), choices)
        raise Stop(Exit.USAGE, summary, f"{suggested} see {self.prog} --help".strip())


def global_options(parser: ArgumentParser) -> None:
    """Adds the options that stand before or after the verb."""
    parser.add_argument("-C", dest="directory", metavar="DIR", help="use the project in folder DIR")
    parser.add_argument(
        *COLOUR,
        dest="colour",
        choices=("auto", "always", "never"),
        default=None,
        help="colours: auto (on a terminal, unless NO_COLOR is set), always, never",
    )


def verb_parser(name: str) -> Parser:
    """The parser of one verb."""
    module = import_module(f"modelyard.cli.{VERBS[name].module}")
    parser = Parser(prog=f"modelyard {name}", description=module.__doc__, formatter_class=Formatter)
    global_options(parser)
    module.configure(parser)
    return parser


def overview() -> Parser:
    """The parser of the whole command line, for the help without a verb and for the reference page."""
    from modelyard import __version__

    width = max(map(len, VERBS))
    codes = "\n".join(f"  {code.value:>2}  {words}" for code, words in EXIT_CODES.items())
    parser = Parser(
        prog="modelyard",
        description="Plans, checks and applies the GPU side of ML platforms on Kubernetes.",
        epilog="\n\n".join(
            f"{group}:\n" + "\n".join(f"  {name:<{width}}  {verb.help}" for name, verb in verbs.items())
            for group, verbs in GROUPS.items()
        )
        + f"\n\nexit codes:\n{codes}\n\nmodelyard VERB --help shows the options of a verb.",
        formatter_class=OverviewFormatter,
        usage="modelyard [-C DIR] VERB [ARGUMENT ...]",
    )
    global_options(parser)
    parser.add_argument("--version", action="version", version=f"modelyard {__version__}")
    return parser


def parsed(parser: Parser, words: Sequence[str]) -> Namespace:
    """The arguments of a verb, all of them known."""
    args, unknown = parser.parse_known_args(words)
    if unknown and not any(word.startswith("-") for word in unknown):
        args, unknown = _intermixed(parser, words, args)
    if unknown:
        from modelyard.stack.words import listed, near, plain

        parser = getattr(args, "sub_parser", parser)
        word = unknown[0].partition("=")[0]
        kind, options = ("option", _shown_options(parser)) if word.startswith("-") else ("argument", ())
        begun = [option for option in options if option.startswith(word)] if word.startswith("--") else []
        if word in _ELSEWHERE and not begun and word not in options:
            raise Stop(Exit.USAGE, f"unknown option {word!r}", _ELSEWHERE[word])
        close = begun[:_MOST] or near(word, options, 1, _ALIKE)
        other_use = _ARGUMENTS.get(parser.prog, _ONE_STACK if _ends_with_stack(parser) else "")
        suggested = f"did you mean {listed(close)}? " if close else other_use if kind == "argument" else ""
        raise Stop(Exit.USAGE, f"unknown {kind} {plain(word)!r}", f"{suggested}see {parser.prog} --help")
    return args


def _intermixed(parser: Parser, words: Sequence[str], args: Namespace) -> tuple[Namespace, list[str]]:
    """The arguments, and what is left over, with options between arguments: ``job submit dev --team nlp train``.

    argparse gives an optional argument its value, or none, at the first word that is not an option.
    """
    sub: ArgumentParser | None = getattr(args, "sub_parser", None)
    if sub is None:
        return parser.parse_known_intermixed_args(words)
    before, _, after = split(list(words))
    args, _ = parser.parse_known_args(before)
    own, unknown = sub.parse_known_intermixed_args(after)
    return Namespace(**{**vars(args), **vars(own)}), unknown


def _shown_options(parser: ArgumentParser) -> tuple[str, ...]:
    """The options of a verb without earlier names, which its help does not show."""
    return tuple(name for name, action in parser._option_string_actions.items() if action.help != SUPPRESS)


def _ends_with_stack(parser: ArgumentParser) -> bool:
    """Whether the last argument of a verb is the name of one stack."""
    return [action.dest for action in parser._get_positional_actions()][-1:] == ["stack"]


def split(words: list[str]) -> tuple[list[str], str | None, list[str]]:
    """The options before the verb, the verb, and what follows it."""
    index = 0
    while index < len(words):
        if not words[index].startswith("-"):
            return words[:index], words[index], words[index + 1 :]
        index += 2 if words[index] in ("-C", *COLOUR) else 1
    return words, None, []


def add_subverbs(parser: ArgumentParser, known: Mapping[str, Verb]) -> None:
    """Adds a parser for each sub-verb; ``run_subverb`` runs the chosen one.

    Args:
        parser: the verb's parser.
        known: the sub-verbs, each with ``configure`` and ``run``; modules import their tools only when they run.
    """
    parser.set_defaults(run_sub=partial(_no_subverb, parser.prog, tuple(known)))
    verbs = parser.add_subparsers(metavar="VERB", parser_class=Parser)
    for name, verb in known.items():
        module = import_module(f"modelyard.cli.{verb.module}")
        sub = verbs.add_parser(name, help=verb.help, description=module.__doc__, formatter_class=Formatter)
        before = set(map(id, sub._actions))
        global_options(sub)
        for action in sub._actions:
            if id(action) not in before:
                # An option given before the sub-verb counts, unless it is repeated after it.
                action.default = SUPPRESS
        module.configure(sub)
        sub.set_defaults(run_sub=module.run, sub_parser=sub)


def _no_subverb(verb: str, known: Sequence[str], _args: Namespace) -> NoReturn:
    from modelyard.stack.words import listed

    raise Stop(Exit.USAGE, f"{verb} needs a verb: {listed(known, 'or')}", f"see {verb} --help")


def run_subverb(args: Namespace) -> Exit:
    """Runs the chosen sub-verb."""
    code: Exit = args.run_sub(args)
    return code
