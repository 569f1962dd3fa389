"""Runs the engine for a verb: progress with the time, errors as exit codes, the outcome as text or JSON."""

import time
import warnings
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from modelyard.cli.exit import Exit, Stop
from modelyard.cli.printing import say_json, say_wrapped
from modelyard.cli.progress import counted
from modelyard.cli.signals import on_signal, signal_stop
from modelyard.engine.automation import EngineOutcome
from modelyard.engine.failure import EngineError, StaleError, StoppedError
from modelyard.engine.progress import DONE, Report
from modelyard.engine.stopping import Stopping
from modelyard.hiding import words_without
from modelyard.report.style import safe

FORMAT_VERSION = 1

_PAST = {
    "creating": "created",
    "deleting": "deleted",
    "patching": "patched",
    "replacing": "replaced",
    "restoring": "restored",
    "updating": "updated",
}
"""What was done to an object, by the word for doing it."""


def run_engine(
    stack: str,
    args: Namespace,
    run: Callable[[Report, Stopping], EngineOutcome],
    *,
    total: int,
    objects: Iterable[Any] = (),
    last: str = "",
) -> Exit:
    """Runs the engine and reports the outcome.

    Args:
        stack: the stack's name.
        args: the verb's arguments; reads ``json``.
        run: receives the progress callback and the stop check.
        total: how many objects the run changes.
        objects: the applied objects: API server messages may quote them, secrets included.
        last: the last sentence of the text, if objects were changed.
    """
    hiding = words_without(objects)
    started = time.monotonic()

    # A killed engine's events break off; users need not see the library's warning about that.
    warnings.filterwarnings("ignore", module=r"pulumi\.automation")
    stopping = Stopping()
    done: Counter[str] = Counter()
    try:
        with on_signal(stopping.ask), counted(total, "object") as write:

            def report(line: str) -> None:
                # Names and messages come from the cluster and may contain anything.
                text = f"  {time.monotonic() - started:5.1f} s  {safe(hiding(line))}"
                if line.startswith(DONE):
                    done[line.removeprefix(DONE).partition(" ")[0]] += 1
                write(text, line.startswith(DONE))

            outcome = run(report, stopping)
    except StaleError as error:
        raise Stop(Exit.STALE, hiding(error.summary), error.remedy) from error
    except StoppedError as error:
        raise signal_stop(error.signal, hiding(error.summary), error.remedy) from error
    except EngineError as error:
        raise Stop(Exit.UNREACHABLE, hiding(error.summary), error.remedy) from error
    finally:
        stopping.close()
    seconds = time.monotonic() - started
    if args.json:
        document = {"formatVersion": FORMAT_VERSION, "stack": stack, **outcome._asdict(), "seconds": round(seconds, 1)}
        say_json(document)
    else:
        words = [f"{number} {_PAST.get(verb, verb)}" for verb, number in sorted(done.items())]
        same = outcome.changes.get("same", 0)
        words += [f"{same} unchanged"] if same and words else []
        say_wrapped([f"{stack}: {outcome.result} in {seconds:.0f} s ({', '.join(words) or 'no changes'})"])
        if done:
            say_wrapped(
                [f"Next: modelyard record {stack} (until then, offline plans use the platform as it was before)"]
            )
            say_wrapped([last] if last else [])
    return Exit.FINE
