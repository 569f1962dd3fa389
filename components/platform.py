"""The component of a whole stack."""

from modelyard.components.platform import Platform

__all__ = ["Platform"]
