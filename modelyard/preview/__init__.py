"""What a change to the project would change in its environments: two commits, planned and compared.

Owns finding the two commits and laying the older one out beside the user's tree (``revisions``), planning the stacks
whose inputs differ at both (``project``), what differs between two plans (``compare``), and telling alike changes of
many stacks once (``group``). It never changes the user's tree, never talks to a cluster, and prints nothing.
"""

from modelyard.preview.compare import compare
from modelyard.preview.group import Group, News, grouped
from modelyard.preview.values import FieldDiff, Preview, StackDiff, TargetDiff, VersionDiff

__all__ = ["FieldDiff", "Group", "News", "Preview", "StackDiff", "TargetDiff", "VersionDiff", "compare", "grouped"]
