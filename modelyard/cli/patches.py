"""Show the patches of this project, built-in ones too: names, versions, purpose, objects, and what is released."""

import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.common import project_root
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import json_option
from modelyard.cli.printing import say, say_findings, say_json, say_wrapped
from modelyard.cli.streams import style_for
from modelyard.names import PATCHES_FOLDER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from modelyard.catalog import Library, PatchVersion


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="show one patch with its parameters and their sources; one of its versions with NAME@VERSION",
    )
    parser.add_argument(
        "--release",
        action="store_true",
        help="add to patches.lock the versions that it lacks, including new built-in ones; with NAME, only versions of "
        "that patch",
    )
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Lists, shows or releases."""
    from modelyard.catalog import load_library, new_built_in
    from modelyard.report.patches import patch_text, patches_document, patches_text

    root = project_root(args)
    library = load_library(root)
    new = new_built_in(root, library)
    name, at, version = (args.name or "").partition("@")
    known = {*library.patches, *(patch.name for patch in new.values())} if args.release else library.patches
    if args.name is not None and name not in known:
        if library.explains(name):
            raise Stop(Exit.FINDINGS, f"patch {name} cannot be read", "correct its errors first", library.findings)
        raise Stop(Exit.USAGE, f"unknown patch {name!r}", library.near(name), library.findings)
    if at and args.release:
        raise Stop(Exit.USAGE, f"--release takes no version: {args.name}", f"run: modelyard patches --release {name}")
    if at and version not in library.patches[name]:
        has = ", ".join(library.patches[name])
        raise Stop(Exit.USAGE, f"patch {name} has no version {version!r}", f"it has {has}", library.findings)
    if args.release:
        return _release(root, library, new, args.name)
    style = style_for(args, sys.stdout)
    if args.json:
        say_json(patches_document(library, name, version))
    elif name:
        say(patch_text(library, name, version, style))
    else:
        say(patches_text(library, style))
    unused = [patch.id for patch in new.values() if name in ("", patch.name)]
    if unused and not args.json:
        say_wrapped(_unused(unused))
    say_findings(library.findings, args)
    return Exit.FINDINGS if library.findings else Exit.FINE


def _unused(ids: list[str]) -> list[str]:
    """The built-in versions that the project does not use, and what to do."""
    from modelyard.stack.words import listed

    return [
        "",
        f"Not used, because patches.lock does not list them: built-in {listed(ids, 'and')}.",
        "To see what they would change, run: modelyard upgrade-check",
    ]


def _release(root: Path, library: "Library", new: "Mapping[str, PatchVersion]", only: str | None) -> Exit:
    """Adds the versions of one patch, or of all, to the lock."""
    from modelyard.catalog.library import built_in_versions
    from modelyard.catalog.lock import LOCK_FILE, lock_text, read_lock
    from modelyard.files import write_atomically

    if library.findings:
        raise Stop(Exit.FINDINGS, "nothing was released", "", library.findings)
    folder = root / PATCHES_FOLDER
    locked, _ = read_lock(folder)
    every = [patch for versions in library.patches.values() for patch in versions.values()]
    fresh = {
        name: patch.sha256
        for patch in (*every, *new.values())
        for name in (f"{patch.name}/{patch.version}",)
        if only in (None, patch.name) and name not in locked
    }
    own = {f"{patch.name}/{patch.version}": patch for patch in every if not patch.built_in}
    drafts = [patch for name, patch in own.items() if name in fresh]
    if broken := [why for patch in drafts for why in _broken(patch)] or [*_unusable(root, library, drafts)]:
        raise Stop(
            Exit.FINDINGS, f"nothing was released: {'; '.join(broken)}", "correct it; a released version never changes"
        )
    if fresh:
        given = {name: patch.sha256 for name, patch in built_in_versions().items()}
        released = {
            name: patch.file_digests
            for name, patch in own.items()
            if name in locked | fresh and given.get(name) != patch.sha256
        }
        write_atomically(folder / LOCK_FILE, lock_text(locked | fresh, released), within=root)
    already = "every version is already released" if only is None else f"every version of {only} is already released"
    say([f"released {name.replace('/', '@')}" for name in sorted(fresh)] or [already])
    return Exit.FINE


def _broken(patch: "PatchVersion") -> "Iterator[str]":
    """Why templates of a version can never be rendered."""
    from modelyard.catalog.library import BASE, TEMPLATE
    from modelyard.catalog.sandbox import syntax_error

    for name, text in ((TEMPLATE, patch.template), (BASE, patch.base)):
        if text is not None and (wrong := syntax_error(text)) is not None:
            yield f"{patch.file}/{name}{f':{wrong.line}' if wrong.line else ''} {wrong.what}"


def _unusable(root: Path, library: "Library", drafts: "Collection[PatchVersion]") -> "Iterator[str]":
    """Why what a template renders to is not a patch: in a stack of the project, or with the defaults of its schema."""
    from modelyard.catalog.templates import in_time, render, render_base
    from modelyard.plan.cluster_parts import cluster_parts
    from modelyard.stack import discover, load
    from modelyard.timelimit import TimeUp
    from modelyard.untrusted import BadSchema, TooMuch

    if not drafts:
        return
    rendered = []
    for patch in drafts:
        accepted = False
        with suppress(BadSchema, TooMuch, TimeUp), in_time():
            accepted = not patch.meta.params and patch.accepts(patch.defaults)
        if accepted:
            rendered += [each(patch, patch.defaults) for each in (render, render_base)]
    for file in discover(root):
        stack, _ = load(file.path, file.shown, root)
        for part in () if stack is None else cluster_parts(stack):
            for one in part.chosen(library)[0]:
                rendered += [one.render(), one.render_base()] if one.patch in drafts else []
    # Without output, a stack may still set the parameter that is missing.
    found = (finding for one in rendered if not one.failed for finding in one.findings)
    yield from dict.fromkeys(f"{one.location} {one.summary}" for one in found)
