"""The Job of a notebook: the template that the stack takes, rendered for one submission."""

from collections.abc import Iterable, Mapping
from datetime import date
from fractions import Fraction
from typing import Any, Final

from modelyard import quantity
from modelyard.catalog import Library
from modelyard.findings import Finding, Severity
from modelyard.hardware.rules.pods import PodSizes
from modelyard.hardware.rules.worker import size_findings
from modelyard.kube.state import Node
from modelyard.names import GPU_RESOURCE, PRODUCT_LABEL
from modelyard.plan.checks.jobs import check_pod_room
from modelyard.plan.checks.nodepools import possible_nodes
from modelyard.plan.run_requests import Ask
from modelyard.runs.jobs import notebook_environment, submission
from modelyard.runs.notebooks import TEMPLATE, Chosen, Place, nodes_of, notebook_facts, products_of
from modelyard.stack import Stack, apply_waivers

_PASSING: Final = "node.kubernetes.io/"
"""How the taints begin that Kubernetes itself puts on nodes and takes away again."""
_SMALLER: Final = "request less, or add such nodes; where an autoscaler adds them, waive RES212"


def notebook_job(
    library: Library, stack: Stack, name: str, place: Place, chosen: Chosen, parameters: Mapping[str, str], today: date
) -> tuple[dict[str, Any] | None, tuple[Finding, ...]]:
    """The object to create, or None and the findings that say why there is none; a warning comes beside it.

    Args:
        library: the project's patches.
        stack: whose flavors, sizes and image count.
        name: of the Job.
        place: of the notebook and its result.
        chosen: nodes, GPUs and queue.
        parameters: values for the notebook's cell ``parameters``.
        today: the day on which waivers are looked at.
    """
    _, wrong = notebook_environment(stack)
    found = [*_image(stack), *wrong, *_waived(_size(stack, chosen), stack, today)]
    if any(one.blocks for one in found):
        return None, tuple(found)
    made = submission(stack, library, TEMPLATE, notebook_facts(stack, name, place, chosen, parameters))
    return (made.objects[0] if made.objects else None), (*found, *made.findings)


def labels_of(chosen: Chosen) -> dict[str, tuple[str, ...]]:
    """The labels of the nodes that a notebook may run on, each with the values that it may have."""
    found = {key: (value,) for key, value in nodes_of(chosen).items()}
    return found | ({PRODUCT_LABEL: tuple(names)} if (names := products_of(chosen)) else {})


def check_notebook_room(
    stack: Stack, shown: str, chosen: Chosen, nodes: Iterable[Node], today: date
) -> tuple[Finding, ...]:
    """The errors about a notebook whose job would wait for ever: no quota, or no such node, ever holds it.

    What is a warning of a job is an error here where there are nodes of its kind and none is large enough: somebody
    waits for it. Where there are none, an autoscaler may have taken them away. That a node is cordoned, or has no GPU
    at the moment, passes.

    Args:
        stack: whose quotas and node pools count.
        shown: the notebook's path as findings name it.
        chosen: nodes, GPUs and queue.
        nodes: of the cluster; others than of :func:`labels_of` do not count.
        today: the day on which waivers are looked at.
    """
    config, part, team = stack.config, chosen.part, chosen.team
    resource = part.resource if part is not None else GPU_RESOURCE
    ask = Ask(
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
    # A node has the slices of its partition once they are made: those that it has now say nothing.
    known = nodes if part is None else ()
    mine = [
        node._replace(schedulable=True, taints=tuple(one for one in node.taints if not one["key"].startswith(_PASSING)))
        for node in known
        if node.allocatable.get(resource) and all(node.labels.get(key) in values for key, values in wanted)
    ]
    flavor = chosen.flavor if chosen.flavor.name else None
    growth = possible_nodes(config.node_pools)
    found = check_pod_room(stack, ("notebooks",), f"notebook {shown}", ask, flavor, mine, growth)
    errors = [one._replace(severity=Severity.ERROR, remedy=_SMALLER) if one.code == "RES212" else one for one in found]
    return tuple(one for one in _waived(errors, stack, today) if one.blocks)


def _waived(findings: list[Finding], stack: Stack, today: date) -> list[Finding]:
    """What is wrong with waivers themselves a plan tells, which knows all findings."""
    codes = {one.code for one in findings}
    return [one for one in apply_waivers(findings, stack, today) if one.code in codes]


def _image(stack: Stack) -> list[Finding]:
    if stack.config.notebooks.image is not None or stack.config.notebooks.environment is not None:
        return []
    summary = "notebooks.image is not set: there is nothing to run a notebook in"
    remedy = "set it to an image with papermill and the notebooks' kernel"
    return [stack.finding("CFG009", Severity.ERROR, ("notebooks", "image"), summary, remedy)]


def _size(stack: Stack, chosen: Chosen) -> list[Finding]:
    """What a training pod needs, for the chosen GPU or slice."""
    config = stack.config
    gpu = config.gpu._replace(model=chosen.flavor.gpu or config.gpu.model)
    asked = stack._replace(config=config._replace(gpu=gpu))
    memory_gb = chosen.part.memory_gb if chosen.part is not None else None
    pods = PodSizes(1, config.notebooks.cpu, config.notebooks.memory, gpus=chosen.gpus)
    return size_findings(asked, "notebooks", pods, "", memory_gb)
