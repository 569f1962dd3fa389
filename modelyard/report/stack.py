"""What a stack asks for, before any patch or cluster."""

from collections.abc import Iterable
from typing import Any

from modelyard.catalog import Selected
from modelyard.catalog.hidden import hidden_params
from modelyard.hardware import Card, resolve, serves, verdict
from modelyard.hardware.limits import CELERY_GPUS
from modelyard.report.asked import asked_document, asked_text
from modelyard.report.json import record
from modelyard.report.style import PLAIN, Style, table, wrapped
from modelyard.stack import Stack
from modelyard.workloads import Workload
from modelyard.workloads.sizing import sized as resources


def stack_text(stack: Stack, sized: Iterable[Workload], chosen: Iterable[Selected], style: Style = PLAIN) -> list[str]:
    """GPU, workloads and patches of an environment, then its pool and its jobs, as far as it has any."""
    config = stack.config
    lines = [style.bold(f"{stack.name}  {config.training} training, release {config.platform.release}"), ""]
    lines.extend(wrapped(_card(stack), 14, style.columns, "  GPU"))
    modes = ", ".join(serves(config)) or "none"
    lines.extend(wrapped(f"{config.gpu.allocation} (the pod can serve: {modes})", 14, style.columns, "  allocation"))
    lines.extend(
        wrapped(f"{config.platform.mode}, namespace {config.platform.namespace}", 14, style.columns, "  platform")
    )
    lines.append("")
    rows = [
        (
            workload.deployment,
            _replicas(workload),
            workload.cpu or "-",
            workload.memory or "-",
            str(workload.gpus) if workload.gpus else "-",
            workload.volume or "-",
        )
        for workload in sized
    ]
    lines.extend(table(rows, ("DEPLOYMENT", "REPLICAS", "CPU", "MEMORY", "GPUS", "VOLUME"), style, indent=2))
    lines.append("")
    lines.extend(wrapped(", ".join(one.patch.id for one in chosen), 14, style.columns, "  patches"))
    return [*lines, *asked_text(config, resources(config), style)]


def stack_document(stack: Stack, sized: Iterable[Workload], chosen: Iterable[Selected]) -> dict[str, Any]:
    """The same for machines."""
    return {
        "formatVersion": 1,
        "stack": stack.name,
        "file": stack.file,
        "training": stack.config.training,
        "gpu": {**record(stack.config.gpu), "serves": list(serves(stack.config))},
        "workloads": [{**record(workload), "products": list(workload.products)} for workload in sized],
        **asked_document(stack.config, resources(stack.config)),
        "patches": [{"id": one.patch.id, "params": hidden_params(one)} for one in chosen],
    }


def _card(stack: Stack) -> str:
    config = stack.config
    card = resolve(config.gpu.model)
    if not isinstance(card, Card):
        return f"{config.gpu.model} (not in the table)"
    found = verdict(card, config.platform.cuda, config.platform.images_embed_ptx)
    ray = config.training == "ray"
    held = f"{config.gpu.per_worker} × {card.name} a worker" if ray else f"{CELERY_GPUS} × {card.name} a replica"
    return f"{held}: {found.reason}"


def _replicas(workload: Workload) -> str:
    if workload.replicas is not None:
        return str(workload.replicas)
    return "as it is" if workload.role == "apiServer" else "autoscaled"
