"""The task files that SkyPilot and dstack launch."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import yaml

from modelyard.stack.remote import Launcher
from modelyard.workloads.remote.values import Launch

# SkyPilot's format is that of 0.14: ``sky.utils.schemas``, task and resources. The machine itself enforces ``autostop``
# with ``down``: it is released when nothing runs on it, even if the user who launched it is gone.
SKYPILOT = "skypilot@v1"
"""Version of SkyPilot's document; it changes when the meaning changes."""
IDLE_MINUTES = 5


def task(launch: Launch) -> str:
    """Returns the text of SkyPilot's task file."""
    offer = launch.offer
    body: dict[str, Any] = {
        "name": launch.name,
        "resources": {
            "infra": f"{offer.cloud}/{offer.region}",
            "instance_type": offer.type,
            "image_id": f"docker:{launch.image}",
            "use_spot": False,
            "autostop": {"idle_minutes": IDLE_MINUTES, "down": True, "wait_for": "jobs"},
        },
        "num_nodes": 1,
        "envs": {"MODELYARD_JOB": launch.job, "MODELYARD_DATA_MANIFEST": ""},
        "secrets": dict.fromkeys(launch.secrets),
        "run": launch.script,
    }
    if not launch.secrets:
        del body["secrets"]
    given = "".join(f" --secret {name}" for name in launch.secrets)
    head = (
        f"# {SKYPILOT}, job {launch.job} of resource {launch.resource}. "
        "The secrets come from the launcher's environment:\n"
        f"# sky launch --yes --down --idle-minutes-to-autostop {IDLE_MINUTES} --cluster {launch.name}{given}"
        " skypilot.yaml\n"
    )
    if launch.port is not None:
        # SkyPilot's ports would be open to everyone; the user who launched the job can log in instead.
        head += f"# To reach the model: ssh -N -L {launch.port}:localhost:{launch.port} {launch.name}\n"
    return head + text_of(body)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, which people can read."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def text_of(body: dict[str, Any]) -> str:
    """Returns a document as YAML."""
    return str(yaml.dump(body, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000))


# dstack's formats are those of 0.22: ``TaskConfiguration`` of ``dstack._internal.core.models.configurations`` and
# ``FleetConfiguration`` of ``dstack._internal.core.models.fleets``. Since 0.20 dstack creates no fleet by itself, and
# ends a run that finds none. The shorter of the two idle durations counts; a fleet's own default is three days.
#
# The dstack server ends the run at ``max_duration`` and releases the machine after it is idle for ``idle_duration``.
# If that server is gone, the script on the machine still ends the job at the same limit, but the machine waits for the
# server.
DSTACK = "dstack@v1"
"""Version of dstack's documents; it changes when their meaning changes."""
IDLE = "0s"


def run(launch: Launch) -> str:
    """Returns the text of dstack's task file."""
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
        f"# {DSTACK}, job {launch.job} of resource {launch.resource}. Once, for the fleet (free while empty):\n"
        "# dstack apply --yes --file fleet.dstack.yml\n"
        "# Then, with the secrets in the environment:\n"
        "# dstack apply --yes --detach --file task.dstack.yml\n"
    )
    if launch.port is not None:
        head += f"# To reach the model, at port {launch.port} of localhost: dstack attach {launch.name}\n"
    return head + text_of(body)


def fleet(launch: Launch) -> str:
    """Returns the text of dstack's fleet file: one machine while the job runs, none before and after."""
    body = {"type": "fleet", "name": launch.name, "nodes": "0..1", **_machine(launch), "idle_duration": IDLE}
    return f"# {DSTACK}, where job {launch.job} runs; task.dstack.yml has the commands.\n{text_of(body)}"


def _machine(launch: Launch) -> dict[str, Any]:
    offer = launch.offer
    return {
        **({} if offer.gpus is None else {"resources": {"gpu": {"count": offer.gpus}}}),
        "backends": [offer.cloud],
        "regions": [offer.region],
        "instance_types": [offer.type],
        "spot_policy": "on-demand",
    }


DOCUMENTS: Final[Mapping[Launcher, Mapping[str, Callable[[Launch], str]]]] = {
    "skypilot": {"skypilot.yaml": task},
    "dstack": {"fleet.dstack.yml": fleet, "task.dstack.yml": run},
}
"""The files of each launcher by name."""
