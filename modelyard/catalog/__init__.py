"""Versioned patches: which exist, which of them a stack uses, and what they render to.

Owns the ``patches/`` folder: its format, the lock that keeps released versions immutable, the sandbox that renders
templates, and the choice of patches for a stack. Does not merge (``kube.merge`` does) and does not know the objects of
a cluster.
cluster holds.
"""

from modelyard.catalog.library import PATCHES_FOLDER, Library, PatchVersion, load_library
from modelyard.catalog.select import Selected, left_out, select, select_for_job, version_of
from modelyard.catalog.templates import Document, Rendered, render, render_base

__all__ = [
    "PATCHES_FOLDER",
    "Document",
    "Library",
    "PatchVersion",
    "Rendered",
    "Selected",
    "left_out",
    "load_library",
    "render",
    "render_base",
    "select",
    "select_for_job",
    "version_of",
]
