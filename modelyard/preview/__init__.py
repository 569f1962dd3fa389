"""What a pull request changes in each stack: two commits, planned and compared.

Reads commits (``git``) and follows their links (``links``), finds the two and writes one to a temporary
folder (``revisions``), chooses the stacks whose inputs differ (``project``), reads their clusters if asked
(``live``), plans each of them at both commits (``stacks``), compares what all of them share (``shared``), two
plans (``compare``) and what no object shows (``submitted``), classifies findings (``news``), and groups
identical changes of many stacks (``compare``).
Never changes the user's tree, never changes a cluster, and prints nothing.
"""

from modelyard.preview.compare import Group, SubmissionGroup, grouped, grouped_submissions
from modelyard.preview.values import News, Preview, StackDiff, SubmissionDiff, TargetDiff, VersionDiff

__all__ = [
    "Group",
    "News",
    "Preview",
    "StackDiff",
    "SubmissionDiff",
    "SubmissionGroup",
    "TargetDiff",
    "VersionDiff",
    "grouped",
    "grouped_submissions",
]
