"""Options and arguments that several verbs have."""

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from modelyard.cli.exit import Exit, Stop

STACK = "MODELYARD_STACK"
"""Environment variable that names the stack where the command line names none."""
DEFAULT_STACK = f"default: ${STACK}, or the project's only stack"


def commit(text: str) -> str:
    """A branch, tag or commit; argparse's type.

    Raises:
        ArgumentTypeError: it is empty. In CI, an unset variable must not choose another commit, or none.
    """
    if not text.strip():
        raise ArgumentTypeError("the name is empty: give a branch, tag or commit, or leave the option out")
    return text


def stack_options(parser: ArgumentParser, *, many: bool = True) -> None:
    """Adds the options that choose stacks and their starting state."""
    if many:
        stacks_argument(parser)
    else:
        stack_argument(parser)
    parser.add_argument(
        "--live", action="store_true", help="use the cluster of the stack's context, not the recorded platform"
    )
    verbose_option(parser)


def stacks_argument(parser: ArgumentParser) -> None:
    """Adds the arguments that choose one or more stacks."""
    parser.add_argument("stacks", nargs="*", metavar="STACK", help=f"names of stacks, such as dev; {DEFAULT_STACK}")
    parser.add_argument("--all", action="store_true", help="every stack of the project")
    change_and_label_options(parser)
    parser.add_argument(
        "--shard",
        type=_shard,
        metavar="I/N",
        help="only part I of N equal parts of these stacks, to split the work among N machines",
    )


def change_and_label_options(parser: ArgumentParser) -> None:
    """Adds the options that choose among all stacks of a project."""
    parser.add_argument(
        "--changed-since",
        type=commit,
        metavar="REF",
        help="the stacks that depend on a file that has changed since the merge base with this branch, tag or commit",
    )
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        type=_label,
        metavar="KEY=VALUE",
        help="the stacks with this label in modelyard:labels (repeatable; a stack must have all of them)",
    )


def stack_argument(parser: ArgumentParser) -> None:
    """Adds the argument that names a stack."""
    parser.add_argument("stack", nargs="?", metavar="STACK", help=f"name of a stack, such as dev; {DEFAULT_STACK}")


def verbose_option(parser: ArgumentParser) -> None:
    """Adds the option that shows what reading a cluster took."""
    parser.add_argument(
        "--verbose", action="store_true", help="report on standard error how many requests were sent to the cluster"
    )


def json_option(parser: ArgumentParser) -> None:
    """Adds the option for machine-readable output."""
    parser.add_argument("--json", action="store_true", help="print JSON (its schema: modelyard schema)")


def renamed_option(parser: ArgumentParser, name: str, before: str, **settings: Any) -> None:
    """Adds an option, which its earlier name still sets; the help shows the new one only."""
    action = parser.add_argument(name, **settings)
    parser.add_argument(before, **{**settings, "dest": action.dest, "help": SUPPRESS})


def whole_number(text: str) -> int:
    """A whole number of the command line."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text[:20]!r} is not a whole number") from None


def _shard(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise ArgumentTypeError(f"{text!r} is not a part such as 1/4")
    return int(part), int(parts)


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise ArgumentTypeError(f"{text!r} is not a label such as region=eu")
    return key, value


def chosen_format(args: Namespace) -> str | None:
    """The format to write, None if no option names one; ``--json`` is short for ``--format json``.

    Raises:
        Stop: the options name two formats.
    """
    if args.json and args.format not in (None, "json"):
        raise Stop(Exit.USAGE, f"both --json and --format {args.format} were given", "give one of them")
    return "json" if args.json else args.format
