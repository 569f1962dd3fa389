"""The facts for the template of a notebook's job: one mapping beside the stack's facts."""

from collections.abc import Mapping
from typing import Any, Final

from modelyard import quantity
from modelyard.hardware import products, resolve
from modelyard.names import GPU_RESOURCE, PRODUCT_LABEL
from modelyard.runs.notebooks.choice import GPU_NODES, Chosen
from modelyard.runs.notebooks.place import Place
from modelyard.stack.config import Stack
from modelyard.workloads import node_labels
from modelyard.workloads.facts.environments import image_with, run_environment
from modelyard.workloads.facts.pool import namespace_of

TEMPLATE: Final = "job-notebook"
"""Name of the patch."""


def notebook_facts(
    stack: Stack, name: str, place: Place, chosen: Chosen, parameters: Mapping[str, str]
) -> dict[str, Any]:
    """The facts below ``notebook``, as plain JSON-like values."""
    config, team = stack.config, chosen.team
    return {
        "notebook": {
            "stack": stack.name,
            "name": name,
            "namespace": namespace_of(team) if team is not None else config.platform.namespace,
            "queue": team.name if team is not None else None,
            "priority": chosen.priority,
            "flavor": chosen.flavor.name or None,
            "nodes": nodes_of(chosen),
            "anyPlace": team is not None and bool(chosen.flavor.topology),
            "products": products_of(chosen),
            "tolerations": _tolerations(chosen),
            "image": image_with(config, config.notebooks.environment, config.notebooks.image),
            "environment": run_environment(config, config.notebooks.environment),
            "claim": config.notebooks.claim,
            "path": config.notebooks.path,
            "cpu": config.notebooks.cpu,
            "memory": quantity.times(config.notebooks.memory, chosen.gpus),
            "gpus": chosen.gpus,
            "gpuResource": chosen.part.resource if chosen.part is not None else GPU_RESOURCE,
            "timeLimit": config.notebooks.time_limit,
            "keep": config.notebooks.keep,
            "arguments": [escaped(one) for one in _arguments(place, parameters)],
        }
    }


def _tolerations(chosen: Chosen) -> list[dict[str, str]]:
    """Tolerates the taint of GPU nodes, as every run with GPUs; Kueue adds the flavor's tolerations to a queued job."""
    theirs = chosen.flavor.tolerations if chosen.team is None else ()
    return [
        {key: value for key, value in one._asdict().items() if value is not None}
        for one in dict.fromkeys((GPU_NODES, *theirs))
    ]


def nodes_of(chosen: Chosen) -> dict[str, str]:
    """Labels of its nodes. Nodes with slices may have another product label than nodes with whole GPUs."""
    labels = node_labels(chosen.flavor) if chosen.flavor.name else {}
    if chosen.part is None:
        return labels
    return {**{key: value for key, value in labels.items() if key != PRODUCT_LABEL}, **chosen.part.nodes}


def products_of(chosen: Chosen) -> list[str]:
    """Product labels that nodes may have for the stack's GPU, if no flavor sets them."""
    if chosen.part is not None:
        return []
    gpu = resolve(chosen.flavor.gpu) if not chosen.flavor.name and chosen.flavor.gpu else None
    return list(products(gpu)) if gpu is not None else []


def labels_of(chosen: Chosen) -> dict[str, tuple[str, ...]]:
    """The labels of the nodes that a notebook may run on, each with its allowed values."""
    found = {key: (value,) for key, value in nodes_of(chosen).items()}
    return found | ({PRODUCT_LABEL: tuple(names)} if (names := products_of(chosen)) else {})


def _arguments(place: Place, parameters: Mapping[str, str]) -> list[str]:
    """Arguments of the runner: the notebook, its result, and options for papermill."""
    given = [word for name, value in parameters.items() for word in ("-p", name, value)]
    return [place.notebook, place.result, *given]


def escaped(argument: str) -> str:
    """A container's argument that stays unchanged: Kubernetes would replace ``$(NAME)`` with a variable's value."""
    return argument.replace("$(", "$$(")
