"""The Pulumi engine behind ``apply``, ``destroy`` and ``drift``, and the steps inside the program that it runs.

Runs the project's Pulumi program through the Automation API: progress, errors in words, and what the engine's state
says was applied; and what that program does around each resource (``program``). Apart from ``components``, only this
package imports Pulumi, and only those verbs load it. It plans nothing.
"""

from modelyard.engine.applied import AppliedStack, applied_stack
from modelyard.engine.automation import Outcome, apply, destroy
from modelyard.engine.failure import EngineError, NothingAppliedError, StaleError, StoppedError
from modelyard.engine.stopping import Stopping

__all__ = [
    "AppliedStack",
    "EngineError",
    "NothingAppliedError",
    "Outcome",
    "StaleError",
    "StoppedError",
    "Stopping",
    "applied_stack",
    "apply",
    "destroy",
]
