"""What a pull request changes in each stack: two commits, planned and compared.

Owns reading commits (``git``) and following their links (``links``), finding the two and writing one to a temporary
folder (``revisions``), choosing the stacks whose inputs differ (``project``), planning one of them at both
(``stacks``), what all of them share (``shared``), what differs between two plans (``compare``) and where no object
shows it (``submitted``), what became of findings (``news``), and grouping identical changes of many stacks (``group``).
Never changes the user's tree, never talks to a cluster, and prints nothing.
"""

from modelyard.preview.compare import compare
from modelyard.preview.group import Group, SubmissionGroup, grouped, grouped_submissions
from modelyard.preview.values import FieldDiff, News, Preview, StackDiff, SubmissionDiff, TargetDiff, VersionDiff

__all__ = [
    "FieldDiff",
    "Group",
    "News",
    "Preview",
    "StackDiff",
    "SubmissionDiff",
    "SubmissionGroup",
    "TargetDiff",
    "VersionDiff",
    "compare",
    "grouped",
    "grouped_submissions",
]
