"""Validating admission policies for Deployments."""

import json

from tests.lab.support.environment import Environment, Object

DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"]}


def apply(env: Environment, *objects: Object) -> None:
    """Sends objects to the lab by kubectl."""
    env.lab.kubectl("apply", "--filename", "-", stdin="\n---\n".join(map(json.dumps, objects)))


def policy(expression: str, message: str, *operations: str) -> tuple[Object, Object]:
    """A validating policy for Deployments, with its binding."""
    what = {**DEPLOYMENTS, "operations": operations} if operations else DEPLOYMENTS
    rules = {"resourceRules": [{**what, "resources": ["deployments"]}]}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "lab"}}
    checks = [{"expression": expression, "message": message}]
    return (
        {**head, "kind": "ValidatingAdmissionPolicy", "spec": {"matchConstraints": rules, "validations": checks}},
        {
            **head,
            "kind": "ValidatingAdmissionPolicyBinding",
            "spec": {"policyName": "lab", "validationActions": ["Deny"]},
        },
    )
