"""Comments under pull requests, as ``modelyard preview`` produces them."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from generators.branches import Copy, Edit, branch, preview
from generators.markdown import page

FOLDER = "examples"


class Example(NamedTuple):
    """One pull request."""

    title: str
    about: str
    changes: tuple[Edit | Copy, ...]


EXAMPLES: Mapping[str, Example] = {
    "switch-training": Example(
        "One stack switches its training backend",
        "One line of one stack file: production trains on Ray instead of Celery.",
        (Edit("stacks/Pulumi.prod.yaml", "modelyard:training: celery", "modelyard:training: ray"),),
    ),
    "upgrade-a-patch": Example(
        "A new version of a patch",
        "A new version of `model-service` changes two of the three stacks in the same way. "
        "The comment shows the change once, with the stacks in which it happens.",
        (
            Copy("patches/model-service/v1", "patches/model-service/v3"),
            Edit("patches/model-service/v3/patch.yaml.j2", "\nspec:\n", "\nspec:\n  minReadySeconds: 30\n"),
        ),
    ),
    "cannot-be-applied": Example(
        "A branch that cannot be applied",
        "One stack uses a GPU with too little FP16 throughput, another has an invalid quantity, and the third has an "
        "image whose name contains HTML and Markdown that must not take effect in the comment.",
        (
            Edit("stacks/Pulumi.dev.yaml", "model: A10", "model: L4"),
            Edit("stacks/Pulumi.staging.yaml", "memory: 48Gi", "memory: lots"),
            Edit(
                "stacks/Pulumi.prod.yaml",
                "  modelyard:modelService:\n",
                "  modelyard:modelService:\n    image: 'x/y:1</code></details><script>alert(1)</script>|`@everyone`'\n",
            ),
        ),
    ),
}


def pages() -> Mapping[str, str]:
    """Each comment as produced, and a page that explains them."""
    return {f"{FOLDER}/README.md": _index()} | {f"{FOLDER}/{name}.md": _comment(name) for name in EXAMPLES}


def _index() -> str:
    return page(
        "Example comments",
        "These are the comments that `modelyard preview --format markdown` produces for three changes to this project, "
        "unedited. [How to set up such comments](../guides/ci.md).",
        [f"- [{one.title}]({name}.md). {one.about}" for name, one in EXAMPLES.items()],
    )


def _comment(name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        branch(Path(folder), EXAMPLES[name].changes)
        return preview(Path(folder), "--format", "markdown")
