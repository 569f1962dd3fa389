"""Notebooks that run as jobs: whether a file is a notebook, where its result goes, and the facts for the template.

Owns reading a notebook, with its parameters and the rules of the workspace that Jupyter and the job share
(``reading``), and the choice of flavor, GPU model and number of GPUs (``choice``). Reports everything wrong at once,
each as a ``NotebookProblem``.

Does not run notebooks: papermill does, in the job's container. Does not talk to a cluster or render templates.
"""

from modelyard.runs.notebooks.choice import (
    TEMPLATE,
    Choice,
    Chosen,
    choose,
    labels_of,
    nodes_of,
    notebook_facts,
    products_of,
)
from modelyard.runs.notebooks.offer import Allowance, Free, GpuSlice, NotebookOffer, offer
from modelyard.runs.notebooks.reading import (
    Notebook,
    NotebookPaths,
    NotebookProblem,
    job_name,
    locate,
    parse_parameters,
    read_notebook,
)

__all__ = [
    "TEMPLATE",
    "Allowance",
    "Choice",
    "Chosen",
    "Free",
    "GpuSlice",
    "Notebook",
    "NotebookOffer",
    "NotebookPaths",
    "NotebookProblem",
    "choose",
    "job_name",
    "labels_of",
    "locate",
    "nodes_of",
    "notebook_facts",
    "offer",
    "parse_parameters",
    "products_of",
    "read_notebook",
]
