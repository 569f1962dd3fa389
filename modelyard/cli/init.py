"""Write a new project into this folder: Pulumi.yaml, the program, stack files, policies, patches.lock and CI.

If any of these files exists, no new project is written. An existing .gitignore stays as it is.
"""

import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.exit import Exit, Stop
from modelyard.cli.outputs import all_or_none, create
from modelyard.cli.printing import say, say_wrapped
from modelyard.report.style import safe

if TYPE_CHECKING:
    from modelyard.cli.starter import Ci

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
"""The names that Pulumi takes for projects."""


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("--name", metavar="NAME", help="name of the project (default: the folder's)")
    parser.add_argument(
        "--stacks",
        metavar="NAMES",
        help="names of the stacks, such as dev,staging,prod (default: dev, or the context's name with "
        "--from-cluster, which takes one)",
    )
    parser.add_argument(
        "--ci",
        choices=("github", "gitlab", "none"),
        help="CI system to write a pipeline for (default: github, or none in a subfolder of a repository)",
    )
    parser.add_argument(
        "--migrate",
        action="store_true",
        help="turn a clone of modelyard's repository into a project that uses the installed package: list the changes, "
        "ask, remove unchanged copies of the package's files, and rewrite the programs that use them",
    )
    parser.add_argument(
        "--from-cluster",
        action="store_true",
        help="write a stack file for the platform that runs in a cluster, and record the platform; in an existing "
        "project, write nothing else",
    )
    parser.add_argument(
        "--context",
        metavar="NAME",
        help="with --from-cluster: context of the kubeconfig (default: its current context)",
    )
    parser.add_argument(
        "--namespace",
        metavar="NAME",
        help="with --from-cluster: namespace of the platform (default: where modelyard finds it)",
    )
    parser.add_argument(
        "-y",
        "--yes",
        action="store_true",
        help="with --migrate: do not ask; with --from-cluster: take the best guesses and mark them in the stack file",
    )


def run(args: Namespace) -> Exit:
    """Writes the files and says what comes next."""
    if args.migrate:
        from modelyard.cli.migrate import migrate

        _check_migrate(args)
        return migrate(args)
    root = Path(args.directory or ".")
    if not root.is_dir():
        raise Stop(Exit.USAGE, f"{root} is not a folder", "create it first")
    root = root.resolve()
    if args.from_cluster:
        return _from_cluster(args, root)
    _check_cluster(args)
    stacks = _stacks("dev" if args.stacks is None else args.stacks)
    files, ignored = _files(args, root, stacks)
    with all_or_none() as undo:
        for name, text in files.items():
            create(root / name, text, undo)
    _say_written(files, ignored)
    say_wrapped(["", f"Set the values in {', '.join(f'stacks/Pulumi.{name}.yaml' for name in stacks)}. Then run:"])
    say([f"  modelyard {verb} {stacks[0]}" for verb in ("doctor", "record", "plan")])
    return Exit.FINE


def _check_migrate(args: Namespace) -> None:
    """Ends the run if an option is for a new project."""
    options = ("name", "stacks", "ci", "from_cluster", "context", "namespace")
    given = [f"--{option.replace('_', '-')}" for option in options if getattr(args, option) not in (None, False)]
    if given:
        from modelyard.stack.words import listed

        raise Stop(
            Exit.USAGE,
            f"--migrate changes an existing project, and does not take {listed(given, 'or')}",
            "leave out one or the other",
        )


def _check_cluster(args: Namespace) -> None:
    """Ends the run if an option needs --from-cluster."""
    for option, value in (("--context", args.context), ("--namespace", args.namespace)):
        if value:
            raise Stop(Exit.USAGE, f"{option} needs --from-cluster", f"add --from-cluster, or drop {option}")


def _from_cluster(args: Namespace, root: Path) -> Exit:
    """Writes the stack file of a platform, and the rest of a project if there is none yet."""
    from modelyard.cli.from_cluster import from_cluster
    from modelyard.stack import find_project

    names = _stacks(args.stacks) if args.stacks is not None else ()
    if len(names) > 1:
        raise Stop(Exit.USAGE, "--from-cluster writes one stack file", "give --stacks one name")
    project = find_project(root)
    files, ignored = _files(args, root, ()) if project is None else ({}, [])
    with all_or_none() as undo:
        for name, text in files.items():
            create(root / name, text, undo)
        lines = from_cluster(args, project or root, undo, *names)
    if files:
        _say_written(files, ignored)
        lines = ["", *lines]
    say(lines)
    return Exit.FINE


def _files(args: Namespace, root: Path, stacks: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """The files of a new project, and the lines that an existing .gitignore lacks."""
    from modelyard.catalog.library import built_in_versions
    from modelyard.cli.starter import IGNORED, project_files

    built_in = {name: patch.sha256 for name, patch in built_in_versions().items()}
    files = project_files(_name(args.name, root), stacks, built_in, _ci(args.ci, root))
    # Most repositories have one, with other lines.
    ignored = files.pop(IGNORED).split() if os.path.lexists(root / IGNORED) else []
    _check_free(root, files)
    return files, ignored


def _say_written(files: Iterable[str], ignored: list[str]) -> None:
    from modelyard.cli.starter import IGNORED

    say([f"wrote {name}" for name in files])
    if ignored:
        say_wrapped(["", f"Add to {IGNORED}: {', '.join(ignored)}"])
    if "requirements.in" in files:
        say_wrapped(["", "CI needs requirements.txt with hashes; requirements.in shows how to create it."])


def _stacks(text: str) -> tuple[str, ...]:
    """The names of the stacks, each once."""
    from modelyard.stack.project import FILE_NAME

    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    wrong = [name for name in names if not FILE_NAME.fullmatch(f"Pulumi.{name}.yaml")]
    if wrong or not names:
        summary = f"{safe(wrong[0])!r} is not a name for a stack" if wrong else "--stacks has no names"
        raise Stop(Exit.USAGE, summary, "use letters, digits, -, _ and ., such as --stacks dev,prod")
    return names


def _name(given: str | None, root: Path) -> str:
    name = given if given is not None else re.sub(r"[^A-Za-z0-9_.-]+", "-", root.name).strip("-.") or "platform"
    if not _NAME.fullmatch(name):
        raise Stop(Exit.USAGE, f"{safe(name)!r} is not a name for a project", "use letters, digits, -, _ and .")
    return name


def _ci(given: "Ci | None", root: Path) -> "Ci":
    """The CI system whose pipeline is written; its file counts only at the root of a repository."""
    from modelyard.files import repository_of

    repository = repository_of(root)
    if repository == root:
        return given or "github"
    if given not in (None, "none"):
        raise Stop(
            Exit.USAGE,
            f"{root} is a subfolder of the repository {repository}, and CI systems read no pipelines from subfolders",
            "run init with --ci none, and write the pipeline at the repository's root",
        )
    return "none"


def _check_free(root: Path, names: Iterable[str]) -> None:
    """Ends the run if anything is in the way of a file; names everything at once."""
    taken = [name for name in names if os.path.lexists(root / name)]
    for name in names:
        parents = [parent.as_posix() for parent in reversed(Path(name).parents) if parent.name]
        blocking = (one for one in parents if os.path.lexists(root / one))
        taken += [one for one in blocking if (root / one).is_symlink() or not (root / one).is_dir()]
    if taken:
        listed = "\n".join(map(safe, dict.fromkeys(taken)))
        there = "one file is" if len(set(taken)) == 1 else "these files are"
        raise Stop(
            Exit.USAGE,
            f"nothing was written, because {there} already in {root}:\n{listed}",
            "to add a stack to this project, copy one of its stack files, or run modelyard init --from-cluster; for "
            "another project, use another folder; for a clone of modelyard's repository, run modelyard init --migrate",
        )
