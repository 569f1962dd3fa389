"""NVIDIA's device plugin."""

from modelyard.components.device_plugin import DevicePlugin

__all__ = ["DevicePlugin"]
