"""What jobs need: from their sizes to workers, cores, memory and GPUs, with each number on the way.

Owns the formulas and their sources (``formulas``, ``sources``), what jobs that share a resource need together
(``resources``), and the findings about both (``rules``). Explicit settings of the stack file win; a size that is not
given stays unknown. Does not size the platform's own workloads (``workloads.pods`` does).
"""

from modelyard.workloads.sizing.resources import Sized, apart, sized
from modelyard.workloads.sizing.rules import CODES, check_jobs
from modelyard.workloads.sizing.values import Estimate, Need, Source, Term

__all__ = ["CODES", "Estimate", "Need", "Sized", "Source", "Term", "apart", "check_jobs", "sized"]
