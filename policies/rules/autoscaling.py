"""Autoscalers: bounds that make sense, one owner of the replicas, and training pods that are not stopped at work."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from modelyard.policy import Finding, Params, Subject, mapping, rule, rule_of_all

_PAUSED = ("autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas")
_ENABLED, _MAX = "autoscaling/enabled", "autoscaling/max_replicas"
_SCALERS = ("HorizontalPodAutoscaler", "ScaledObject")
_TRAINING = ("rayWorker", "celery")


@rule("POL106", kinds=("ScaledObject", "ScaledJob"))
def keda_may_start_a_pod(subject: Subject, _: Params) -> Iterable[Finding]:
    """KEDA's bounds allow at least one pod.

    **Why.** KEDA rejects a `maxReplicaCount` below 1, and a `minReplicaCount` above `maxReplicaCount` allows no number
    of pods. To keep a training backend at zero pods, pause its scaling instead: `autoscaling.keda.sh/paused-replicas:
    "0"`.

    **Example.**

    ```yaml
    apiVersion: keda.sh/v1alpha1
    kind: ScaledObject
    metadata: {name: ray-training}
    spec:
      scaleTargetRef: {name: deployment-ray-model-training-worker}
      maxReplicaCount: 0
    ```

    ```text
    ray-training lets KEDA start at most 0 pods
    ```

    **Fix.** Set `maxReplicaCount` to 1 or more, or pause the idle training backend with the annotation. Set
    `minReplicaCount` to `maxReplicaCount` or less.
    """
    most = subject.spec.get("maxReplicaCount")
    paused = any(str(subject.annotations.get(name, "false")) != "false" for name in _PAUSED)
    if isinstance(most, int) and most < 1 and not paused:
        yield subject.finding(
            f"{subject.name} lets KEDA start at most {most} pods",
            field="spec.maxReplicaCount",
            remedy='set it to 1 or more; to pause scaling at 0 pods: autoscaling.keda.sh/paused-replicas: "0"',
        )
    else:
        yield from _crossed(subject, "minReplicaCount", "maxReplicaCount")


@rule("POL107")
def vendor_bounds_are_numbers(subject: Subject, _: Params) -> Iterable[Finding]:
    """The replica limit in the platform's annotation is a number.

    **Why.** The platform's autoscaler reads its replica limit from the annotation `autoscaling/max_replicas`, which is
    text. If the text is not a number, the training backend never starts a pod. Zero is right only for the backend that
    does not train: on the active backend, jobs would wait forever.

    **Example.**

    ```yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: deployment-ray-model-training-worker
      annotations: {autoscaling/enabled: "true", autoscaling/max_replicas: two}
    ```

    ```text
    autoscaling/max_replicas of deployment-ray-model-training-worker is two, which is not a number of pods
    ```

    **Fix.** Write a whole number in quotes, or leave the annotations to `modelyard:autoscaling: {mode: annotations}`.
    """
    bound = subject.annotations.get(_MAX)
    if str(subject.annotations.get(_ENABLED, "")).lower() != "true" or bound is None:
        return
    field = f'metadata.annotations["{_MAX}"]'
    text = str(bound)
    if not (text.isascii() and text.isdigit()):
        summary = f"{_MAX} of {subject.name} is {text}, which is not a number of pods"
        yield subject.finding(summary, field=field, remedy="write a whole number in quotes")
    elif int(text) == 0 and mapping(subject.facts.get(subject.role)).get("active") is True:
        yield subject.finding(
            f"{_MAX} of {subject.name} is 0, but training uses this backend",
            field=field,
            detail="no pod would start, so training jobs wait forever",
            remedy="set it to 1 or more (autoscaling.maxReplicas)",
        )


@rule("POL108", kinds=("HorizontalPodAutoscaler",))
def pod_autoscalers_are_sane(subject: Subject, _: Params) -> Iterable[Finding]:
    """Pod autoscalers fit their targets.

    **Why.** A HorizontalPodAutoscaler may stop any pod when it scales down, even a training pod with a job of up to six
    hours. A Ray head has exactly one pod, so it must not scale. The API server rejects a `minReplicas` above
    `maxReplicas`.

    **Example.**

    ```yaml
    apiVersion: autoscaling/v2
    kind: HorizontalPodAutoscaler
    metadata: {name: ray-training}
    spec:
      scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: deployment-ray-model-training-worker}
      minReplicas: 1
      maxReplicas: 4
    ```

    ```text
    ray-training may stop training pods of deployment-ray-model-training-worker with a job in them
    ```

    **Fix.** Use `modelyard:autoscaling` for training. If you need this autoscaler, let it only scale up: `behavior:
    {scaleDown: {selectPolicy: Disabled}}`. Remove an autoscaler of the Ray head. Set `minReplicas` to `maxReplicas` or
    less.
    """
    target, role = _scaled(subject)
    yield from _crossed(subject, "minReplicas", "maxReplicas")
    down = mapping(mapping(subject.spec.get("behavior")).get("scaleDown"))
    if role in _TRAINING and down.get("selectPolicy") != "Disabled":
        yield subject.finding(
            f"{subject.name} may stop training pods of {target} with a job in them",
            field="spec.behavior.scaleDown.selectPolicy",
            detail="it may stop any pod, including one whose job has run for hours",
            remedy="set behavior.scaleDown.selectPolicy to Disabled, or use modelyard:autoscaling",
        )
    elif role == "rayHead":
        yield subject.finding(
            f"{subject.name} scales the Ray head {target}, which must have exactly one pod",
            field="spec.scaleTargetRef.name",
            remedy="drop the autoscaler; rayWorker.replicas adds workers",
        )


@rule_of_all("POL109")
def one_owner_of_replicas(subjects: Sequence[Subject], _: Params) -> Iterable[Finding]:
    """Only the autoscaler sets replicas.

    **Why.** An autoscaler writes `spec.replicas`. If a stack sends the same field, every apply resets it, and pods
    start and stop without need. The rule leaves out replicas that modelyard only holds until the autoscaler sets them
    (AUT002).

    **Example.**

    ```yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: deployment-model-service, namespace: ml-platform}
    spec: {replicas: 2}
    ---
    apiVersion: autoscaling/v2
    kind: HorizontalPodAutoscaler
    metadata: {name: model-service, namespace: ml-platform}
    spec:
      scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: deployment-model-service}
      maxReplicas: 4
    ```

    ```text
    both HorizontalPodAutoscaler model-service and the stack set spec.replicas of deployment-model-service
    ```

    **Fix.** Leave `replicas` out of the patch or of the object, or drop the autoscaler.
    """
    scalers = {(subject.namespace, *_target(subject)): subject for subject in subjects if subject.kind in _SCALERS}
    for subject in subjects if scalers else ():
        scaler = scalers.get((subject.namespace, subject.kind, subject.name))
        if scaler is None or "replicas" not in mapping(subject.sent.get("spec")) or _left_to_autoscaler(subject):
            continue
        yield subject.finding(
            f"both {scaler.kind} {scaler.name} and the stack set spec.replicas of {subject.name}",
            field="spec.replicas",
            detail="each update would undo the autoscaler's number",
            remedy=f"leave replicas out, or drop {scaler.name}",
        )


@rule("POL110", level="advisory", kinds=("ScaledObject",), whole=True)
def lost_metrics_stop_nothing(subject: Subject, _: Params) -> Iterable[Finding]:
    """Lost metrics do not stop training.

    **Why.** KEDA treats an empty answer of Prometheus as 0, so it stops the pods. If the exporter or Prometheus is down
    for longer than the cooldown, KEDA stops training pods with running jobs. With `ignoreNullValues: "false"`, an empty
    answer is an error, and `fallback` sets the number of pods until Prometheus answers again.

    **Example.**

    ```yaml
    apiVersion: keda.sh/v1alpha1
    kind: ScaledObject
    metadata: {name: ray-training}
    spec:
      scaleTargetRef: {name: deployment-ray-model-training-worker}
      maxReplicaCount: 2
      triggers:
        - {type: prometheus, metadata: {query: vector(1), threshold: "1"}}
    ```

    ```text
    ray-training stops training pods of deployment-ray-model-training-worker when Prometheus has no answer
    ```

    **Fix.** Set `ignoreNullValues: "false"` on each Prometheus trigger, and `fallback: {failureThreshold: 3,
    replicas: 1}`.
    """
    target, role = _scaled(subject)
    if role not in _TRAINING:
        return
    for index, metadata in _prometheus(subject):
        strict = str(metadata.get("ignoreNullValues", "true")).lower() == "false"
        if strict and subject.spec.get("fallback"):
            continue
        lacking = "fallback" if strict else 'ignoreNullValues: "false"'
        yield subject.finding(
            f"{subject.name} stops training pods of {target} when Prometheus has no answer",
            field="spec.fallback" if strict else f"spec.triggers[{index}].metadata.ignoreNullValues",
            detail=f"{lacking} is missing",
            remedy='set ignoreNullValues: "false" on the trigger, and set spec.fallback',
        )


def _crossed(scaler: Subject, low: str, high: str) -> Iterator[Finding]:
    """A finding if the minimum of an autoscaler is above its maximum, by the fields of its spec."""
    least, most = scaler.spec.get(low), scaler.spec.get(high)
    if isinstance(least, int) and isinstance(most, int) and least > most:
        yield scaler.finding(
            f"{scaler.name} requires at least {least} pods but allows at most {most}",
            field=f"spec.{low}",
            remedy=f"set {low} to {high} or less",
        )


def _target(scaler: Subject) -> tuple[str, str]:
    """Kind and name of what an autoscaler scales."""
    reference = mapping(scaler.spec.get("scaleTargetRef"))
    return str(reference.get("kind", "Deployment")), str(reference.get("name", ""))


def _scaled(scaler: Subject) -> tuple[str, str]:
    """Name of what an autoscaler scales, and the workload that it is."""
    kind, name = _target(scaler)
    if kind in ("Deployment", "StatefulSet"):
        for role, known in scaler.facts.items():
            if isinstance(known, Mapping) and (known.get("deployment"), known.get("kind")) == (name, kind):
                return name, role
    return name, ""


def _left_to_autoscaler(subject: Subject) -> bool:
    """Whether the planner itself leaves the replicas of this side to an autoscaler, and only holds them."""
    return subject.role in _TRAINING and mapping(subject.facts.get("autoscaling")).get("mode", "none") != "none"


def _prometheus(subject: Subject) -> Iterator[tuple[int, Mapping[str, Any]]]:
    triggers = subject.spec.get("triggers")
    for index, trigger in enumerate(triggers if isinstance(triggers, list | tuple) else ()):
        if mapping(trigger).get("type") == "prometheus":
            yield index, mapping(mapping(trigger).get("metadata"))
