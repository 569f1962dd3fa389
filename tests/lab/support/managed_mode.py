"""A stack in mode managed."""

import yaml

from lab import Lab
from tests.lab.support.environment import NAMESPACE, Environment

WORKLOADS = ("model-service", "ray-head", "ray-model-training-worker", "model-training-tasks-gpu")
SECTIONS = ("modelService", "rayHead", "rayWorker", "celery")


def manage(env: Environment) -> None:
    """Deletes the platform's workloads and sets mode managed in the stack file."""
    clear(env.lab)
    env.settle()
    document = yaml.safe_load(env.stack_file.read_text())
    config = document["config"]
    config["modelyard:platform"]["mode"] = "managed"
    for section, app in zip(SECTIONS, WORKLOADS, strict=True):
        config[f"modelyard:{section}"]["image"] = f"images.example.com/ml-platform/{app}:23.10.4"
    env.stack_file.write_text(yaml.safe_dump(document, sort_keys=False))


def clear(lab: Lab) -> None:
    """Deletes the platform's workloads."""
    for app in WORKLOADS:
        for kind in ("deployment", "service"):
            name = f"{kind}-{app}"
            lab.kubectl("delete", kind, name, "--namespace", NAMESPACE, "--ignore-not-found", "--wait=true")
