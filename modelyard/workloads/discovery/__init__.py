"""Finds the parts of a platform among the objects of a cluster, and writes the stack file that describes them.

Owns what a workload is recognized by (``evidence``), which one is taken for each role and its sizes (``discover``), and
the stack file's text (``stack_text``). Does not read a cluster or plan. Recognizes by what containers run, request and
are named, not by one vendor's names.
"""

from modelyard.workloads.discovery.discover import discover
from modelyard.workloads.discovery.stack_text import stack_text
from modelyard.workloads.discovery.values import Discovery, OpenQuestion, PatchOff

__all__ = ["Discovery", "OpenQuestion", "PatchOff", "discover", "stack_text"]
