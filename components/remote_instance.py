"""A machine for one job."""

from modelyard.components.remote_instance import RemoteInstance

__all__ = ["RemoteInstance"]
