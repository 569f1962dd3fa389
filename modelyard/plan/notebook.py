"""Renders the Job of a notebook from the stack's template, for one submission."""

from collections.abc import Iterable, Mapping
from datetime import date
from fractions import Fraction
from typing import Final

from modelyard import quantity
from modelyard.catalog import Library
from modelyard.findings import Finding, Severity, ordered
from modelyard.hardware.gpu_models import resolve
from modelyard.hardware.rules.gpu import use_findings
from modelyard.hiding import Confidential
from modelyard.kube.state import Node
from modelyard.names import GPU_RESOURCE
from modelyard.plan.checks.job_nodes import RunRequest
from modelyard.plan.checks.jobs import check_pod_room
from modelyard.plan.checks.nodepools import possible_nodes
from modelyard.runs.jobs import Submission, notebook_environment, submission
from modelyard.runs.notebooks import TEMPLATE, Chosen, NotebookPaths, labels_of, nodes_of, notebook_facts, products_of
from modelyard.stack import Stack, waive
from modelyard.workloads.gpu_uses import notebook_use
from modelyard.workloads.notebooks import notebook_sizes

_PASSING: Final = "node.kubernetes.io/"
"""Prefix of the taints that Kubernetes itself adds to nodes and removes again."""


def notebook_job(
    library: Library,
    stack: Stack,
    name: str,
    *,
    place: NotebookPaths,
    chosen: Chosen,
    parameters: Mapping[str, str],
    today: date,
) -> Submission:
    """The Job ``name`` to create, or the findings that show why there is none. There may be warnings next to a Job.

    ``parameters`` are values for the notebook's cell with this tag.
    """
    _, wrong = notebook_environment(stack)
    found = [*_image(stack), *wrong, *ordered(waive([*_gpu(stack, chosen), *_size(stack, chosen)], stack, today)[0])]
    if any(one.blocks for one in found):
        return Submission(Confidential(()), tuple(found))
    made = submission(stack, library, TEMPLATE, notebook_facts(stack, name, place, chosen, parameters))
    return made._replace(findings=(*found, *made.findings))


def check_notebook_room(
    stack: Stack, who: str, chosen: Chosen, *, nodes: Iterable[Node], today: date, note: str = ""
) -> tuple[Finding, ...]:
    """The errors about a notebook whose job would wait forever because no quota or node can ever hold it.

    If nodes of the right kind exist and none is large enough, the finding is a warning for a job, but an error here,
    because a user waits for the notebook. If none exist, an autoscaler may have removed them. A cordoned node, or a
    node without free GPUs, is temporary. Only nodes that match :func:`labels_of` count.

    ``who`` names the notebook or function in findings; ``note`` says in their detail where the nodes come from.
    """
    config, part, team = stack.config, chosen.part, chosen.team
    resource = part.resource if part is not None else GPU_RESOURCE
    ask = RunRequest(
        team=team.name if team is not None else None,
        requests=(
            ("cpu", quantity.parse(config.notebooks.cpu)),
            ("memory", quantity.parse(config.notebooks.memory) * chosen.gpus),
            (resource, Fraction(chosen.gpus)),
        ),
        products=tuple(products_of(chosen)),
        workers=1,
        together=None,
        head=None,
        resource=resource,
        selector=tuple(nodes_of(chosen).items()),
    )
    wanted = labels_of(chosen).items()
    # A node has its partition's slices only once they are made, so its current slices do not matter.
    known = nodes if part is None else ()
    mine = [
        node._replace(schedulable=True, taints=tuple(one for one in node.taints if not one["key"].startswith(_PASSING)))
        for node in known
        if node.allocatable.get(resource) and all(node.labels.get(key) in values for key, values in wanted)
    ]
    flavor = chosen.flavor if chosen.flavor.name else None
    growth = possible_nodes(config.node_pools)
    found = check_pod_room(stack, who, ask, flavor=flavor, nodes=mine, growth=growth, note=note)
    return tuple(one for one in ordered(waive(found, stack, today)[0]) if one.blocks)


def _image(stack: Stack) -> list[Finding]:
    if stack.config.notebooks.image is not None or stack.config.notebooks.environment is not None:
        return []
    summary = "notebooks.image is not set, so notebook jobs have no image"
    remedy = "set it to an image with papermill and the notebooks' kernel, or set notebooks.environment"
    return [stack.finding("CFG009", Severity.ERROR, ("notebooks", "image"), summary, remedy)]


def _gpu(stack: Stack, chosen: Chosen) -> list[Finding]:
    """Whether the chosen GPU is supported for the notebooks' image."""
    gpu = resolve(chosen.flavor.gpu or stack.config.gpu.model)
    return [] if gpu is None else use_findings(stack, ("notebooks",), gpu, notebook_use(stack.config), who="notebooks")


def _size(stack: Stack, chosen: Chosen) -> list[Finding]:
    """What a training pod needs, for the chosen GPU or slice."""
    memory_gb = chosen.part.memory_gb if chosen.part is not None else None
    return notebook_sizes(stack, chosen.flavor.gpu or stack.config.gpu.model, chosen.gpus, memory_gb)
