"""Jobs that run once: from a job of the stack file to the objects that a submission creates.

Owns the template that a job is rendered from, the name of its run, and what blocks its submission. Renders with
``catalog``; creates nothing (``cluster`` does), and queues nothing (Kueue does).
"""

from modelyard.runs.jobs.environment import environment_build, job_environment, notebook_environment
from modelyard.runs.jobs.submission import (
    TEMPLATES,
    check_dispatch,
    check_images,
    check_spark,
    findings_about,
    job_submission,
    job_templates,
    run_name,
    unfit_for_run,
)
from modelyard.runs.jobs.template import Submission, check_growth, check_template, submission

__all__ = [
    "TEMPLATES",
    "Submission",
    "check_dispatch",
    "check_growth",
    "check_images",
    "check_spark",
    "check_template",
    "environment_build",
    "findings_about",
    "job_environment",
    "job_submission",
    "job_templates",
    "notebook_environment",
    "run_name",
    "submission",
    "unfit_for_run",
]
