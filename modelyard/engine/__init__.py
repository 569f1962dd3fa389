"""The Pulumi engine behind ``apply`` and ``destroy``.

Owns running the project's own Pulumi program through the Automation API: progress, and what went wrong in words. It is
the only package that imports Pulumi, and only those two verbs load it. It plans nothing.
"""

from modelyard.engine.automation import Outcome, apply, destroy, recorded_cluster
from modelyard.engine.failure import EngineError, StaleError, StoppedError
from modelyard.engine.stopping import Stopping

__all__ = ["EngineError", "Outcome", "StaleError", "StoppedError", "Stopping", "apply", "destroy", "recorded_cluster"]
