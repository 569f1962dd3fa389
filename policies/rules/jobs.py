"""Long jobs: nothing ends a training job before its six hours are over."""

from collections.abc import Iterable, Iterator
from typing import Any

from modelyard.hardware.limits import JOB_SECONDS
from modelyard.policy import Finding, Params, Subject, Template, mapping, rule
from modelyard.stack.durations import text

_ON_OBJECT = {
    "Job": "spec.activeDeadlineSeconds",
    "CronJob": "spec.jobTemplate.spec.activeDeadlineSeconds",
    "ScaledJob": "spec.jobTargetRef.activeDeadlineSeconds",
    "RayJob": "spec.activeDeadlineSeconds",
}
"""Where an object itself says how long its pods may run."""
_MARKS = {"karpenter.sh/do-not-disrupt": "true", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
"""Annotations of pods that keep the node autoscalers from emptying their node."""


@rule(
    "POL104",
    params={
        "seconds": {
            "type": "integer",
            "minimum": 1,
            "default": JOB_SECONDS,
            "description": "Longest time that a job may run, in seconds.",
        }
    },
)
def no_deadline_below_the_longest_job(subject: Subject, params: Params) -> Iterable[Finding]:
    """No deadline ends a training job early.

    **Why.** `activeDeadlineSeconds` kills a pod at the deadline, even if its job still trains. A job on a GPU may run
    for six hours: a shorter deadline wastes hours of GPU time, and a retry ends in the same way. The rule skips
    objects in which no pod has a GPU.

    **Example.**

    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: fine-tune}
    spec:
      activeDeadlineSeconds: 3600
      template:
        spec:
          containers:
            - {name: train, resources: {limits: {nvidia.com/gpu: 1}}}
    ```

    ```text
    fine-tune is ended after 1h, but a training job may run for 6h
    ```

    **Fix.** Raise the deadline to a few minutes more than the longest job, or leave it out; the platform ends its own
    training jobs after six hours.
    """
    if not any(_has_gpu(template) for template in subject.templates):
        return
    for field, value in _deadlines(subject):
        if isinstance(value, int) and value < params["seconds"]:
            longest = text(params["seconds"])
            yield subject.finding(
                f"{subject.name} is ended after {text(value)}, but a training job may run for {longest}",
                field=field,
                detail="the deadline kills the pod with the job in it",
                remedy=f"raise it to more than {params['seconds']} seconds, or leave it out",
            )


@rule("POL105", level="advisory", roles=("rayWorker", "celery"), whole=True)
def marked_against_eviction(subject: Subject, _: Params) -> Iterable[Finding]:
    """Training pods are protected from eviction.

    **Why.** Karpenter and the cluster autoscaler evict pods from underused nodes, and a node with one training pod
    counts as underused. Without the annotation that prevents this, a job may end in its fifth hour. Each autoscaler
    reads only its own annotation, so pods need both.

    **Example.**

    ```yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: deployment-ray-model-training-worker}
    spec:
      template:
        metadata:
          annotations: {karpenter.sh/do-not-disrupt: "true"}
        spec:
          containers: [{name: ray-model-training-worker}]
    ```

    ```text
    pods of deployment-ray-model-training-worker lack cluster-autoscaler.kubernetes.io/safe-to-evict: "false"
    ```

    **Fix.** Keep the annotations that the patches `ray-worker` and `celery-training` set. If no autoscaler removes
    nodes, set the rule's level to `disabled` in `policies/policy.yaml`.
    """
    for template in subject.templates:
        if len(subject.templates) > 1 and not _has_gpu(template):
            continue  # The head and other groups of a Ray cluster do not train.
        annotations = mapping(template.metadata.get("annotations"))
        lacking = [f'{name}: "{value}"' for name, value in _MARKS.items() if str(annotations.get(name)) != value]
        if lacking:
            yield subject.finding(
                f"pods of {subject.name} lack {' and '.join(lacking)}",
                field=template.at("metadata.annotations"),
                detail="a node autoscaler may end their jobs to remove a node",
                remedy="let a patch set the annotations on the pod template",
            )


def _has_gpu(template: Template) -> bool:
    for _, container in template.containers:
        limits = mapping(mapping(container.get("resources")).get("limits"))
        if any(name.startswith("nvidia.com/") and str(amount) not in ("0", "") for name, amount in limits.items()):
            return True
    return False


def _deadlines(subject: Subject) -> Iterator[tuple[str, Any]]:
    field = _ON_OBJECT.get(subject.kind)
    if field is not None:
        value: Any = subject.object
        for name in field.split("."):
            value = mapping(value).get(name)
        yield field, value
    for template in subject.templates:
        yield template.at("spec.activeDeadlineSeconds"), template.spec.get("activeDeadlineSeconds")
