"""The program of one remote job."""

from modelyard.components.launching import launch

__all__ = ["launch"]
