"""Show the value of each patched field before modelyard set it, and what a destroy restores."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.common import asked_text, chosen_files, project_root, reached, read_stack
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import json_option, stack_options
from modelyard.cli.printing import say, say_json
from modelyard.cli.progress import beside, followed
from modelyard.cli.streams import style_for

if TYPE_CHECKING:
    from modelyard.kube.state import ClusterState, ObjectKey, StateObject
    from modelyard.stack import Stack


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser)
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Reads the objects of each stack and prints their ledgers."""
    from modelyard.plan.undo.entries import noted_in
    from modelyard.report.ledger import ledger_document, ledger_text

    root = project_root(args)
    files = chosen_files(root, args)
    states = followed((_state(root, name, path, args) for name, path in files.items()), len(files))
    found = [(name, state.source, noted_in(state)) for name, state in zip(files, states, strict=True)]
    if args.json:
        say_json(ledger_document(found))
        return Exit.FINE
    style = style_for(args, sys.stdout)
    say([line for name, source, targets in found for line in ledger_text(name, source, targets, style)])
    return Exit.FINE


def _state(root: Path, name: str, path: Path, args: Namespace) -> "ClusterState":
    stack = read_stack(root, name, path)
    return _live(root, stack, verbose=args.verbose) if args.live else _recorded(root, name)


def _recorded(root: Path, name: str) -> "ClusterState":
    from modelyard.cluster import load_recorded

    state, findings = load_recorded(root, name)
    if state is None:
        raise Stop(Exit.USAGE, f"{name} has no readable recorded platform", "", findings)
    return state._replace(state_objects=_held(root, name))


def _held(root: Path, name: str) -> "Mapping[ObjectKey, StateObject] | None":
    """The objects in the engine's state; None if it cannot be read, so that only the objects' ledgers are used."""
    from modelyard.cluster.engine_state import StateError, state_objects

    try:
        return state_objects(root, name)
    except StateError:
        return None


def _live(root: Path, stack: "Stack", *, verbose: bool) -> "ClusterState":
    from modelyard.cluster.connection import connect, transport
    from modelyard.cluster.requests import Counter
    from modelyard.plan.project import read_live, reading_state_objects

    with reached(), reading_state_objects(root, stack) as held:
        client = connect(stack.context)
        counter = Counter(transport(client))
        state, _ = read_live(root, stack, client, held)
    if verbose:
        beside(asked_text(stack.name, counter.total()).rstrip())
    return state
