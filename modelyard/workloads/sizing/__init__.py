"""Sizing: from the sizes of jobs to workers, cores, memory and GPUs, with each intermediate number.

Owns the formulas and their sources (``formulas``, ``sources``), the joint needs of jobs that share a resource
(``resources``), and the findings about both (``rules``). Settings in the stack file win; a size that is not set stays
unknown. Does not size the platform's own workloads (``workloads.pods`` does).
"""

from modelyard.workloads.sizing.partitions import slice_findings
from modelyard.workloads.sizing.resources import Sized, apart, sized, sizes_by_job
from modelyard.workloads.sizing.rules import check_jobs, lacks_gpus, unfit_resource
from modelyard.workloads.sizing.sources import Estimate, FormulaSource, Need, Term

__all__ = [
    "Estimate",
    "FormulaSource",
    "Need",
    "Sized",
    "Term",
    "apart",
    "check_jobs",
    "lacks_gpus",
    "sized",
    "sizes_by_job",
    "slice_findings",
    "unfit_resource",
]
