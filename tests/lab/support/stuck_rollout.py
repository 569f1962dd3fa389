"""A rollout of the Ray head that does not end until a test releases it."""

import json

from tests.lab.support.environment import NAMESPACE, Environment

HEAD = "deployment-ray-head"
NEVER_READY = "lab.modelyard/never-ready"
"""Annotation of pods that the lab leaves Pending."""


def hold(env: Environment) -> None:
    """New pods of the Ray head stay Pending."""
    annotate(env, "true")


def release(env: Environment) -> None:
    """New pods of the Ray head get ready, and one is made."""
    annotate(env, None)


def annotate(env: Environment, value: str | None) -> None:
    patch = {"spec": {"template": {"metadata": {"annotations": {NEVER_READY: value}}}}}
    env.lab.kubectl("patch", "deployment", HEAD, "--namespace", NAMESPACE, "--patch", json.dumps(patch))
