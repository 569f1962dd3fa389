"""The rights that ``modelyard doctor`` asks about are those of the manifests in ``examples/rbac``."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from modelyard.cluster.rights import READ, USES, missing_rights
from tests.support.mock_cluster import client_of

MANIFESTS = Path(__file__).resolve().parents[3] / "examples" / "rbac"


@pytest.mark.parametrize(("use", "file"), [("read", "read"), ("plan live", "plan"), ("apply", "apply")])
def test_every_right_is_in_the_manifest_of_its_use(use: str, file: str) -> None:
    roles = [
        one for one in yaml.safe_load_all((MANIFESTS / f"{file}.yaml").read_text()) if one["kind"] == "ClusterRole"
    ]
    given = {
        (verb, group, resource, role["metadata"]["name"].endswith("-cluster"), name)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
    assert {tuple(right) for right in USES[use]} <= given


def test_a_right_is_checked_in_its_namespace_or_by_its_name() -> None:
    asked: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(json.loads(request.content)["spec"]["resourceAttributes"])
        return httpx2.Response(200, json={"status": {"allowed": asked[-1]["resource"] == "pods"}})

    missing = missing_rights(client_of(answer), READ, "ml")
    assert [str(one).split() for one in missing] == [
        ["get", "namespaces", "kube-system"],
        ["get", "deployments.apps"],
        ["list", "nodes"],
    ]
    assert [(one["namespace"], one["name"]) for one in asked] == [("", "kube-system"), ("ml", ""), ("", ""), ("", "")]
