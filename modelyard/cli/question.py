"""A question to the person at the terminal."""

import os
import select
import signal
import sys
from collections.abc import Sequence

from modelyard.cli.common import note


def agreed(question: str = "") -> bool:
    """Whether the answer is yes; any other answer, or none, is no.

    A signal ends the wait at any time. A plain read would notice a signal that arrives between question and read only
    after the next line, so this waits for a line or a signal.
    """
    sys.stderr.write(f"{question}Type yes to continue: ")
    sys.stderr.flush()
    if not getattr(sys.stderr, "heard", True):
        return False  # nobody can agree to a question they cannot read
    _wait()
    return sys.stdin.readline().strip() == "yes"


def choice(question: str, options: Sequence[str]) -> int | None:
    """The index of the chosen option, the first one for an empty answer; None if there is no answer.

    Asks again until the answer is a number of the list.
    """
    note(question)
    for number, option in enumerate(options, 1):
        note(f"  {number}. {option}", 5)
    while True:
        sys.stderr.write(f"Type a number from 1 to {len(options)} (Enter: 1): ")
        sys.stderr.flush()
        if not getattr(sys.stderr, "heard", True):
            return None
        _wait()
        line = sys.stdin.readline()
        answer = line.strip() or "1"
        if not line:
            return None
        if answer.isdecimal() and 1 <= int(answer) <= len(options):
            return int(answer) - 1


def _wait() -> None:
    """Returns when input is ready; raises what a signal's handler raises."""
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
