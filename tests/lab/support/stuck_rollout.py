"""A rollout of the Ray head that does not end until a test releases it."""

import json

from tests.lab.support.environment import NAMESPACE, Environment

HEAD = "deployment-ray-head"
NEVER_READY = "lab.modelyard/never-ready"
"""Annotation of pods that the lab keeps Pending."""


def hold(env: Environment) -> None:
    """Keeps new pods of the Ray head Pending."""
    annotate(env, "true")


def release(env: Environment) -> None:
    """Lets new pods of the Ray head get ready, and creates one."""
    annotate(env, None)


def annotate(env: Environment, value: str | None) -> None:
    patch = {"spec": {"template": {"metadata": {"annotations": {NEVER_READY: value}}}}}
    env.lab.kubectl("patch", "deployment", HEAD, "--namespace", NAMESPACE, "--patch", json.dumps(patch))
