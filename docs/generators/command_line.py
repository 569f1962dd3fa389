"""The command line from its parsers, and the exit codes from their enumeration."""

import argparse
import signal
from collections.abc import Iterable, Iterator

from generators.markdown import code, page, table


def command_line() -> str:
    """The page of verbs and options."""
    from modelyard.cli.parser import VERBS, global_options, overview, verb_parser

    common = argparse.ArgumentParser(add_help=False)
    global_options(common)
    shared = {action.dest for action in common._actions}
    parts: list[str] = []
    for name in VERBS:
        parts += _verb(name, verb_parser(name), shared, "##")
    return page(
        "Command line",
        "The project is the current folder or its nearest parent with `Pulumi.yaml`. Colours are on for a terminal, "
        "and off for a pipe or with `NO_COLOR`. All commands use the same [exit codes](exit-codes.md) and "
        "[environment variables](environment.md).",
        table(("command", "what it does"), ((f"[{code(name)}](#{name})", verb.help) for name, verb in VERBS.items())),
        "Options of every command, before or after its name. `--version` takes no command:",
        _actions(overview()._actions),
        parts,
    )


def _verb(name: str, parser: argparse.ArgumentParser, shared: set[str], heading: str) -> list[str]:
    """The section of a verb and its sub-verbs."""
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    actions = [action for action in shown if action.dest not in shared and action.dest != "help"]
    subs = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    parts = [f"{heading} {name}", "", " ".join((parser.description or "").split()), ""]
    if not subs:
        parts += ["```text", " ".join((f"modelyard {name}", *_usage(actions))), "```", ""]
        parts += [*_actions(actions), ""] if actions else []
    for action in subs:
        for sub, below in action.choices.items():
            parts += _verb(f"{name} {sub}", below, shared, heading + "#")
    return parts


def _usage(actions: Iterable[argparse.Action]) -> Iterator[str]:
    positional = []
    for action in actions:
        if action.option_strings:
            words = _option(action, action.option_strings[-1])
            yield words if action.required else f"[{words}]"
        else:
            shown = _metavar(action)
            forms = {"*": f"[{shown} ...]", "+": f"{shown} [{shown} ...]", "?": f"[{shown}]"}
            positional.append(forms.get(str(action.nargs), shown))
    yield from positional


def _actions(actions: Iterable[argparse.Action]) -> list[str]:
    rows = []
    for action in actions:
        shown = ", ".join(_option(action, name) for name in action.option_strings) or _metavar(action)
        words = (action.help or "") % {"default": action.default, "prog": "modelyard"}
        rows.append((code(shown), words))
    return table(("argument", "meaning"), rows)


def _option(action: argparse.Action, name: str) -> str:
    if action.nargs == 0:
        return name
    return f"{name} [{_metavar(action)}]" if action.nargs == "?" else f"{name} {_metavar(action)}"


def _metavar(action: argparse.Action) -> str:
    if action.choices and action.metavar is None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return str(action.metavar or action.dest.upper())


def exit_codes() -> str:
    """The page of exit codes."""
    from modelyard.cli.exit import EXIT_CODES, Exit

    rows = [(code(str(one.value)), words) for one, words in EXIT_CODES.items()]
    rows += [
        (code(str(one.value)), f"ended by {signal.Signals(one.value - 128).name}{' (Ctrl-C)' if one == 130 else ''}")
        for one in Exit
        if one not in EXIT_CODES
    ]
    return page(
        "Exit codes",
        "Every `modelyard` command exits with one of these codes. The [guide for CI](../guides/ci.md) shows how to use "
        "them.",
        table(("code", "meaning"), rows),
    )
