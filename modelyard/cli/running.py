"""Running the engine from a verb: progress with the time, errors as exit codes, the outcome as text or JSON."""

import sys
import time
from argparse import Namespace
from collections.abc import Callable

from modelyard.cli.common import say
from modelyard.cli.exit import Exit, Stop
from modelyard.engine import EngineError, Outcome, StaleError

FORMAT_VERSION = 1


def run_engine(stack: str, args: Namespace, run: Callable[[Callable[[str], None]], Outcome]) -> Exit:
    """Runs and tells the outcome; ``run`` gets the function that takes progress."""
    started = time.monotonic()

    def report(line: str) -> None:
        sys.stderr.write(f"  {time.monotonic() - started:5.1f} s  {line}\n")
        sys.stderr.flush()

    try:
        outcome = run(report)
    except StaleError as error:
        raise Stop(Exit.STALE, error.summary, error.remedy) from error
    except EngineError as error:
        raise Stop(Exit.UNREACHABLE, error.summary, error.remedy) from error
    seconds = time.monotonic() - started
    if args.json:
        from modelyard.report.json import json_text

        document = {"formatVersion": FORMAT_VERSION, "stack": stack, **outcome._asdict(), "seconds": round(seconds, 1)}
        say([json_text(document)])
    else:
        words = ", ".join(f"{number} {operation}" for operation, number in outcome.changes.items() if number)
        say([f"{stack}: {outcome.result} in {seconds:.0f} s ({words or 'no changes'})"])
    return Exit.FINE
