"""Objects of a stack's remote clusters are judged like the platform's, each cluster by itself."""

import re
from typing import Any

import pytest

from modelyard.findings import Finding
from modelyard.policy.pack import SeenResource
from tests.support.policy_project import Project
from tests.support.policy_resources import Run, resource, root
from tests.support.project_copies import SERVICE, SERVING, serving

CLUSTER = '{controller: "https://10.8.0.5:6443", context: farm}'
FAR = f"modelyard:resources: [{{name: far, type: runtime, remote: {{cluster: {CLUSTER}}}}}]"
ONLY_PLATFORM = "rules: {POL112: {params: {allow: [ml-platform]}}}\n"
UNEVEN = SERVICE.replace("limits: {nvidia.com/gpu: 1}", "limits: {nvidia.com/gpu: 2}")


@pytest.fixture
def far(project: Project) -> Project:
    """With a remote cluster, and the policies that come with modelyard."""
    project.own()
    project.add(FAR)
    return project


def of(project: Project, code: str) -> list[Finding]:
    return [finding for finding in project.check() if finding.code == code]


def line_of(project: Project, finding: Finding) -> str:
    return (project.root / finding.file).read_text().splitlines()[finding.line - 1]


def test_a_mandatory_rule_stops_the_plan_under_the_clusters_name(far: Project) -> None:
    far.write("policy.yaml", ONLY_PLATFORM)
    (found,) = of(far, "POL112")
    assert (found.target, found.stack, found.blocks) == ("far/remote-job", "dev", True)
    assert re.match(r"on far: remote-job .* modelyard-remote\b", found.summary)
    assert "remote.cluster.namespace" in found.remedy
    assert "controller" in line_of(far, found)


def test_a_finding_about_a_patch_of_a_remote_cluster_has_its_line(far: Project) -> None:
    serving(far.root, UNEVEN)
    (found,) = of(far, "POL103")
    assert (found.target, found.file) == ("far/serve", f"{SERVING}/base.yaml.j2")
    assert line_of(far, found).strip() == "requests: {nvidia.com/gpu: 1}"


def test_a_waiver_names_the_object_as_the_finding_does(far: Project) -> None:
    serving(far.root, UNEVEN)
    waiver = "modelyard:waivers: [{code: POL103, target: %s, reason: moving, expires: 2026-12-01, by: Ada}]"
    far.add(waiver % "far/serve")
    assert [finding.waived for finding in of(far, "POL103")] == ["moving (Ada)"]
    assert of(far, "CFG022") == []
    far.edit("target: far/serve", "target: serve")
    assert [finding.blocks for finding in of(far, "POL103")] == [True]
    (unused,) = of(far, "CFG022")
    assert re.search(r"POL103 for serve\b", unused.summary)


def test_a_rule_sees_the_cluster_and_no_workload_of_the_platform(far: Project) -> None:
    serving(far.root, UNEVEN.replace("name: serve,", "name: deployment-ray-head,"))
    far.rule(
        'yield subject.finding(f\'{subject.cluster}|{subject.role}|{subject.facts.get("remote", {}).get("name")}\')',
        more=", kinds='Deployment'",
    )
    heads = {one.target: one.summary for one in of(far, "POL901") if one.target.endswith("deployment-ray-head")}
    assert heads == {"deployment-ray-head": "|rayHead|None", "far/deployment-ray-head": "on far: far||far"}


def test_a_rule_about_all_objects_sees_those_of_one_cluster(far: Project) -> None:
    far.write(
        "rules/all.py",
        "from modelyard.policy import Finding, rule_of_all\n\n\n"
        '@rule_of_all("POL902")\ndef every(subjects, params):\n'
        '    """Every.\n\n    **Why.** x\n\n    **Example.** x\n\n    **Fix.** x\n    """\n'
        "    yield subjects[0].finding(', '.join(sorted({one.cluster for one in subjects})) or 'own')\n",
    )
    assert sorted(finding.summary for finding in of(far, "POL902")) == ["on far: far", "own"]


def test_objects_of_a_broken_patch_are_not_judged(far: Project) -> None:
    far.write("policy.yaml", ONLY_PLATFORM)
    serving(far.root, UNEVEN)
    base = far.root / SERVING / "base.yaml.j2"
    base.write_text(base.read_text().replace("{{ namespace }}", "{{ nothing }}"))
    found = far.check()
    assert any(finding.code.startswith("PAT") and finding.blocks for finding in found)
    assert not any(finding.code.startswith("POL") for finding in found)


FAR_URN = "modelyard:index:Platform$modelyard:index:RemoteCluster$%s"
NAMED = {"metadata": {"name": "serve", "namespace": "modelyard-remote"}}
HEAD = {"metadata": {"name": "deployment-ray-head", "namespace": "ml-platform"}, "spec": {"replicas": 3}}


def there(name: str, body: dict[str, Any], kind: str = "kubernetes:apps/v1:Deployment") -> SeenResource:
    """A resource of the remote cluster far, as the program declares it."""
    made = resource(kind, f"far/{name}", body)
    return made._replace(urn=made.urn.replace(f"::{kind}::", f"::{FAR_URN % kind}::"))


def test_a_patch_may_ask_for_all_that_is_known_of_its_cluster(far: Project) -> None:
    serving(far.root, UNEVEN)
    meta = far.root / SERVING / "meta.yaml"
    meta.write_text(meta.read_text().replace("remote.namespace}", "remote.namespace, all: remote}"))
    base = meta.with_name("base.yaml.j2")
    base.write_text(base.read_text().replace("registry.example/serve:1", "registry.example/{{ all.name }}:1"))
    (found,) = of(far, "POL101")
    assert "registry.example/far:1" in found.summary


def test_resources_of_the_engine_in_a_remote_cluster_are_judged(far: Project) -> None:
    far.write("policy.yaml", ONLY_PLATFORM)
    (said,) = Run(far)(root(), there("serve", NAMED))["POL112"]
    assert re.match(r"on far: serve .* modelyard-remote\b", said)
    far.add("modelyard:waivers: [{code: POL112, target: far/serve, reason: x, expires: 2026-12-01, by: Ada}]")
    assert Run(far)(root(), there("serve", NAMED)) == {}


def test_objects_of_a_remote_cluster_have_no_role_of_the_platform(far: Project) -> None:
    head = resource("kubernetes:apps/v1:DeploymentPatch", "deployment-ray-head", HEAD)
    assert "RAY001" in Run(far)(root(), head)
    assert Run(far)(root(), there("deployment-ray-head", HEAD)) == {}


def test_the_engines_resources_are_compared_within_one_cluster(far: Project) -> None:
    served = {"metadata": {"name": "serve", "namespace": "a"}, "spec": {"replicas": 1}}
    scaler = {
        "metadata": {"name": "serve", "namespace": "a"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "serve"}, "maxReplicas": 4},
    }
    kinds = ("kubernetes:apps/v1:Deployment", "kubernetes:autoscaling/v2:HorizontalPodAutoscaler")
    own, far_scaler = resource(kinds[0], "serve", served), there("serve", scaler, kinds[1])
    assert "POL109" not in Run(far)(root(), own, far_scaler)
    (said,) = Run(far)(root(), there("serve", served), far_scaler)["POL109"]
    assert re.match(r"on far: .*HorizontalPodAutoscaler serve .* spec\.replicas of serve", said)
