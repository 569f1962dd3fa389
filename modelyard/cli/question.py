"""A question to the person at the terminal."""

import os
import select
import signal
import sys
from collections.abc import Sequence

from modelyard.cli.exit import Exit, Stop
from modelyard.cli.printing import note


def agreed(question: str = "") -> bool:
    """Whether the answer is yes; any other answer, or none, is no."""
    return _answer(f"{question}Type yes to continue: ").strip() == "yes"


def need_yes(question: str = "", nothing: str = "nothing was changed") -> None:
    """Ends the run unless someone at a terminal agrees; ``nothing`` says what was not done."""
    if not (sys.stdin.isatty() and agreed(question)):
        raise Stop(Exit.USAGE, nothing, "answer yes, or give --yes in scripts")


def choice(question: str, options: Sequence[str]) -> int | None:
    """The index of the chosen option, the first one for an empty answer; None if there is no answer.

    Asks again until the answer is a number of the list.
    """
    note(question)
    for number, option in enumerate(options, 1):
        note(f"  {number}. {option}", 5)
    while line := _answer(f"Type a number from 1 to {len(options)} (Enter: 1): "):
        answer = line.strip() or "1"
        if answer.isdecimal() and 1 <= int(answer) <= len(options):
            return int(answer) - 1
    return None


def _answer(question: str) -> str:
    """The line that the person types, with its end; empty if there is none."""
    sys.stderr.write(question)
    sys.stderr.flush()
    if not getattr(sys.stderr, "heard", True):
        return ""  # nobody can answer a question they cannot read
    _wait()
    return sys.stdin.readline()


def _wait() -> None:
    """Returns when input is ready; raises what a signal's handler raises.

    A plain read would notice a signal that arrives between question and read only after the next line.
    """
    try:
        sys.stdin.fileno()
    except OSError:
        return  # Input without a file descriptor has its line already.
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer)
    try:
        typed = False
        while not typed:
            # After select returns, Python runs the signal's handler, which raises.
            ready, _, _ = select.select([sys.stdin, reader], [], [])
            typed = sys.stdin in ready
            if reader in ready:
                os.read(reader, 64)
    finally:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
