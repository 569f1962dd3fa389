"""Resolve the list of a Python environment to exact versions with hashes, and write them into its lock.

The lock is for Linux x86_64. Packages from pip can be locked only on such a machine, with the Python environment's
version of Python; conda packages need py-rattler. pip selects only wheels, from the indexes that are configured on this
machine; conda's solver uses the channels of the Python environment. Nothing is installed.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from modelyard.cli.common import chosen_stack, project_root
from modelyard.cli.environment import chosen_environment
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import json_option, stack_argument
from modelyard.cli.printing import say_json, say_wrapped


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument("name", metavar="NAME", help="name of one of its Python environments")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Resolves and writes."""
    from modelyard.files import write_atomically
    from modelyard.report.environment import lock_document, lock_text
    from modelyard.workloads.environments.locking import LockingError, resolved
    from modelyard.workloads.environments.reading import with_files
    from modelyard.workloads.environments.rules import check_lists

    root = project_root(args)
    stack = chosen_stack(root, args.stack, "Python environment", args.name)
    environment = chosen_environment(stack, args.name)
    wrong = tuple(check_lists(stack))
    if wrong:
        raise Stop(Exit.FINDINGS, f"{environment.name} cannot be locked", "", wrong)
    files = environment.files
    assert files is not None  # chosen_stack has read them
    _may_replace(root, files.lock_file)
    try:
        text = resolved(environment, files, stack.config.platform.cuda)
    except LockingError as error:
        code = Exit.UNREACHABLE if error.out_of_reach else Exit.FINDINGS
        raise Stop(code, error.summary, error.remedy) from error
    before = files.lock
    changed = before is None or before.made_of != files.made_of or not text.endswith(f"\n{before.text}")
    if changed:
        write_atomically(root / files.lock_file, text, within=root)
    locked = chosen_environment(with_files(root, stack), args.name)
    if args.json:
        say_json(lock_document(stack.name, locked, before, changed=changed))
    else:
        say_wrapped(lock_text(locked, before, changed=changed))
    return Exit.FINE


def _may_replace(root: Path, name: str) -> None:
    """Ends the run if something other than a lock has the lock's path."""
    from modelyard.files import ReadError, read_text
    from modelyard.workloads.environments.locks import MAX_BYTES, is_lock

    try:
        why = "" if is_lock(read_text(root / name, limit=MAX_BYTES, within=root)) else "it is not a lock file"
    except ReadError as error:
        why = "" if error.missing else error.reason
    folder = (root / name).parent
    if folder.exists() and not folder.is_dir():
        why = f"{folder.name} is not a folder"
    if why:
        raise Stop(Exit.USAGE, f"cannot write {name}: {why}", "move it away and lock again")
