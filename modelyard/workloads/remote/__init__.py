"""Remote jobs: their machine, its region and price, what is wrong with it, and how it is launched.

Owns the offers for a resource (``offers``), the findings about remote resources (``rules``, ``machines``, ``cluster``,
``aws_rules``; ``unread``: settings without effect there), which part of a bucket belongs to which job, with the
files for its rights and copies (``places``), the
limited rights of credentials (``aws_rights``), and what launches a job (``launch``): the documents of SkyPilot and
dstack (``launchers``) and runs on a remote cluster (``cluster``) around one shell script (``script``), and machines on
AWS (``aws_*``), which ``components`` creates. Talks to no cloud and knows no credentials.
"""

from modelyard.workloads.remote.offers import Offer, Own, offers
from modelyard.workloads.remote.rules import check_remote

__all__ = ["Offer", "Own", "check_remote", "offers"]
