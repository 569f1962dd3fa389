"""Python environments of jobs: lists of packages, their locks, and what is wrong with either.

Owns what a list may contain (``lists``, ``conda``), the form of a lock file and whether it fits its lists (``locks``),
reading both (``reading``), making a lock with the resolvers of pip and conda (``locking``, ``solver``), which CUDA
packages bring, and the ENV rules (both ``rules``). Builds nothing: the template ``environment-build`` does that
in the cluster.
"""

from modelyard.workloads.environments.reading import with_files
from modelyard.workloads.environments.rules import check_environments

__all__ = ["check_environments", "with_files"]
