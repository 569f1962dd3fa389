"""Whether the files of a recorded cluster are what ``modelyard record`` writes: whole objects of their kinds.

Checks every field, so only callers that cannot use the recorded cluster run it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from modelyard.cluster.recorded import (
    CLUSTER_FILE,
    again,
    not_recorded,
    read_object,
    recorded_files,
    recorded_folder,
    stack_of_recorded,
)
from modelyard.findings import Finding
from modelyard.kube.merge import MergeSchema, validate


def damaged(root: Path, name: str, schema: MergeSchema) -> Iterator[Finding]:
    """The finding about each readable file of a recorded cluster, with what does not fit its kind.

    Args:
        root: the project's folder.
        name: name of the recorded cluster.
        schema: the schema of its Kubernetes version.
    """
    stack = stack_of_recorded(name)
    for path in recorded_files(recorded_folder(root, name)):
        try:
            body = read_object(path, root)
        except (OSError, ValueError):
            continue
        bodies = body["nodes"] if path.name == CLUSTER_FILE else [body]
        if wrong := next((words for one in bodies for words in _wrong(one, schema)), ""):
            yield not_recorded(stack, f"stacks/recorded/{name}/{path.name}", wrong, again(stack))


def _wrong(body: Mapping[str, Any], schema: MergeSchema) -> Iterator[str]:
    """What does not fit the kind of an object, in words."""
    kind = body.get("kind", "Node")
    try:
        fitting = schema.of(body.get("apiVersion", "v1"), kind)
    except KeyError:
        return  # There is no schema of its kind.
    yield from (f"{kind} {error}" for error in validate(body, fitting))
