"""A question to the person at the terminal."""

import os
import select
import signal
import sys


def agreed(question: str) -> bool:
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
