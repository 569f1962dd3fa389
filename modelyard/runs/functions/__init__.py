"""Functions that run as jobs: what a call takes into its container, and its outcome in the log.

Owns pickling a call (``payload``), the program that runs it in the container (``runner``), and finding its outcome
among the lines of the log (``outcome``). Does not talk to a cluster, and reads no outcome that another run wrote.
"""

from modelyard.runs.functions.outcome import Outcome
from modelyard.runs.functions.payload import (
    Call,
    CallError,
    RemoteTraceback,
    call_objects,
    loaded,
    pickled,
    sources_of,
)

__all__ = ["Call", "CallError", "Outcome", "RemoteTraceback", "call_objects", "loaded", "pickled", "sources_of"]
