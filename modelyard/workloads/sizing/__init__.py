"""What jobs need: from their sizes to workers, cores, memory and GPUs, with every number on the way.

Owns the formulas and their sources (``formulas``, ``sources``), what jobs that share a resource need together
(``resources``), and the findings about both (``rules``). Explicit settings of the stack file win; what nobody said
stays unknown. It sizes nothing of the platform's own workloads (``workloads`` does), and places no pod.
"""

from modelyard.workloads.sizing.resources import Sized, apart, sized
from modelyard.workloads.sizing.rules import CODES, check_jobs
from modelyard.workloads.sizing.values import Estimate, Need, Source, Term

__all__ = ["CODES", "Estimate", "Need", "Sized", "Source", "Term", "apart", "check_jobs", "sized"]
