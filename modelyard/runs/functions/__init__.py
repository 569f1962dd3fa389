"""Functions that run as jobs: what a call sends to its container, and its outcome in the log.

Owns pickling a call and finding its outcome among the lines of the log (``payload``), and the program that runs the
call in the container (``runner``). Does not talk to a cluster, and does not read the outcome of another run.
"""

from modelyard.runs.functions.payload import (
    Call,
    CallError,
    Outcome,
    RemoteTraceback,
    call_objects,
    loaded,
    pickled,
    sources_of,
)

__all__ = ["Call", "CallError", "Outcome", "RemoteTraceback", "call_objects", "loaded", "pickled", "sources_of"]
