"""Finds the verb, runs it, and ends with the right exit code."""

import atexit
import errno
import gc
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from modelyard.cli.exit import Exit, Stop
from modelyard.cli.parser import COLOUR, VERBS, overview, parsed, split, verb_parser
from modelyard.cli.streams import Heedless, columns, stop_text, style_for, to_nowhere
from modelyard.names import HARDWARE_FILE
from modelyard.report.style import wrapped
from modelyard.temporary import watch

if TYPE_CHECKING:
    from modelyard.hardware.gpu_models import GpuModel


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
        # The reader closed the pipe, as `| head` does; the run did not get to its result.
        to_nowhere(sys.stdout)
        return Exit.PIPE
    except KeyboardInterrupt:
        return _interrupted(words)
    except OSError as error:
        reason = getattr(error, "reason", "") or (error.strerror or str(error)).lower()
        if error.filename is None:
            to_nowhere(sys.stdout)
            return _stopped(Stop(Exit.USAGE, f"the output cannot be written: {reason}", "write it elsewhere"), ())
        summary = f"{error.filename} cannot be used: {reason}"
        return _stopped(Stop(Exit.USAGE, summary, _remedy(error)), words)
    except Exception as error:
        if os.environ.get("MODELYARD_DEBUG"):
            raise
        if _began_with_interrupt(error):
            return _interrupted(words)
        # The message may quote data, secrets included: print only where the error happened.
        texts = (
            f"internal error: {type(error).__name__}{_place(error)}",
            "This is an error in modelyard; please report it. MODELYARD_DEBUG=1 shows the traceback, which may quote "
            "secrets.",
        )
        if _wants_json(words):
            return _stopped(Stop(Exit.INTERNAL, *texts), words)
        room = columns(sys.stderr)
        sys.stderr.write("".join(f"{line}\n" for text in texts for line in wrapped(text, 0, room)))
        return Exit.INTERNAL


def _interrupted(words: list[str]) -> int:
    """Prints that the run was interrupted."""
    if _wants_json(words):
        return _stopped(Stop(Exit.INTERRUPTED, "interrupted"), words)
    sys.stderr.write("\ninterrupted\n")
    return Exit.INTERRUPTED


def _began_with_interrupt(error: BaseException | None) -> bool:
    """Whether an interrupt led to an exception: while a thread starts, an error about a lock replaces it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False


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
            return "free space there; to use another folder for temporary files, set TMPDIR"
        case errno.EROFS:
            return "make its file system writable, or work on a copy of the project"
        case errno.ELOOP:
            return "replace the symbolic link with a file or folder"
        case _:
            return str(getattr(error, "remedy", "check the path and its permissions"))


POINTERS = {
    "help": "modelyard --help lists the verbs",
    "version": "run modelyard --version",
    "validate": "modelyard check validates stacks",
    "lint": "modelyard check shows findings, modelyard fmt formats files",
    "list": "to list, run modelyard patches, gpus, job list or environment list",
    "ls": "to list, run modelyard patches, gpus, job list or environment list",
    "submit": "modelyard job submit runs a job, modelyard pipeline submit a pipeline",
    "logs": "modelyard job logs shows the logs of a run",
    "cancel": "modelyard job cancel ends a run",
    "status": "modelyard drift compares what is live with what was applied; modelyard job list shows runs",
    "up": "modelyard apply plans, asks and applies",
    **dict.fromkeys(
        ("undo", "rollback", "delete", "restore"),
        "modelyard destroy restores what a stack patched and deletes what it created; to undo one patch, list it under "
        "modelyard:patches with `enabled: false`, and apply",
    ),
    "stacks": "modelyard check --all checks every stack; their files are in stacks/",
    "down": "modelyard destroy restores what a stack patched and deletes what it created",
}
"""The answers to verbs that other tools have."""


def _run(words: list[str]) -> int:
    before, name, after = split(words)
    if name is None:
        parsed(overview(), before)
        raise Stop(Exit.USAGE, "no verb given", "see modelyard --help")
    if name not in VERBS:
        from modelyard.stack.words import nearest

        close = nearest(name, VERBS)
        suggested = f"did you mean modelyard {close}?" if close else "modelyard --help lists the verbs"
        raise Stop(Exit.USAGE, f"unknown verb {name!r}", POINTERS.get(name, suggested))
    args = parsed(verb_parser(name), [*before, *after])
    module = import_module(f"modelyard.cli.{VERBS[name].module}")
    with _own_gpus(args):
        code: int = module.run(args)
    return code


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
            to_nowhere(sys.stdout)
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
