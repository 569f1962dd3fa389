"""Finds the verb, runs it, and ends with the right exit code."""

import atexit
import errno
import gc
import os
import re
import sys
from argparse import Action, ArgumentParser, HelpFormatter, Namespace, RawDescriptionHelpFormatter, _SubParsersAction
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TextIO, cast

from modelyard.cli.exit import EXIT_CODES, Exit, Stop
from modelyard.cli.streams import Heedless, to_nowhere
from modelyard.names import HARDWARE_FILE
from modelyard.report.style import LEAST_COLUMNS, MOST_COLUMNS, Style, wrapped
from modelyard.temporary import watch

if TYPE_CHECKING:
    from modelyard.hardware.gpu_models import GpuModel

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
        "promote": Verb("promote", "propose the edit that copies settings of a stack to another"),
    },
    "apply and undo": {
        "apply": Verb("apply", "plan, ask, and apply with Pulumi"),
        "destroy": Verb("destroy", "restore what a stack patched, delete what it created"),
        "ledger": Verb("ledger", "show what patched fields were before, and what destroy restores"),
        "drift": Verb("drift", "compare what is live with what was applied"),
        "verify": Verb("verify", "wait until stacks run as their files say, and queries are true"),
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
        "remote": Verb("remote", "show machines for remote jobs, and write launch files"),
    },
    "work on a project": {
        "init": Verb("init", "write a new project into this folder"),
        "doctor": Verb("doctor", "check programs, versions, login and rights, with remedies"),
        "patches": Verb("patches", "show the patches of this project"),
        "upgrade-check": Verb("upgrade_check", "show what new built-in patches would change"),
        "fmt": Verb("fmt", "format stack files and patches"),
        "explain": Verb("explain", "explain a finding's code and how to fix it"),
        "schema": Verb("schema", "print a JSON Schema: stack, plan, findings, outputs"),
        "completion": Verb("completion", "print a completion script for a shell"),
    },
}
"""All verbs, by what people do with them, as the help lists them."""
VERBS = {name: verb for group in GROUPS.values() for name, verb in group.items()}


class Formatter(HelpFormatter):
    """Help that never gets wider than the rest of the output."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns(sys.stdout) - 2)

    def format_help(self) -> str:
        """The help, with lines broken that argparse leaves long: groups of options, lists of verbs and exit codes."""
        return "\n".join(part for line in super().format_help().split("\n") for part in _fitted(line))


def _fitted(line: str) -> list[str]:
    """A line of help in several that fit the terminal, the later ones below the second column."""
    room = columns(sys.stdout)
    if len(line) <= room:
        return [line]
    import textwrap

    second = re.match(r" *\S+  +| *", line)
    indent = " " * (second.end() if second is not None else 0)
    return textwrap.wrap(line, room, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


class OverviewFormatter(Formatter, RawDescriptionHelpFormatter):
    """Help of limited width that prints the lists of verbs and exit codes unchanged."""


POINTERS = {
    "help": "modelyard --help lists the verbs",
    "version": "run modelyard --version",
    "validate": "modelyard check validates stacks",
    "lint": "modelyard check shows findings, modelyard fmt formats files",
    "list": "modelyard patches, gpus, job list and environment list show what there is",
    "ls": "modelyard patches, gpus, job list and environment list show what there is",
    "submit": "modelyard job submit runs a job, modelyard pipeline submit a pipeline",
    "logs": "modelyard job logs shows the logs of a run",
    "cancel": "modelyard job cancel ends a run",
    "status": "modelyard drift compares what is live with what was applied; modelyard job list shows runs",
    "up": "modelyard apply plans, asks and applies",
    "down": "modelyard destroy restores what a stack patched and deletes what it created",
}
"""The answers to verbs that other tools have."""
_ALIKE = 0.75
"""How like an option a mistyped one is, from 0 to 1."""
_MOST = 3
"""Options that are suggested for their first letters."""


class Parser(ArgumentParser):
    """An argument parser that takes no abbreviated options, and whose errors say what to do next."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Prints the message in one line and stops with the code for bad usage."""
        raise Stop(Exit.USAGE, message, f"see {self.prog} --help")

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
        suggested = did_you_mean(str(value), choices)
        raise Stop(Exit.USAGE, summary, f"{suggested} see {self.prog} --help".strip())


def global_options(parser: ArgumentParser) -> None:
    """Adds the options that stand before or after the verb."""
    parser.add_argument("-C", dest="directory", metavar="DIR", help="use the project in this folder")
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
    """The parser of the whole command line, for the help and for completion."""
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


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    if "_ARGCOMPLETE" in os.environ:
        import_module("modelyard.cli.completion").complete()
    watch()
    # Objects end with the process; looking for cycles among them first takes a tenth of the time of a plan.
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
    if sys.stderr is None:
        # The caller closed standard error: drop what goes there.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        # Where a terminal or file cannot show a character, Python writes its escape instead of crashing.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    stderr = sys.stderr
    sys.stderr = cast(TextIO, Heedless(stderr))
    try:
        return _ended(list(sys.argv[1:] if argv is None else argv))
    finally:
        sys.stderr.flush()
        sys.stderr = stderr


def _ended(words: list[str]) -> int:
    """Runs the command line, and prints why it fails."""
    # A short run makes many values and few cycles; the default collection of cycles takes a fifth of its time.
    gc.set_threshold(100_000, 50, 1000)
    if sys.stdout is None:
        return _stopped(
            Stop(Exit.USAGE, "standard output is closed", "redirect it to /dev/null if you do not need it"), ()
        )
    try:
        code = int(_run(words))
        sys.stdout.flush()
        return code
    except Stop as stop:
        return _stopped(stop, words)
    except BrokenPipeError:
        # The reader closed the pipe, as `| head` does.
        _drop_output()
        return Exit.FINE
    except KeyboardInterrupt:
        if _wants_json(words):
            return _stopped(Stop(Exit.INTERRUPTED, "interrupted"), words)
        sys.stderr.write("\ninterrupted\n")
        return Exit.INTERRUPTED
    except OSError as error:
        reason = getattr(error, "reason", "") or (error.strerror or str(error)).lower()
        if error.filename is None:
            _drop_output()
            return _stopped(Stop(Exit.USAGE, f"the output cannot be written: {reason}", "write it elsewhere"), ())
        summary = f"{error.filename} cannot be used: {reason}"
        return _stopped(Stop(Exit.USAGE, summary, _remedy(error)), words)
    except Exception as error:
        if os.environ.get("MODELYARD_DEBUG"):
            raise
        # The message may quote data, secrets included: print only where the error happened.
        said = (
            f"internal error: {type(error).__name__}{_place(error)}",
            "This is an error in modelyard; please report it. MODELYARD_DEBUG=1 shows the traceback, which may quote "
            "secrets.",
        )
        if _wants_json(words):
            return _stopped(Stop(Exit.INTERNAL, *said), words)
        room = columns(sys.stderr)
        sys.stderr.write("".join(f"{line}\n" for text in said for line in wrapped(text, 0, room)))
        return Exit.INTERNAL


def _place(error: Exception) -> str:
    """The file and line of modelyard that raised an exception; empty where unknown."""
    place, step = "", error.__traceback__
    while step is not None:
        _, inside, file = step.tb_frame.f_code.co_filename.rpartition(f"{os.sep}modelyard{os.sep}")
        if inside:
            place = f" in modelyard/{file.replace(os.sep, '/')}:{step.tb_lineno}"
        step = step.tb_next
    return place


def _remedy(error: OSError) -> str:
    """What to do when a file or folder cannot be used."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return "free space there; for temporary files, TMPDIR names another folder"
        case errno.EROFS:
            return "make its file system writable, or work on a copy of the project"
        case errno.ELOOP:
            return "replace the symbolic link with a file or folder"
        case _:
            return str(getattr(error, "remedy", "check the path and its permissions"))


def _run(words: list[str]) -> int:
    before, name, after = _split(words)
    if name is None:
        _parsed(overview(), before)
        raise Stop(Exit.USAGE, "no verb given", "see modelyard --help")
    if name not in VERBS:
        from modelyard.stack.words import nearest

        close = nearest(name, VERBS)
        suggested = f"did you mean modelyard {close}?" if close else "modelyard --help lists the verbs"
        raise Stop(Exit.USAGE, f"unknown verb {name!r}", POINTERS.get(name, suggested))
    args = _parsed(verb_parser(name), [*before, *after])
    module = import_module(f"modelyard.cli.{VERBS[name].module}")
    with _own_gpus(args):
        code: int = module.run(args)
    return code


def _parsed(parser: Parser, words: Sequence[str]) -> Namespace:
    """The arguments of a verb, all of them known."""
    args, unknown = parser.parse_known_args(words)
    if unknown:
        from modelyard.stack.words import listed, near, plain

        word = unknown[0].partition("=")[0]
        kind, options = ("option", tuple(dict.fromkeys(_options(parser)))) if word.startswith("-") else ("argument", ())
        begun = [option for option in options if option.startswith(word)] if word.startswith("--") else []
        close = begun[:_MOST] or near(word, options, 1, _ALIKE)
        suggested = f"did you mean {listed(close)}? " if close else ""
        raise Stop(Exit.USAGE, f"unknown {kind} {plain(word)!r}", f"{suggested}see {parser.prog} --help")
    return args


def _options(parser: ArgumentParser) -> Iterator[str]:
    """The names of all options of a parser and of its sub-verbs."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, _SubParsersAction):
            for inner in action.choices.values():
                yield from _options(inner)


def _own_gpus(args: Namespace) -> AbstractContextManager[None]:
    """The GPUs that the project of a run defines, if it has any. A verb that plans says what is wrong with them."""
    start = Path(args.directory or ".")
    start = start.resolve() if start.is_dir() else start
    if not any(os.path.lexists(folder / HARDWARE_FILE) for folder in (start, *start.parents)):
        return nullcontext()
    # Few projects have any, and a cold start must be short.
    from modelyard.hardware.gpu_models import using_later
    from modelyard.stack.project import find_project

    root = find_project(start)
    return nullcontext() if root is None else using_later(partial(_gpus_in, root))


def _gpus_in(root: Path) -> "tuple[GpuModel, ...]":
    from modelyard.hardware.own import load_gpus

    return load_gpus(root).gpus


def verb_in(words: list[str]) -> str | None:
    """The verb of a command line, which may be incomplete; None if it has none that is known."""
    name = _split(words)[1]
    return name if name in VERBS else None


def _split(words: list[str]) -> tuple[list[str], str | None, list[str]]:
    """The options before the verb, the verb, and what follows it."""
    index = 0
    while index < len(words):
        if not words[index].startswith("-"):
            return words[:index], words[index], words[index + 1 :]
        index += 2 if words[index] in ("-C", *COLOUR) else 1
    return words, None, []


def _drop_output() -> None:
    to_nowhere(sys.stdout)


def _wants_json(words: Sequence[str]) -> bool:
    """Whether a command line, which may be wrong, asks for JSON."""
    return "--json" in words or "--format=json" in words or " --format json " in f" {' '.join(words)} "


def _stopped(stop: Stop, words: Sequence[str]) -> int:
    if _wants_json(words):
        from modelyard.report.json import findings_document, json_text

        document = findings_document(stop.findings, error=stop.summary, remedy=stop.remedy)
        try:
            sys.stdout.write(json_text(document) + "\n")
            sys.stdout.flush()
        except OSError:
            # The exit code still says why the run ends.
            _drop_output()
    else:
        style = style_for(Namespace(colour=_colour(words)), sys.stderr)
        sys.stderr.write("\n".join(stop_text(stop, style)) + "\n")
    return stop.code


def _colour(words: Sequence[str]) -> str | None:
    """The value of ``--colour`` in a command line that could not be parsed."""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        name, _, value = word.partition("=")
        if name in COLOUR:
            return value or following
    return None


def stop_text(stop: Stop, style: Style) -> list[str]:
    """Why a run ended: findings, the reason, and what to do next."""
    lines: list[str] = []
    if stop.findings:
        from modelyard.report.finding import findings_text

        lines.extend(findings_text(stop.findings, style))
    for number, line in enumerate(stop.summary.splitlines()):
        first, *rest = wrapped(line, 7, style.columns, "" if number else "error:")
        lines.extend([first.replace("error:", style.error("error") + ":", 1), *rest])
    if stop.remedy:
        lines.extend(wrapped(stop.remedy, 2, style.columns, "→"))
    return lines


def wants_colour(args: Namespace, stream: object) -> bool:
    """Whether to colour output to a stream: as requested, else on a terminal unless NO_COLOR is set."""
    if args.colour is not None and args.colour != "auto":
        return bool(args.colour == "always")
    if os.environ.get("NO_COLOR"):
        return False
    return _is_terminal(stream) and os.environ.get("TERM") != "dumb"


def columns(stream: object) -> int:
    """The width of text for a stream: on a terminal, what ``COLUMNS`` or the terminal says, within limits.

    Pipes and files get the maximum whatever ``COLUMNS`` says, so that their lines are the same everywhere.
    """
    wide = MOST_COLUMNS
    if _is_terminal(stream):
        said = os.environ.get("COLUMNS", "")
        wide = int(said) if re.fullmatch(r"[1-9][0-9]{0,3}", said) else _terminal_columns(stream)
    return max(LEAST_COLUMNS, min(wide, MOST_COLUMNS))


def _is_terminal(stream: object) -> bool:
    isatty = getattr(stream, "isatty", None)
    return bool(isatty is not None and isatty())


def _terminal_columns(stream: object) -> int:
    try:
        # A terminal whose size was never set reports 0.
        return os.get_terminal_size(stream.fileno()).columns or MOST_COLUMNS  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return MOST_COLUMNS


def style_for(args: Namespace, stream: object) -> Style:
    """Colours and width of text for a stream."""
    return Style(wants_colour(args, stream), columns(stream))
