"""The task that dstack runs (format of 0.22: ``TaskConfiguration`` of ``dstack._internal.core.models.configurations``).

Its server ends the run at ``max_duration`` and gives the machine back when it has been idle for ``idle_duration``.
Where that server is gone, the script on the machine still ends the job at the same limit, but the machine waits for the
server.
"""

from typing import Any

from modelyard.remote.launch import Launch
from modelyard.remote.skypilot import text_of

FORM = "dstack@v1"
"""Version of this document; another number where its meaning changes."""
IDLE = "0s"


def run(launch: Launch) -> str:
    """The text of the file."""
    offer = launch.offer
    gpu: dict[str, Any] = {} if offer.gpus is None else {"gpu": {"count": offer.gpus}}
    body: dict[str, Any] = {
        "type": "task",
        "name": launch.name,
        "image": launch.image,
        "env": ["MODELYARD_JOB=" + launch.job, "MODELYARD_DATA_MANIFEST=", *launch.secrets],
        "commands": [launch.script],
        "resources": gpu,
        "backends": [offer.cloud],
        "regions": [offer.region],
        "instance_types": [offer.type],
        "spot_policy": "on-demand",
        "retry": False,
        "max_duration": f"{launch.time_limit}s",
        "stop_duration": "5m",
        "creation_policy": "reuse-or-create",
        "idle_duration": IDLE,
    }
    if not gpu:
        del body["resources"]
    if launch.port is not None:
        # Forwarded to whoever attaches, and open to nobody.
        body["ports"] = [launch.port]
    head = (
        f"# {FORM}, job {launch.job} of resource {launch.resource}. The secrets come from the environment:\n"
        "# dstack apply --yes --detach --file task.dstack.yml\n"
    )
    if launch.port is not None:
        head += f"# What reaches it, at port {launch.port} of localhost: dstack attach {launch.name}\n"
    return head + text_of(body)
