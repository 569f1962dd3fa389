"""What an organization asks of every object. These rules run where their parameters are set."""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from modelyard.policy import Finding, Params, Subject, fullmatch, mapping, rule

_OF_A_TEAM = "for an object of a team, set the team's namespace in teams instead"


@rule(
    "POL112",
    params={
        "allow": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "description": "Namespaces, with `*` for any text: `ml-*`.",
        }
    },
    needs=("allow",),
)
def in_allowed_namespaces(subject: Subject, params: Params) -> Iterable[Finding]:
    """Objects are in an allowed namespace.

    **Why.** Quotas, network policies, access rights and cost reports apply per namespace. An object in another team's
    namespace, or in `default`, escapes them. The rule runs only if `allow` is set.

    **Example.**

    ```yaml
    modelyard:policy: {rules: {POL112: {params: {allow: [ml-*]}}}}
    ```

    ```yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: deployment-ray-head, namespace: default}
    ```

    ```text
    deployment-ray-head is in namespace default, which is not allowed
    ```

    **Fix.** For an object of a team, set the team's `namespace` in `modelyard:teams` (its default is the team's name);
    for a remote cluster, `namespace` of the resource's `remote.cluster`; for other objects,
    `modelyard:platform: {namespace: …}`. In mode `existing`, the platform's installer chooses its namespace: install it
    in an allowed one first. Or add the namespace to `allow` where it is set: a stack's `modelyard:policy` replaces
    `allow` of `policies/policy.yaml`.
    """
    namespace = subject.namespace or ("default" if subject.templates else "")
    if namespace and not any(fnmatchcase(namespace, pattern) for pattern in params["allow"]):
        change = f"set platform.namespace to an allowed namespace; {_OF_A_TEAM}"
        if subject.cluster:
            change = "set remote.cluster.namespace to an allowed one"
        elif mapping(subject.facts.get("platform")).get("mode") == "existing":
            change = f"install the platform in an allowed namespace and set platform.namespace to it; {_OF_A_TEAM}"
        yield subject.finding(
            f"{subject.name} is in namespace {namespace}, which is not allowed",
            field="metadata.namespace",
            detail=f"allowed: {', '.join(params['allow'])}",
            remedy=f"{change}; or add {namespace} to the rule's allow",
        )


@rule(
    "POL113",
    whole=True,
    params={
        "labels": {
            "type": "object",
            "additionalProperties": {"type": "string", "format": "regex"},
            "description": "Required labels, each with a regular expression for its whole value.",
        },
        "kinds": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "default": [
                "Deployment",
                "StatefulSet",
                "DaemonSet",
                "Job",
                "CronJob",
                "RayCluster",
                "RayJob",
                "RayService",
            ],
            "description": "Kinds of objects that must have the labels.",
        },
        "pods": {
            "type": "boolean",
            "default": False,
            "description": "Whether pod templates must have the labels too, for cost reports by pod.",
        },
    },
    needs=("labels",),
)
def has_the_labels(subject: Subject, params: Params) -> Iterable[Finding]:
    """Objects have the organization's labels.

    **Why.** Labels show who owns an object, which budget pays for it, and whom to call in an outage. The rule runs only
    if `labels` is set.

    **Example.**

    ```yaml
    modelyard:policy: {rules: {POL113: {params: {labels: {team: "ml-[a-z]+"}}}}}
    ```

    ```yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: deployment-ray-head, labels: {app: ray-head}}
    ```

    ```text
    deployment-ray-head has no label team
    ```

    **Fix.** Set the label (`metadata.labels`) in your own patch, or in the configuration of the platform's installer.
    If its value does not match, correct the value or the pattern.
    """
    if subject.kind not in params["kinds"]:
        return
    yield from _labels(subject, "", mapping(subject.object.get("metadata")), params["labels"])
    if params["pods"]:
        for template in subject.templates:
            yield from _labels(subject, template.path, template.metadata, params["labels"])


def _labels(subject: Subject, path: str, metadata: Mapping[str, Any], wanted: Mapping[str, str]) -> Iterator[Finding]:
    labels = mapping(metadata.get("labels"))
    whose = f"the pod template of {subject.name}" if path else subject.name
    for name, pattern in wanted.items():
        value = labels.get(name)
        field = f'{path}.metadata.labels["{name}"]'.removeprefix(".")
        if value is None:
            remedy = f"set {name} in your own patch"
            yield subject.finding(f"{whose} has no label {name}", field=field, remedy=remedy)
        elif not fullmatch(pattern, str(value)):
            yield subject.finding(
                f"label {name} of {whose} is {value}",
                field=field,
                detail=f"it must match {pattern} as a whole",
                remedy="correct the value, or the rule's labels",
            )
