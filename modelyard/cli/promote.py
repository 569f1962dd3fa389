"""Propose the edit that copies the release, images, and CUDA, Kubernetes and patch versions of one stack to another.

It also copies whether images embed PTX, and parameters of patches that both stacks use. --take adds other settings.
The context, waivers, policy settings, and lists such as jobs and teams are never copied.
"""

import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modelyard.cli.common import project_root, read_stack, stack_files
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import json_option
from modelyard.cli.printing import say, say_json
from modelyard.cli.streams import style_for
from modelyard.hiding import hidden, hidden_lines

if TYPE_CHECKING:
    from collections.abc import Set

    from modelyard.catalog import Selected
    from modelyard.preview.promote import Difference, Promotion
    from modelyard.stack.config import Stack

_CONTEXT = "kubernetes:context"
"""The setting that names a stack's cluster."""


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("source", metavar="SOURCE", help="name of the stack that is ahead, such as dev")
    parser.add_argument("target", metavar="TARGET", help="name of the stack to update, such as staging")
    parser.add_argument(
        "--take",
        action="append",
        default=[],
        metavar="SETTING",
        help="also take this setting or section from the source, such as gpu.model or gpu (repeatable)",
    )
    parser.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="SETTING",
        help="keep the target's value of this setting or section (repeatable)",
    )
    parser.add_argument("--write", action="store_true", help="write the edit to the target's stack file")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Compares, shows the edit, and writes it where asked to."""
    from modelyard.catalog.select import secret_texts
    from modelyard.files import read_text
    from modelyard.preview.promote import promoted, promotion
    from modelyard.stack import load_text
    from modelyard.stack.yaml.edit import EditError

    root = project_root(args)
    paths = stack_files(root, [args.source, args.target], False)
    if len(paths) < 2:
        raise Stop(Exit.USAGE, f"{args.source} is both source and target", "name two stacks")
    stacks = [read_stack(root, name, path) for name, path in paths.items()]
    source, target = stacks
    ahead, behind = (_chosen(root, stack) for stack in stacks)
    secrets = secret_texts((*ahead, *behind))
    versions = _versions(ahead), _versions(behind)
    patches = {f"patches.{name}" for name in {**versions[0], **versions[1]}}
    _known(args.take, patches, target)
    _known(args.keep, patches)
    _apart(args.take, args.keep)
    found = promotion(source, target, versions, args.take, args.keep)
    file = paths[args.target]
    before = read_text(file, within=root)
    try:
        after = promoted(before, found)
    except EditError as error:
        raise Stop(Exit.USAGE, f"{target.file} cannot be edited: {error}", "make the edit by hand") from error
    edited, findings = load_text(after, target.name, target.file)
    if edited is None:
        remedy = "keep the target's values of the settings that the findings name: --keep SETTING"
        raise Stop(Exit.FINDINGS, "the edit would make a stack file that cannot be read", remedy, findings)
    if args.write and after != before:
        from modelyard.files import write_atomically

        write_atomically(file, after, within=root)
    taken, kept = (tuple(one.without(secrets) for one in some) for some in (found.taken, found.kept))
    _print(args, found._replace(taken=taken, kept=kept), before, after=after, secrets=secrets, stacks=(source, target))
    return Exit.FINE


def _chosen(root: Path, stack: "Stack") -> "list[Selected]":
    """The patches that a stack selects in any of its clusters."""
    from modelyard.plan.cluster_parts import cluster_parts
    from modelyard.plan.project import library_of

    return [one for part in cluster_parts(stack) for one in part.chosen(library_of(root))[0]]


def _versions(chosen: "Iterable[Selected]") -> dict[str, str]:
    return {one.patch.name: one.patch.version for one in chosen}


def _known(names: list[str], patches: "Set[str]", taker: "Stack | None" = None) -> None:
    """Ends the run if a name is no setting, or one that a promotion never copies.

    Args:
        names: settings from the command line.
        patches: the settings for the versions of patches in use.
        taker: the stack that is to take the settings; None if it is to keep them.
    """
    from modelyard.preview.promote import DECISIONS, own_section, settings
    from modelyard.stack.words import did_you_mean

    known = (*settings(), *sorted(patches))
    for name in names:
        if name == _CONTEXT:
            remedy = f"edit {taker.file} by hand to change the cluster" if taker else f"drop --keep {name}"
            raise Stop(Exit.USAGE, f"each stack names its own cluster, so a promotion never copies {name}", remedy)
        if name.partition(".")[0] in DECISIONS:
            again = f"decide again for {taker.name}, and edit {taker.file} by hand" if taker else ""
            remedy = again or f"drop --keep {name}"
            raise Stop(Exit.USAGE, f"{name!r} is a decision about one stack, so a promotion never copies it", remedy)
        if section := own_section(name):
            remedy = f"copy the entry to {taker.file} by hand" if taker else f"drop --keep {name}"
            raise Stop(Exit.USAGE, f"each stack has its own {section}, so a promotion never copies them", remedy)
        if name not in known and not any(name.startswith(f"{patch}.params.") for patch in patches):
            remedy = did_you_mean(name, known, 3) or "name a key of the stack file, such as gpu.model"
            raise Stop(Exit.USAGE, f"unknown setting {name!r}", remedy)


def _apart(take: list[str], keep: list[str]) -> None:
    """Ends the run if a setting to take is also kept, by its own name or by that of its section."""
    for name in take:
        if kept := next((one for one in (name, name.partition(".")[0]) if one in keep), None):
            raise Stop(Exit.USAGE, f"--take {name} has no effect with --keep {kept}", "give one of them")


def _print(
    args: Namespace,
    found: "Promotion",
    before: str,
    *,
    after: str,
    secrets: frozenset[str],
    stacks: "tuple[Stack, Stack]",
) -> None:
    from modelyard.stack.yaml.document import parse

    source, target = stacks
    was, now = (hidden(text).splitlines() for text in (before, after))
    lines = unified_diff(was, now, target.file, f"{target.file}, promoted", lineterm="")
    parsed = [parse(text.encode())[0] for text in (before, after)]
    diff = hidden_lines(lines, *(one.value for one in parsed if one is not None), texts=secrets)
    if args.json:
        document = {
            "formatVersion": 1,
            "source": source.name,
            "target": target.name,
            "file": target.file,
            "taken": [_difference(one) for one in found.taken],
            "lowered": [one.setting for one in found.lowered],
            "kept": [_difference(one) for one in found.kept],
            "diff": "\n".join(diff),
            "written": bool(args.write and diff),
        }
        say_json(document)
        return
    from modelyard.report.promotion import promotion_text

    named = (("--take", args.take), ("--keep", args.keep))
    chosen = [f"{option} {shlex.quote(one)}" for option, settings in named for one in settings]
    style = style_for(args, sys.stdout)
    say(promotion_text(found, source.name, target.name, diff, written=bool(args.write), options=chosen, style=style))


def _difference(one: "Difference") -> dict[str, Any]:
    source, target = one.shown
    return {"setting": one.setting, "source": source, "target": target}
