"""The rights that ``modelyard doctor`` asks about are those of the manifests in ``examples/rbac``."""

from pathlib import Path

import pytest
import yaml

from modelyard.cluster.rights import USES

MANIFESTS = Path(__file__).resolve().parents[3] / "examples" / "rbac"


@pytest.mark.parametrize(("use", "file"), [("read", "read"), ("plan live", "plan"), ("apply", "apply")])
def test_every_right_is_in_the_manifest_of_its_use(use: str, file: str) -> None:
    roles = [
        one for one in yaml.safe_load_all((MANIFESTS / f"{file}.yaml").read_text()) if one["kind"] == "ClusterRole"
    ]
    given = {
        (verb, group, resource, role["metadata"]["name"].endswith("-cluster"))
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert {tuple(right) for right in USES[use]} <= given
