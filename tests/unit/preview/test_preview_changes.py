"""The changes that a preview finds between two commits."""

import json
from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.preview import grouped
from modelyard.preview.git import RevisionError

RAY = "deployment-ray-model-training-worker"
SERVICE = "deployment-model-service"
MEMORY = "spec.template.spec.containers[name=ray-model-training-worker].resources.limits.memory"


def by_name(preview: Any) -> dict[str, Any]:
    return {stack.stack: stack for stack in preview.stacks}


def fields(target: Any) -> dict[str, tuple[Any, Any, str | None]]:
    return {str(field.path): (field.before, field.after, field.patch) for field in target.fields}


def test_no_change_is_no_stack(repository: Any) -> None:
    found = repository.preview()
    assert found.stacks == ()
    assert found.unchanged == ("dev", "prod", "staging")


def test_a_changed_size_is_the_field_and_nothing_else(repository: Any) -> None:
    repository.edit("stacks/Pulumi.dev.yaml", "cpu: 8\n    memory: 32Gi", "cpu: 8\n    memory: 48Gi")
    found = repository.preview()
    (stack,) = found.stacks
    assert (stack.stack, stack.status, found.unchanged) == ("dev", "changed", ("prod", "staging"))
    (target,) = stack.targets
    assert (target.name, target.status, target.replaces_pods) == (RAY, "changed", 1)
    assert fields(target)[MEMORY] == ("32Gi", "48Gi", "ray-worker@v1")
    assert {path.rpartition(".")[2] for path in fields(target)} == {"memory"}
    assert not stack.new
    assert not stack.fixed


def test_comments_and_layout_are_no_change(repository: Any) -> None:
    repository.edit("stacks/Pulumi.dev.yaml", "config:\n", "# a remark\nconfig:\n")
    assert repository.preview().stacks == ()


def test_the_head_is_the_working_tree_or_a_commit(repository: Any) -> None:
    repository.edit("stacks/Pulumi.dev.yaml", "memory: 32Gi", "memory: 40Gi")
    repository.commit()
    repository.edit("stacks/Pulumi.staging.yaml", "memory: 24Gi", "memory: 32Gi")
    assert [stack.stack for stack in repository.preview().stacks] == ["dev", "staging"]
    assert [stack.stack for stack in repository.preview("HEAD").stacks] == ["dev"]


def test_later_commits_of_the_base_are_not_changes_of_the_head(repository: Any) -> None:
    repository.edit("stacks/Pulumi.dev.yaml", "memory: 32Gi", "memory: 40Gi")
    repository.commit()
    repository.git("checkout", "--quiet", "main")
    repository.edit("stacks/Pulumi.prod.yaml", "memory: 32Gi", "memory: 40Gi")
    repository.commit()
    assert [stack.stack for stack in repository.preview("feature").stacks] == ["dev"]


def test_the_working_tree_is_left_alone(repository: Any) -> None:
    repository.edit("stacks/Pulumi.dev.yaml", "memory: 32Gi", "memory: 40Gi")
    before = {
        path: path.read_bytes() for path in repository.root.rglob("*") if path.is_file() and ".git" not in path.parts
    }
    status = repository.git("status", "--short")
    repository.preview()
    after = {
        path: path.read_bytes() for path in repository.root.rglob("*") if path.is_file() and ".git" not in path.parts
    }
    assert after == before
    assert repository.git("status", "--short") == status


def test_a_new_version_of_a_patch_reaches_every_stack_that_follows_it(repository: Any) -> None:
    repository.next_patch("model-service", "schema.json", "/var/lib/models", "/models")
    found = by_name(repository.preview())
    # prod pins v1.
    assert sorted(found) == ["dev", "staging"]
    (target,) = found["dev"].targets
    assert [tuple(version) for version in target.versions] == [("model-service", "v1", "v3")]
    assert target.replaces_pods == 2


def test_a_new_version_with_an_equal_result_is_shown_as_the_same_object(repository: Any) -> None:
    repository.next_patch("model-service", "meta.yaml", "description: Size", "description: The size")
    (target,) = by_name(repository.preview())["dev"].targets
    assert (target.status, target.fields, target.replaces_pods) == ("same", (), 0)


def test_a_field_that_the_head_drops_returns_to_its_first_owner(repository: Any) -> None:
    repository.edit(
        "stacks/Pulumi.dev.yaml",
        "  modelyard:autoscaling:",
        "  modelyard:patches: [{name: ray-worker, enabled: false}]\n  modelyard:autoscaling:",
    )
    (target,) = by_name(repository.preview())["dev"].targets
    assert target.name == RAY
    # What the platform had there before the base's apply took the field over.
    assert fields(target)[MEMORY] == ("32Gi", "12Gi", None)
    (field,) = [field for field in target.fields if str(field.path) == MEMORY]
    assert [owner.manager for owner in field.back or ()] == ["kubectl-client-side-apply"]


def test_a_target_that_is_no_longer_patched(repository: Any) -> None:
    repository.edit(
        "stacks/Pulumi.dev.yaml",
        "  modelyard:autoscaling:",
        "  modelyard:patches: [{name: model-service, enabled: false}]\n  modelyard:autoscaling:",
    )
    (target,) = by_name(repository.preview())["dev"].targets
    assert (target.name, target.status) == (SERVICE, "removed")
    assert fields(target)["spec.replicas"] == (2, 1, None)


def test_stacks_come_and_go(repository: Any) -> None:
    repository.git("mv", "stacks/Pulumi.prod.yaml", "stacks/Pulumi.live.yaml")
    repository.git("mv", "stacks/recorded/prod", "stacks/recorded/live")
    found = by_name(repository.preview())
    assert {name: stack.status for name, stack in found.items()} == {"live": "added", "prod": "removed"}
    assert len(found["live"].targets) == 5
    assert {target.status for target in found["live"].targets} == {"added"}
    assert found["prod"].targets == ()


def test_a_deleted_stack_file_leaves_the_cluster_alone(repository: Any) -> None:
    (repository.root / "stacks/Pulumi.staging.yaml").unlink()
    (stack,) = repository.preview().stacks
    (finding,) = stack.new
    assert (finding.code, finding.severity, finding.file) == ("CFG104", Severity.WARNING, "stacks/Pulumi.staging.yaml")
    assert "modelyard destroy staging" in finding.remedy
    # Nothing is sent: no pod is replaced, the worker keeps its GPUs, and they cost what they cost.
    assert (stack.targets, stack.replaces_pods, stack.gpus, stack.patches) == ((), 0, (4, 4), ())
    assert stack.cost is not None
    assert stack.cost.before.usd == stack.cost.after.usd != (0, 0)
    assert stack.cost.delta.usd == (0, 0)
    assert not stack.blocked


def test_a_deleted_stack_that_could_not_be_planned_is_unknown(repository: Any) -> None:
    repository.edit("stacks/Pulumi.dev.yaml", "memory: 32Gi", "memory: lots")
    repository.commit()
    repository.git("branch", "--force", "main")
    (repository.root / "stacks/Pulumi.dev.yaml").unlink()
    (stack,) = repository.preview().stacks
    assert (stack.gpus, stack.cost) == (None, None)
    assert [finding.code for finding in stack.new] == ["CFG104"]


def test_gpus_are_those_of_the_whole_stack(repository: Any) -> None:
    repository.edit("stacks/Pulumi.prod.yaml", "    cpu: 8", "    cpu: 6")
    (stack,) = repository.preview().stacks
    assert all(target.gpus == (0, 0) for target in stack.targets)
    assert stack.gpus == (3, 3)


def test_a_change_has_its_own_cost_and_findings(repository: Any) -> None:
    repository.edit("stacks/Pulumi.staging.yaml", "maxReplicas: 2", "maxReplicas: 4")
    repository.edit("stacks/Pulumi.dev.yaml", "model: A10", "model: L4")
    (group,) = (one for one in grouped(repository.preview().stacks) if one.stacks == ("staging",))
    assert group.cost is not None
    assert group.cost.usd is not None
    # Two more pods of four GPUs each.
    assert (group.cost.usd.low, round(float(group.cost.usd.high), 2)) == (0, 29.39)
    assert [finding.code for finding in group.findings.new if finding.blocks or finding.code == "RES101"] == ["RES101"]
    assert "OWN001" in {finding.code for finding in group.findings.still}


def test_a_released_target_has_its_earlier_cost(repository: Any) -> None:
    repository.edit(
        "stacks/Pulumi.staging.yaml",
        "  modelyard:autoscaling:",
        "  modelyard:patches: [{name: ray-worker, enabled: false}, {name: ray-worker-multi-gpu, enabled: false},"
        " {name: autoscaling-ray, enabled: false}]\n  modelyard:autoscaling:",
    )
    (stack,) = (one for one in repository.preview().stacks if one.stack == "staging")
    (target,) = (one for one in stack.targets if one.name == RAY)
    assert target.status == "removed"
    assert stack.cost is not None
    (cost,) = (one for one in stack.cost.targets if one.name == RAY)
    # Up to two pods of four GPUs become the installer's one of one.
    assert cost.usd[0] is not None
    assert cost.usd[1] is not None
    assert cost.usd[1].low == cost.usd[1].high == cost.usd[0].high / 8
    assert [count.high for count in cost.pods if count is not None] == [2, 1]


def test_findings_are_new_fixed_or_still_there(repository: Any) -> None:
    repository.edit("stacks/Pulumi.dev.yaml", "cpu: 2\n", "cpu: 1\n")
    repository.edit("stacks/Pulumi.dev.yaml", "timeout: 6h30m", "timeout: 1h")
    repository.commit()
    repository.git("branch", "--force", "main")
    repository.edit("stacks/Pulumi.dev.yaml", "cpu: 1\n", "cpu: 2\n")
    repository.edit("stacks/Pulumi.dev.yaml", "volume: 50Gi", "volume: 20Gi")
    stack = by_name(repository.preview())["dev"]
    assert [finding.code for finding in stack.new if finding.blocks] == ["RES005"]
    assert [finding.code for finding in stack.fixed if finding.blocks] == ["RAY003"]
    assert "RES106" in {finding.code for finding in stack.still}
    assert stack.blocked


def test_a_finding_whose_line_moved_is_the_same(repository: Any) -> None:
    repository.edit("stacks/Pulumi.dev.yaml", "cpu: 2\n", "cpu: 1\n")
    repository.commit()
    repository.git("branch", "--force", "main")
    repository.edit("stacks/Pulumi.dev.yaml", "config:\n", "# one\n# two\nconfig:\n")
    repository.edit("stacks/Pulumi.dev.yaml", "memory: 32Gi", "memory: 40Gi")
    stack = by_name(repository.preview())["dev"]
    assert not stack.new
    assert "RAY003" in {finding.code for finding in stack.still}


def test_a_stack_that_becomes_unreadable(repository: Any) -> None:
    repository.edit("stacks/Pulumi.dev.yaml", "memory: 32Gi", "memory: lots")
    stack = by_name(repository.preview())["dev"]
    assert stack.unplanned
    assert stack.patches == ()
    assert stack.blocked
    assert stack.targets == ()
    assert [finding.code for finding in stack.new] == ["CFG013"]
    assert stack.fixed == ()


def test_a_changed_recording_is_not_a_change_of_the_stack(repository: Any) -> None:
    file = "stacks/recorded/dev/deployment.ml-platform.deployment-api-server.json"
    repository.edit(file, "images.example.com", "elsewhere.example.com")
    assert repository.preview().stacks == ()
    repository.edit("stacks/Pulumi.dev.yaml", "memory: 32Gi", "memory: 40Gi")
    (stack,) = repository.preview().stacks
    assert stack.recorded
    assert [target.name for target in stack.targets] == [RAY]


def test_equal_changes_are_shown_once(repository: Any) -> None:
    repository.next_patch("model-service", "schema.json", "/var/lib/models", "/models")
    repository.edit("stacks/Pulumi.dev.yaml", "cpu: 8\n    memory: 32Gi", "cpu: 8\n    memory: 40Gi")
    found = {group.change.name: group for group in grouped(repository.preview().stacks)}
    assert found[SERVICE].stacks == ("dev", "staging")
    assert found[SERVICE].replaces_pods == 4
    assert found[RAY].stacks == ("dev",)


def test_the_same_commits_give_the_same_preview(repository: Any) -> None:
    repository.next_patch("model-service", "schema.json", "/var/lib/models", "/models")
    assert repository.preview() == repository.preview()


@pytest.mark.parametrize("base", ["nowhere", "--all", "HEAD^9", ""])
def test_a_missing_base(repository: Any, base: str) -> None:
    with pytest.raises(RevisionError) as caught:
        repository.preview(base=base)
    assert repr(base) in caught.value.summary
    assert "fetch" in caught.value.remedy


def test_histories_without_a_common_commit(repository: Any) -> None:
    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.edit("stacks/Pulumi.dev.yaml", "memory: 32Gi", "memory: 40Gi")
    repository.commit()
    with pytest.raises(RevisionError, match="no common commit"):
        repository.preview()


def test_a_project_in_a_folder_of_a_repository(nested: Any) -> None:
    nested.edit("stacks/Pulumi.dev.yaml", "model: A10", "model: L4")
    nested.add("patches/patches.lock", "garbage\n")
    found = nested.preview()
    (stack,) = found.stacks
    # From the project, where commands are run; only annotations and SARIF name files from the repository.
    assert (stack.stack, stack.file) == ("dev", "stacks/Pulumi.dev.yaml")
    assert {finding.file for finding in stack.new if finding.blocks} == {"stacks/Pulumi.dev.yaml"}
    assert [finding.file for finding in found.project.new] == ["patches/patches.lock"]


@pytest.mark.parametrize(
    ("celery", "ray", "words"),
    [
        (1, 3, "starts beside the old backend"),
        (2, 3, "2 of 3 new pods fit beside it"),
        (4, 2, "0 of 2 new pods fit beside it"),
    ],
)
def test_steps_count_the_gpus_that_are_free_once_the_base_is_applied(
    repository: Any, celery: int, ray: int, words: str
) -> None:
    """prod has four GPUs; the recorded platform runs two pods of Celery."""
    file = "stacks/Pulumi.prod.yaml"
    repository.edit(file, "modelyard:celery:\n    replicas: 3", f"modelyard:celery:\n    replicas: {celery}")
    repository.on_main()
    repository.edit(file, "modelyard:rayWorker:\n    replicas: 3", f"modelyard:rayWorker:\n    replicas: {ray}")
    repository.edit(file, "training: celery", "training: ray")
    (stack,) = repository.preview().stacks
    assert [step for step in stack.steps if words in step.why]


def test_steps_count_what_the_base_uses_of_a_quota(repository: Any) -> None:
    """The recorded platform uses two GPUs of three; the base uses one, so two more pods fit."""
    resource = "requests.nvidia.com/gpu"
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus", "namespace": "ml-platform"},
        "status": {"hard": {resource: "3"}, "used": {resource: "2"}},
    }
    repository.edit("stacks/recorded/prod/cluster.json", "{", f'{{"quotas": [{json.dumps(quota)}],')
    file = "stacks/Pulumi.prod.yaml"
    repository.edit(file, "modelyard:celery:\n    replicas: 3", "modelyard:celery:\n    replicas: 1")
    repository.on_main()
    repository.edit(file, "modelyard:rayWorker:\n    replicas: 3", "modelyard:rayWorker:\n    replicas: 2")
    repository.edit(file, "training: celery", "training: ray")
    (stack,) = repository.preview().stacks
    phases = [step.phase for step in stack.steps]
    assert phases.index("up") < phases.index("down"), stack.steps
