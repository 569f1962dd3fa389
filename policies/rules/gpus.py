"""GPUs of pods: whole, and as many requested as may be used."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from modelyard.policy import Finding, Params, Subject, mapping, rule
from modelyard.quantity import parse


@rule(
    "POL103",
    params={
        "resources": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "default": ["nvidia.com/", "amd.com/gpu", "gpu.intel.com/"],
            "description": "Prefixes of the names of GPU resources.",
        }
    },
)
def requests_equal_limits(subject: Subject, params: Params) -> Iterable[Finding]:
    """GPU requests equal limits.

    **Why.** A GPU cannot be overcommitted. Kubernetes accepts only whole GPUs, and a request only with an equal limit.
    The API server rejects other objects, or their pods, long after the change was merged. A limit alone is valid,
    because it is the default of the request.

    **Example.**

    ```yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: deployment-ray-model-training-worker}
    spec:
      template:
        spec:
          containers:
            - name: ray-model-training-worker
              resources:
                limits: {nvidia.com/gpu: 2}
                requests: {nvidia.com/gpu: 1}
    ```

    ```text
    ray-model-training-worker requests 1 nvidia.com/gpu, its limit is 2
    ```

    **Fix.** Write the same whole number under `limits` and `requests`. To share a GPU between two jobs, use the
    allocation mode `partial`, which requests a whole GPU.
    """
    names = tuple(params["resources"])
    for template in subject.templates:
        for path, container in template.containers:
            resources = mapping(container.get("resources"))
            limits, requests = mapping(resources.get("limits")), mapping(resources.get("requests"))
            for resource in sorted({*limits, *requests}):
                if not resource.startswith(names):
                    continue
                limit, request = limits.get(resource), requests.get(resource)
                wrong = _wrong(request, limit, subject.whole)
                if wrong:
                    which, amount = ("limits", limit) if request is None else ("requests", request)
                    yield subject.finding(
                        f"{container.get('name', 'a container')} requests {amount} {resource}, {wrong}",
                        field=f'{path}.resources.{which}["{resource}"]',
                        remedy=f"write the same whole number of {resource} under limits and requests",
                    )


def _wrong(request: Any, limit: Any, whole: bool) -> str:
    """What is wrong with a request and a limit, None for one that is not there; empty where nothing is."""
    for amount in (request, limit):
        if amount is not None and not _is_whole(amount):
            return "which is not a whole number"
    if request is None or (limit is None and not whole):
        return ""
    if limit is None:
        return "and has no limit"
    return "" if parse(request) == parse(limit) else f"its limit is {limit}"


def _is_whole(amount: Any) -> bool:
    try:
        value: Fraction = parse(amount)
    except ValueError:
        return False
    return value.denominator == 1 and value >= 0
