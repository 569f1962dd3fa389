"""The policy pack without Pulumi: the violations of each resource."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest

from modelyard.policy.pack import SeenResource
from tests.support.policy_project import Project
from tests.support.policy_resources import Run, resource, root

HEAD = "deployment-ray-head"
DEPLOYMENT, PATCH = "kubernetes:apps/v1:Deployment", "kubernetes:apps/v1:DeploymentPatch"


SIZED = {"resources": {"limits": {"cpu": "2", "memory": "16Gi"}}}


def head(
    kind: str = PATCH, *, namespace: str = "ml-platform", uid: str = "", labels: Any = None, **spec: Any
) -> SeenResource:
    metadata: dict[str, Any] = {"name": HEAD, "namespace": namespace}
    if uid:
        metadata["uid"] = uid
        spec = {"replicas": 1, "template": {"spec": {"containers": [{"name": "ray-head", **SIZED}]}}, **spec}
    if labels is not None:
        metadata["labels"] = labels
    return resource(kind, HEAD, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})


@pytest.fixture
def own(project: Project) -> Project:
    """The project with the policies that come with modelyard, and namespaces that its stacks are not in."""
    project.own()
    project.write("policy.yaml", "rules: {POL112: {params: {allow: [other]}}}\n")
    return project


def test_every_code_is_a_policy_and_no_name_stands_twice(own: Project) -> None:
    names = [listed.name for listed in Run(own).pack.policies()]
    assert len(names) == len(set(names))
    assert {"GPU001", "RES001", "RAY001", "CEL001", "POL101", "POL114", "CFG019", "errors", "live-errors"} <= set(names)


def test_the_level_of_a_policy_is_the_projects(own: Project) -> None:
    own.write("policy.yaml", "rules: {POL101: {level: advisory}, POL103: {level: disabled}}\n")
    levels = Run(own).levels
    assert (levels["POL101"], levels["POL103"], levels["POL112"], levels["GPU008"]) == (
        "advisory",
        "disabled",
        "mandatory",
        "advisory",
    )


def test_text_of_a_violation(own: Project, golden: Any) -> None:
    found = Run(own)(root(), head())
    assert found.keys() == {"POL112"}
    golden(*found["POL112"], "")


def test_mistakes_in_the_stack_file_are_reported_once_at_the_stack(own: Project) -> None:
    own.edit("model: A10", "model: T4")
    found = Run(own)(root(), head(namespace="other"), head(namespace="other"))
    assert list(found) == ["GPU001"]
    (said,) = found["GPU001"]
    assert said.startswith("T4 ")
    assert said.endswith("stacks/Pulumi.dev.yaml:11:5")


def test_an_object_is_judged_by_the_rules_of_the_plan(own: Project) -> None:
    found = Run(own)(root(), head(replicas=2))
    assert found.pop("POL112")
    assert list(found) == ["RAY001"]
    first, why, *_ = found["RAY001"][0].splitlines()
    assert first.startswith("rayHead.replicas is 2")
    assert HEAD in why


def test_a_warning_of_a_mandatory_policy_is_under_warnings(own: Project) -> None:
    own.add("modelyard:policy: {rules: {POL112: {level: advisory}}}")
    found = Run(own)(root(), head())
    assert list(found) == ["warnings"]
    assert found["warnings"][0].startswith(f"POL112 {HEAD} ")


def test_an_error_of_an_advisory_policy_is_under_errors(own: Project) -> None:
    own.write("policy.yaml", "rules: {POL112: {level: advisory, params: {allow: [other]}}}\n")
    own.add("modelyard:policy: {rules: {POL112: {level: mandatory}}}")
    assert list(Run(own)(root(), head())) == ["errors"]


def test_a_warning_of_the_plan_that_is_mandatory_for_a_stack(own: Project) -> None:
    own.edit('release: "23.10"', 'release: "23.04"')
    assert list(Run(own)(root())) == ["RAY006"]
    own.add("modelyard:policy: {rules: {RAY006: {level: mandatory}}}")
    assert list(Run(own)(root())) == ["errors"]


def test_a_rule_that_a_stack_disables_is_silent(own: Project) -> None:
    own.add("modelyard:policy: {rules: {POL112: {level: disabled}}}")
    assert Run(own)(root(), head()) == {}


def test_a_rule_that_only_a_stack_enables(own: Project) -> None:
    own.write("policy.yaml", "rules: {POL112: {level: disabled, params: {allow: [other]}}}\n")
    assert Run(own)(root(), head()) == {}
    own.add("modelyard:policy: {rules: {POL112: {level: mandatory}}}")
    assert list(Run(own)(root(), head())) == ["errors"]


def test_pulumis_own_configuration_sets_parameters(own: Project) -> None:
    assert Run(own, {"POL112": {"allow": ["ml-*"]}})(root(), head()) == {}
    own.write("policy.yaml", "rules: {}\n")
    assert list(Run(own, {"POL112": {"allow": ["x"]}})(root(), head())) == ["POL112"]


def test_a_policy_that_pulumi_disables_is_not_reported_by_another(own: Project) -> None:
    own.add("modelyard:policy: {rules: {POL112: {level: advisory}}}")
    assert Run(own, {"POL112": {"enforcementLevel": "disabled"}})(root(), head(), live=(head(uid="1"),)) == {}


def test_waivers_hold(own: Project) -> None:
    own.add(f"modelyard:waivers: [{{code: POL112, reason: moving, expires: 2026-12-01, target: {HEAD}}}]")
    assert Run(own)(root(), head()) == {}
    expired = Run(own, today=date(2026, 12, 2))(root(), head())
    assert set(expired) == {"POL112", "CFG019"}
    assert re.search("POL112 .*2026-12-01", expired["CFG019"][0])


def test_waivers_hold_for_the_planners_rules(own: Project) -> None:
    own.edit("model: A10", "model: T4")
    own.add("modelyard:waivers: [{code: GPU001, reason: on order, expires: 2026-12-01}]")
    assert Run(own)(root()) == {}


def test_a_stack_file_with_mistakes_is_reported_and_the_rules_still_hold(own: Project) -> None:
    own.edit("replicas: 2", "replicas: two")
    found = Run(own)(root(), head())
    assert set(found) == {"configuration", "POL112"}
    assert found["configuration"][0].startswith("CFG010 modelService.replicas")


def test_policies_that_cannot_be_loaded_are_reported(own: Project) -> None:
    own.write("rules/mine.py", "def mine(:\n")
    found = Run(own)(root())
    assert list(found) == ["configuration"]
    assert "policies/rules/mine.py:1" in found["configuration"][0]


def test_a_stack_without_a_file_keeps_the_projects_rules(own: Project) -> None:
    one = head()._replace(urn=f"urn:pulumi:other::modelyard::{PATCH}::{HEAD}")
    assert list(Run(own)(root("other"), one)) == ["POL112"]


def test_a_stack_of_another_project_is_left_alone(own: Project) -> None:
    own.edit("model: A10", "model: T4")
    assert Run(own)(root(project="another")) == {}


def test_a_violation_that_only_the_whole_object_shows(own: Project) -> None:
    own.write("policy.yaml", "rules: {POL113: {params: {labels: {team: .+}}}}\n")
    assert Run(own)(root(), head()) == {}
    found = Run(own)(root(), head(), live=(root(), head(uid="1", labels={})))
    assert list(found) == ["live-errors"]
    (said,) = found["live-errors"]
    assert said.startswith(f"POL113 {HEAD} ")
    assert said.splitlines()[0].endswith(" label team")


def test_a_violation_in_the_sent_fields_is_not_repeated(own: Project) -> None:
    found = Run(own)(root(), head(), live=(root(), head(uid="1", labels={"a": "b"})))
    assert [name for name, said in found.items() if any("POL112" in one or "namespace" in one for one in said)] == [
        "POL112"
    ]


def test_an_object_that_the_stack_owns_is_whole_from_the_start(own: Project) -> None:
    own.write("policy.yaml", "rules: {POL113: {params: {labels: {team: .+}}}}\n")
    found = Run(own)(root(), head(DEPLOYMENT, labels={}, replicas=1))
    (said,) = found["POL113"]
    assert said.startswith(f"{HEAD} has no label team\n→ ")


def test_an_unknown_value_is_not_missing(own: Project) -> None:
    own.write("policy.yaml", "rules: {POL113: {params: {labels: {team: .+}}}}\n")
    assert "POL113" not in Run(own)(root(), head(DEPLOYMENT, labels={})._replace(complete=False))


def test_objects_added_to_the_program_are_judged(own: Project) -> None:
    scaler = resource(
        "kubernetes:keda.sh/v1alpha1:ScaledObject",
        "mine",
        {
            "apiVersion": "keda.sh/v1alpha1",
            "kind": "ScaledObject",
            "metadata": {"name": "mine", "namespace": "other"},
            "spec": {"scaleTargetRef": {"name": "it"}, "maxReplicaCount": 0},
        },
    )
    assert list(Run(own)(root(), scaler)) == ["POL106"]


def test_rules_over_all_objects_run_at_the_end(own: Project) -> None:
    own.write("policy.yaml", "rules: {}\n")
    scaler = resource(
        "kubernetes:autoscaling/v2:HorizontalPodAutoscaler",
        "mine",
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "mine", "namespace": "ml-platform"},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "other"}, "maxReplicas": 2},
        },
    )
    name = "deployment-other"
    other = resource(
        PATCH,
        name,
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "other", "namespace": "ml-platform"}},
    )
    assert Run(own)(root(), scaler, other) == {}
    counted = other._replace(props={**other.props, "spec": {"replicas": 2}})
    pack = Run(own)
    assert list(pack(root(), scaler, counted)) == ["POL109"]
    assert [urn for _, urn in pack.pack.of_stack("POL109", (scaler, counted))] == [counted.urn]


@pytest.mark.parametrize(
    ("kind", "props"),
    [
        ("pulumi:providers:kubernetes", {"context": "dev"}),
        ("modelyard:index:Platform", {}),
        ("kubernetes:helm.sh/v3:Release", {"chart": "x"}),
        ("kubernetes:yaml/v2:ConfigFile", {"file": "x"}),
        ("aws:s3/bucket:Bucket", {"metadata": {"namespace": "x"}}),
        ("kubernetes:core/v1:ConfigMapList", {}),
    ],
)
def test_a_resource_that_is_not_an_object_is_left_alone(own: Project, kind: str, props: Mapping[str, Any]) -> None:
    assert Run(own)(root(), resource(kind, "it", props)) == {}


def test_an_object_without_a_name_has_that_of_its_resource(own: Project) -> None:
    own.write("policy.yaml", "rules: {POL112: {params: {allow: [other]}}}\n")
    bare = resource("kubernetes:apps/v1:Deployment", "mine", {"spec": {"template": {"spec": {"containers": []}}}})
    (said,) = Run(own)(root(), bare)["POL112"]
    assert re.match(r"mine .* namespace default\b", said)


def test_a_failing_rule_is_reported_under_its_code(own: Project) -> None:
    own.rule("raise KeyError('x')")
    found = Run(own)(root(), head(namespace="other"))
    assert found["POL901"][0].startswith(f"POL005 rule POL901 failed on {HEAD}: KeyError: 'x'")


def test_hostile_text_is_escaped(own: Project) -> None:
    found = Run(own)(root(), head(namespace="a\x1b[31m\nb"))
    assert "\x1b" not in found["POL112"][0]
    assert "a\\u{1b}[31m\\nb" in found["POL112"][0]
