"""The Pulumi engine behind ``apply`` and ``destroy``.

Owns running the project's own Pulumi program through the Automation API, with progress. It is the only package that
imports Pulumi, and only those two verbs load it. It plans nothing.
"""

from modelyard.engine.automation import EngineError, Outcome, apply, destroy

__all__ = ["EngineError", "Outcome", "apply", "destroy"]
