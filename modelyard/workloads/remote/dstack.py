"""The task that dstack runs, and its fleet.

The formats are those of 0.22: ``TaskConfiguration`` of ``dstack._internal.core.models.configurations`` and
``FleetConfiguration`` of ``dstack._internal.core.models.fleets``. Since 0.20 dstack creates no fleet by itself, and
ends a run that finds none. The shorter of the two idle durations counts; a fleet's own default is three days.

The dstack server ends the run at ``max_duration`` and releases the machine after it is idle for ``idle_duration``.
If that server is gone, the script on the machine still ends the job at the same limit, but the machine waits for the
server.
"""

from typing import Any

from modelyard.workloads.remote.skypilot import text_of
from modelyard.workloads.remote.values import Launch

FORM = "dstack@v1"
"""Version of these documents; it changes when their meaning changes."""
IDLE = "0s"


def run(launch: Launch) -> str:
    """Returns the text of the file."""
    body: dict[str, Any] = {
        "type": "task",
        "name": launch.name,
        "image": launch.image,
        "env": ["MODELYARD_JOB=" + launch.job, "MODELYARD_DATA_MANIFEST=", *launch.secrets],
        "commands": [launch.script],
        "fleets": [launch.name],
        **_machine(launch),
        "retry": False,
        "max_duration": f"{launch.time_limit}s",
        "stop_duration": "5m",
        "creation_policy": "reuse-or-create",
        "idle_duration": IDLE,
    }
    if launch.port is not None:
        # Forwarded to users who attach, and closed to all others.
        body["ports"] = [launch.port]
    head = (
        f"# {FORM}, job {launch.job} of resource {launch.resource}. Once, for the fleet (free while empty):\n"
        "# dstack apply --yes --file fleet.dstack.yml\n"
        "# Then, with the secrets in the environment:\n"
        "# dstack apply --yes --detach --file task.dstack.yml\n"
    )
    if launch.port is not None:
        head += f"# What reaches it, at port {launch.port} of localhost: dstack attach {launch.name}\n"
    return head + text_of(body)


def fleet(launch: Launch) -> str:
    """Returns the text of the fleet's file: one machine while the job runs, none before and after."""
    body = {"type": "fleet", "name": launch.name, "nodes": "0..1", **_machine(launch), "idle_duration": IDLE}
    return f"# {FORM}, where job {launch.job} runs; task.dstack.yml has the commands.\n{text_of(body)}"


def _machine(launch: Launch) -> dict[str, Any]:
    offer = launch.offer
    return {
        **({} if offer.gpus is None else {"resources": {"gpu": {"count": offer.gpus}}}),
        "backends": [offer.cloud],
        "regions": [offer.region],
        "instance_types": [offer.type],
        "spot_policy": "on-demand",
    }
