"""Owners of fields: takeovers, held replicas, and changes of the mode."""

import json
from datetime import date
from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.kube.state import ObjectKey, Scaler, essence
from modelyard.plan.undo.request import put_back
from modelyard.stack.config import PatchChoice, Waiver

RAY = "deployment-ray-model-training-worker"
CELERY = "deployment-model-training-tasks-gpu"


def findings_of(plan: Any, code: str) -> list[Any]:
    return [finding for finding in plan.findings if finding.code == code]


def managed_by(name: str) -> Any:
    """Makes a manager the owner of each field of an object."""

    def change(body: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(body["metadata"]["managedFields"])
        for entry in body["metadata"]["managedFields"]:
            text = text.replace(json.dumps(entry["manager"]), json.dumps(name))
        return {**body, "metadata": {**body["metadata"], "managedFields": json.loads(text)}}

    return change


@pytest.mark.parametrize(
    ("manager", "code", "blocked", "words"),
    [
        ("helm", "OWN001", False, " from helm"),
        ("some-human", "OWN001", False, " from some-human"),
        ("horizontal-pod-autoscaler", "OWN002", True, "horizontal-pod-autoscaler keeps writing"),
        ("keda-operator", "OWN002", True, "keda-operator keeps writing"),
        ("manager", "OWN002", True, "manager keeps writing"),
        ("raycluster-controller", "OWN002", True, "raycluster-controller keeps writing"),
        ("Platform-Autoscaler", "OWN002", True, "Platform-Autoscaler keeps writing"),
        ("OpenAPI-Generator", "OWN002", False, "OpenAPI-Generator may keep writing"),
        ("python-requests", "OWN002", False, "python-requests may keep writing"),
        ("kubernetes-client-node", "OWN002", False, "kubernetes-client-node may keep writing"),
        ("deployment-manager", "OWN001", False, " from deployment-manager"),
        ("kubectl-edit", "OWN001", False, " from kubectl-edit"),
        ("argocd-controller", "OWN003", False, "argocd-controller owns"),
        ("kapp-controller", "OWN003", False, "kapp-controller owns"),
        ("kustomize-controller", "OWN003", False, "will write it again at its next sync"),
    ],
)
def test_a_takeover_has_a_finding_by_the_kind_of_owner(
    dev: Any, manager: str, code: str, blocked: bool, words: str
) -> None:
    plan = dev.having(managed_by(manager)).plan()
    taken = {(target.name, str(change.path)) for target in plan.targets for change in target.changes if change.taken}
    findings = [finding for finding in plan.findings if finding.code.startswith("OWN")]
    assert {(finding.target, finding.field) for finding in findings} == taken
    assert taken
    assert {finding.code for finding in findings} == {code}
    assert all(words in finding.summary for finding in findings)
    assert plan.blocked is blocked


@pytest.mark.parametrize("manager", ["manager", "our-operator", "OpenAPI-Generator", "keda"])
def test_a_manager_that_the_stack_lists_as_installer_is_an_installer(dev: Any, manager: str) -> None:
    named = dev.asking(platform=dev.stack.config.platform._replace(installers=(manager,)))
    codes = {finding.code for finding in named.having(managed_by(manager)).plan().findings}
    assert "OWN001" in codes
    assert "OWN002" not in codes
    others = named.having(managed_by(f"other-{manager}-controller")).plan()
    assert "OWN002" in {finding.code for finding in others.findings}


def held_by(manager: str, subresource: str) -> Any:
    """Makes a manager the owner of the replicas through a subresource."""
    entry = {"manager": manager, "operation": "Update", "apiVersion": "apps/v1", "subresource": subresource}

    def change(body: dict[str, Any]) -> dict[str, Any]:
        fields = [{**entry, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]
        metadata = {**body["metadata"], "managedFields": fields}
        return {**body, "spec": {**body["spec"], "replicas": 9}, "metadata": metadata}

    return change


@pytest.mark.parametrize(
    ("manager", "subresource", "code"),
    [
        ("our-scaling", "scale", "OWN002"),
        ("our-scaling", "", "OWN001"),
        ("kubectl", "scale", "OWN001"),
        ("argocd-server", "scale", "OWN003"),
    ],
)
def test_a_manager_that_scales_is_a_controller_unless_it_installs(
    dev: Any, manager: str, subresource: str, code: str
) -> None:
    plan = dev.having(held_by(manager, subresource)).plan()
    codes = {one.code for one in plan.findings if one.field == "spec.replicas" and manager in one.summary}
    assert codes == {code}


HPA = "HorizontalPodAutoscaler"
SERVICE = "deployment-model-service"


def with_scaler(site: Any, name: str, kind: str = HPA, version: str = "apps/v1") -> Any:
    scaler = Scaler(kind, "mine", ObjectKey(version, "Deployment", "ml-platform", name))
    return site._replace(state=site.state._replace(scalers=(scaler,)))


@pytest.mark.parametrize("kind", [HPA, "ScaledObject"])
def test_an_autoscaler_that_has_not_written_yet_conflicts_with_replicas(dev: Any, kind: str) -> None:
    for site in (dev, dev.applied()):
        plan = with_scaler(site, SERVICE, kind).plan()
        (finding,) = findings_of(plan, "OWN002")
        assert finding.summary == f"{kind} mine sets spec.replicas of {SERVICE}"
        assert plan.blocked


def test_an_autoscaler_of_other_replicas_does_not_conflict(dev: Any, staging: Any) -> None:
    assert not findings_of(with_scaler(dev, "deployment-api-server").plan(), "OWN002")
    assert not findings_of(with_scaler(dev, SERVICE, version="example.com/v1").plan(), "OWN002")
    assert not findings_of(with_scaler(staging, RAY, "ScaledObject").plan(), "OWN002")


def test_an_applied_plan_has_no_takeovers(dev: Any) -> None:
    assert not [finding for finding in dev.applied().plan().findings if finding.code.startswith("OWN")]


def scaled_by_somebody(name: str) -> Any:
    """Sets the replicas of a Deployment to 2 as an autoscaler, through the scale subresource."""
    entry = {
        "manager": "the-autoscaler",
        "operation": "Update",
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "subresource": "scale",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }

    def change(body: dict[str, Any]) -> dict[str, Any]:
        if body["metadata"]["name"] != name:
            return body
        fields = [*body["metadata"]["managedFields"], entry]
        metadata = {**body["metadata"], "managedFields": fields}
        return {**body, "spec": {**body["spec"], "replicas": 2}, "metadata": metadata}

    return change


def test_replicas_are_held_until_the_autoscaler_has_set_them(sites: Any) -> None:
    # After an apply, only modelyard owns the replicas of the active backend: it changed 2 to 3.
    prod = sites["prod"].applied()
    scaled = prod.asking(autoscaling=prod.stack.config.autoscaling._replace(mode="annotations", max_replicas=3))
    first = scaled.plan()
    target = next(target for target in first.targets if target.name == CELERY)
    assert target.applied.reveal()["spec"]["replicas"] == 3
    assert target.after.reveal()["spec"]["replicas"] == 3
    (note,) = findings_of(first, "AUT002")
    assert note.summary == f"modelyard holds spec.replicas of {CELERY} at 3 until an autoscaler sets it"

    second = scaled.applied().having(scaled_by_somebody(CELERY)).plan()
    target = next(target for target in second.targets if target.name == CELERY)
    assert "replicas" not in target.applied.reveal()["spec"]
    assert target.after.reveal()["spec"]["replicas"] == 2
    assert target.replicas == (2, None)
    assert not findings_of(second, "AUT002")


def test_replicas_of_another_owner_are_left_to_it(staging: Any) -> None:
    for target in staging.plan().targets:
        if target.role in ("rayWorker", "celery"):
            assert "replicas" not in target.applied.reveal()["spec"]
            assert target.after.reveal()["spec"]["replicas"] == target.before.reveal()["spec"]["replicas"]


def test_replicas_without_an_owner_stay(staging: Any) -> None:
    """The API server tracks no owner for the 0 of an autoscaler. A held 0 would stop the step after a pod starts."""
    asleep = staging.having(lambda body: {**body, "spec": {**body["spec"], "replicas": 0}})
    plan = asleep.having(without_managers).plan()
    target = next(target for target in plan.targets if target.name == RAY)
    assert "replicas" not in target.applied.reveal()["spec"]
    assert target.after.reveal()["spec"]["replicas"] == 0
    assert not findings_of(plan, "AUT002")


def without_managers(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "metadata": {**body["metadata"], "managedFields": []}}


def test_managed_mode_creates_missing_objects(dev: Any) -> None:
    nothing = dev._replace(state=dev.state._replace(objects=Confidential({}), pods=()))
    managed = nothing.asking(platform=dev.stack.config.platform._replace(mode="managed"))
    plan = managed.plan()
    made = {(target.key.kind, target.name): target for target in plan.targets}
    # The route belongs to the platform; managed mode does not create it.
    assert [finding.code for finding in plan.findings if finding.blocks] == ["PAT013"]
    assert {target.action for target in plan.targets} == {"create"}
    assert all(target.managed and target.before.reveal() is None for target in plan.targets)
    worker = made["Deployment", RAY].after.reveal()["spec"]
    assert worker["selector"]["matchLabels"].items() <= worker["template"]["metadata"]["labels"].items()
    assert worker["template"]["spec"]["containers"][0]["image"].endswith("ray-model-training-worker:23.10.4")
    assert worker["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert {kind for kind, _ in made} == {"Deployment", "Service", "PodDisruptionBudget"}
    assert len(plan.steps) == len(plan.targets)


def test_managed_mode_does_not_take_existing_objects(dev: Any) -> None:
    plan = dev.asking(platform=dev.stack.config.platform._replace(mode="managed")).plan()
    refused = findings_of(plan, "OWN004")
    assert plan.blocked
    assert {finding.target for finding in refused} >= {RAY, "deployment-ray-head"}
    assert all(finding.target in finding.summary for finding in refused)
    assert RAY not in {target.name for target in plan.targets}


def test_changing_the_mode_of_an_applied_stack_is_an_error(dev: Any) -> None:
    to_managed = dev.applied().asking(platform=dev.stack.config.platform._replace(mode="managed")).plan()
    assert "applied in mode existing" in findings_of(to_managed, "OWN004")[0].summary
    assert to_managed.blocked

    def marked(body: dict[str, Any]) -> dict[str, Any]:
        notes = {**body["metadata"].get("annotations", {}), "modelyard.dev/mode": "managed"}
        return {**body, "metadata": {**body["metadata"], "annotations": notes}}

    to_existing = dev.having(marked).plan()
    assert len(findings_of(to_existing, "OWN004")) == 5
    assert to_existing.targets == ()


def test_a_target_without_patches_is_reported(dev: Any) -> None:
    (finding,) = [
        finding
        for finding in dev.applied().asking(patches=(PatchChoice("ray-head", enabled=False),)).plan().findings
        if finding.code == "OWN006"
    ]
    assert finding.target == "deployment-ray-head"
    assert finding.detail.startswith("it has ray-head@v1; ")


def test_a_target_that_was_never_applied_is_not_restored(dev: Any) -> None:
    plan = dev.asking(patches=(PatchChoice("ray-head", enabled=False),)).plan()
    assert "deployment-ray-head" not in {target.name for target in plan.targets}
    assert not [finding for finding in plan.findings if finding.code == "OWN006"]


def of_project(site: Any, project: str, name: str = "dev") -> Any:
    return site._replace(stack=site.stack._replace(project=project, name=name))


def test_each_object_names_the_stack_that_applied_it(dev: Any) -> None:
    mine = of_project(dev, "platform")
    nothing = mine._replace(state=dev.state._replace(objects=Confidential({}), pods=()))
    managed = nothing.asking(platform=dev.stack.config.platform._replace(mode="managed"))
    for site in (mine, managed):
        plan = site.plan()
        assert plan.targets
        for target in plan.targets:
            assert target.applied.reveal()["metadata"]["annotations"]["modelyard.dev/stack"] == "platform/dev"
    assert findings_of(mine.applied().plan(), "OWN015") == []
    # Objects that were applied before this annotation existed.
    unsaid = dev.applied().having(lambda body: with_note(body, None))
    assert findings_of(of_project(unsaid, "platform").plan(), "OWN015") == []


def with_note(body: dict[str, Any], stack: str | None) -> dict[str, Any]:
    notes = {**body["metadata"].get("annotations", {}), "modelyard.dev/stack": stack}
    return {**body, "metadata": {**body["metadata"], "annotations": {k: v for k, v in notes.items() if v is not None}}}


@pytest.mark.parametrize(("project", "name"), [("platform", "other"), ("other", "dev")])
def test_objects_of_another_stack_are_an_error(dev: Any, project: str, name: str) -> None:
    theirs = of_project(dev, project, name).applied()
    plan = of_project(theirs, "platform").plan()
    refused = findings_of(plan, "OWN015")
    assert {finding.target for finding in refused} == {target.name for target in plan.targets}
    assert {refused[0].target, f"{project}/{name}"} <= set(refused[0].summary.split())
    assert plan.blocked


def test_a_copy_of_an_object_of_another_stack_is_not_an_error(dev: Any) -> None:
    copied = dev.having(lambda body: with_note(body, "platform/other"))
    assert findings_of(of_project(copied, "platform").plan(), "OWN015") == []


def test_a_waiver_lets_a_stack_take_over_objects_of_another(dev: Any) -> None:
    first = of_project(dev, "platform", "old").applied()
    waiver = Waiver("OWN015", "the stack was renamed", date(2026, 12, 24), by="somebody")
    renamed = of_project(first, "platform").asking(waivers=(waiver,))
    plan = renamed.plan()
    assert not plan.blocked
    after = renamed.applied()
    assert findings_of(after.plan(), "OWN015") == []
    schema = merge.MergeSchema.kubernetes("1.35").of("apps/v1", "Deployment")
    for target in plan.targets:
        back, _ = put_back(after.state.objects.reveal()[target.key], schema)
        assert essence(back) == essence(dev.state.objects.reveal()[target.key])
