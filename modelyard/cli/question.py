"""A question to the person at the terminal."""

import os
import select
import signal
import sys


def agreed(question: str) -> bool:
    """Whether the answer is yes; anything else, and nothing at all, is no.

    A signal ends the wait whenever it comes. One that comes between the question and the read would be noticed only
    after the next line: the read blocks before Python looks. So what is waited for is a line or a signal.
    """
    sys.stderr.write(f"{question}Only yes counts: ")
    sys.stderr.flush()
    if not getattr(sys.stderr, "heard", True):
        return False  # nobody can agree to what nobody can read
    _wait()
    return sys.stdin.readline().strip() == "yes"


def _wait() -> None:
    """Returns when there is something to read; raises what the handler of a signal raises."""
    try:
        sys.stdin.fileno()
    except OSError:
        return  # Something that is no file has its line already.
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer)
    try:
        typed = False
        while not typed:
            # Coming back from this, Python runs the handler of a signal, which raises.
            ready, _, _ = select.select([sys.stdin, reader], [], [])
            typed = sys.stdin in ready
            if reader in ready:
                os.read(reader, 64)
    finally:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
