"""Pipelines: from the stages of a stack file to one run on the cluster that continues without modelyard.

Owns the order of stages, the addresses of the artifacts between them, the rules for a pipeline, and the
objects of a run. Renders with ``catalog``; creates nothing (``cluster`` does), and starts no stage: a pod of the run
does (``patches/pipeline-run``), and Kueue queues what it has started.
"""

from modelyard.runs.pipelines.rules import check_pipelines
from modelyard.runs.pipelines.submission import (
    RUN_NAME,
    Since,
    findings_of,
    jumping,
    kept_by,
    pipeline_run_name,
    pipeline_submission,
)
from modelyard.runs.pipelines.summary import StageSize, Summary, summary

__all__ = [
    "RUN_NAME",
    "Since",
    "StageSize",
    "Summary",
    "check_pipelines",
    "findings_of",
    "jumping",
    "kept_by",
    "pipeline_run_name",
    "pipeline_submission",
    "summary",
]
