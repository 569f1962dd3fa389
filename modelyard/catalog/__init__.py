"""Versioned patches: which exist, which of them a stack uses, and what they render to.

Owns the ``patches/`` folder and the built-in versions: their format, the lock that keeps released versions immutable,
the sandbox that renders templates, and the choice of patches for a stack. Does not merge (``kube.merge`` does) and does
not know the objects of a cluster.
"""

from modelyard.catalog.library import Library, PatchVersion, load_library, new_built_in
from modelyard.catalog.select import Selected, left_out, select, select_for_job, version_of
from modelyard.catalog.templates import PatchDocument, Rendered, render, render_base

__all__ = [
    "Library",
    "PatchDocument",
    "PatchVersion",
    "Rendered",
    "Selected",
    "left_out",
    "load_library",
    "new_built_in",
    "render",
    "render_base",
    "select",
    "select_for_job",
    "version_of",
]
