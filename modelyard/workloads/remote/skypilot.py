"""The task file that SkyPilot launches (its format of 0.14: ``sky.utils.schemas``, task and resources).

The machine itself enforces ``autostop`` with ``down``: it is released when nothing runs on it, even if the user who
launched it is gone.
"""

from typing import Any

import yaml

from modelyard.workloads.remote.values import Launch

FORM = "skypilot@v1"
"""Version of this document; it changes when the meaning changes."""
IDLE_MINUTES = 5


def task(launch: Launch) -> str:
    """Returns the text of the file."""
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
        f"# {FORM}, job {launch.job} of resource {launch.resource}. The secrets come from the launcher's environment:\n"
        f"# sky launch --yes --down --idle-minutes-to-autostop {IDLE_MINUTES} --cluster {launch.name}{given}"
        " skypilot.yaml\n"
    )
    if launch.port is not None:
        # SkyPilot's ports would be open to everyone; the user who launched the job can log in instead.
        head += f"# What reaches it: ssh -N -L {launch.port}:localhost:{launch.port} {launch.name}\n"
    return head + text_of(body)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, which people can read."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def text_of(body: dict[str, Any]) -> str:
    """Returns a document as YAML."""
    return str(yaml.dump(body, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000))
