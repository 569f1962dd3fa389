"""Accounts with the rights of ``examples/rbac``, all or some of them."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from lab import Lab
from tests.lab.support.environment import NAMESPACE, ROOT

FOLDER = ROOT / "examples" / "rbac"
_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


class Right(NamedTuple):
    """One verb on one resource, in a role of a manifest."""

    use: str
    role: str
    rule: int
    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        """``plan: patch deployments.apps``."""
        return f"{self.use}: {self.verb} {self.resource}{'.' + self.group if self.group else ''}"


def documents(use: str) -> list[dict[str, Any]]:
    """The objects of a manifest."""
    return list(yaml.safe_load_all((FOLDER / f"{use}.yaml").read_text(encoding="utf-8")))


def rights(use: str) -> list[Right]:
    """Every right that a manifest gives."""
    return [
        Right(use, role["metadata"]["name"], number, group, resource, verb)
        for role in documents(use)
        if role["kind"] == "ClusterRole"
        for number, rule in enumerate(role["rules"])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def role_of(right: Right) -> dict[str, Any]:
    """The complete role that contains a right."""
    roles = [one for one in documents(right.use) if one["kind"] == "ClusterRole"]
    return next(one for one in roles if one["metadata"]["name"] == right.role)


def without(*taken: Right) -> dict[str, Any]:
    """The role that contains these rights, without them."""
    role = role_of(taken[0])
    assert {right.role for right in taken} == {role["metadata"]["name"]}
    return {**role, "rules": [part for number, rule in enumerate(role["rules"]) for part in _rest(taken, number, rule)]}


def _rest(taken: Iterable[Right], number: int, rule: dict[str, Any]) -> Iterator[dict[str, Any]]:
    gone = {(right.resource, right.verb) for right in taken if right.rule == number}
    if not gone:
        yield rule
        return
    for resource in rule["resources"]:
        verbs = [verb for verb in rule["verbs"] if (resource, verb) not in gone]
        if verbs:
            yield {**rule, "resources": [resource], "verbs": verbs}


class Account:
    """The account of one manifest in a lab, and its kubeconfig."""

    def __init__(self, lab: Lab, use: str, folder: Path) -> None:
        self.lab, self.use = lab, use
        self._log = lab.folder / "logs" / "audit.log"
        self.user = f"system:serviceaccount:{NAMESPACE}:modelyard-{use}"
        lab.kubectl("apply", f"--filename={FOLDER / use}.yaml")
        token = lab.request(
            "POST",
            f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/modelyard-{use}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}},
        ).body["status"]["token"]
        config = json.loads(lab.kubeconfig.read_text(encoding="utf-8"))
        config["users"][0]["user"] = {"token": token}
        self.kubeconfig = folder / f"kubeconfig-{use}"
        self.kubeconfig.write_text(json.dumps(config), encoding="utf-8")
        for right in rights(use):
            self._await(right, allowed=True)

    def used(self) -> set[tuple[str, str, str]]:
        """Group, resource and verb of each request that was allowed so far."""
        return {what for answer, what in self.asked() if answer == "allow"}

    def asked(self, since: int = 0) -> Counter[tuple[str, tuple[str, str, str]]]:
        """Counts the account's requests by decision (``allow`` or ``forbid``) and by group, resource and verb.

        ``since`` is an earlier result of ``now``; earlier requests are not counted.
        """
        found: Counter[tuple[str, tuple[str, str, str]]] = Counter()
        with self._log.open(encoding="utf-8") as log:
            log.seek(since)
            for line in log:
                event = json.loads(line)
                of, answer = event.get("objectRef", {}), event["annotations"].get("authorization.k8s.io/decision")
                if event["user"]["username"] == self.user and "resource" in of:
                    resource = "/".join(filter(None, (of["resource"], of.get("subresource"))))
                    found[answer, (of.get("apiGroup", ""), resource, event["verb"])] += 1
        return found

    def now(self) -> int:
        """The current end of the request log."""
        return self._log.stat().st_size

    @contextmanager
    def without(self, *taken: Right) -> Iterator[None]:
        """Removes rights of one role until the context ends; waits until the API server applies each change."""
        self._put(without(*taken))
        for right in taken:
            self._await(right, allowed=False)
        try:
            yield
        finally:
            self._put(role_of(taken[0]))
            for right in taken:
                self._await(right, allowed=True)

    def _put(self, role: dict[str, Any]) -> None:
        answer = self.lab.request("PUT", f"{_ROLES}/{role['metadata']['name']}", role)
        assert answer.status == 200, answer

    def _await(self, right: Right, *, allowed: bool) -> None:
        resource, _, subresource = right.resource.partition("/")
        where = {"namespace": "" if right.role.endswith("-cluster") else NAMESPACE}
        attributes = {"group": right.group, "resource": resource, "subresource": subresource, "verb": right.verb}
        if right.resource == "namespaces":
            attributes["name"] = "kube-system"
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": self.user, "resourceAttributes": {**attributes, **where}},
        }

        def settled() -> bool:
            answer = self.lab.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
            return bool(answer.body["status"]["allowed"] is allowed)

        self.lab.wait(str(right), settled)
