"""``make test-lab-quick``: one test for each subject of the lab tests."""

import ast
from pathlib import Path

LAB = Path(__file__).resolve().parents[1] / "lab"
QUICK = {
    "apply": "test_pulumi_apply.py::test_an_approved_plan_is_applied_unchanged",
    "apply of a stale plan": "test_pulumi_apply.py::test_a_plan_is_stale_when_an_object_changed",
    "destroy": "test_pulumi_apply.py::test_destroy_releases_every_field",
    "plan --live, record": "test_live_plans.py::test_live_and_offline_plans_are_equal",
    "admission": "test_live_plans.py::test_an_admission_policy_blocks_the_plan",
    "drift": "test_drift.py::test_drift_shows_the_manager_and_time_of_an_edit",
    "undo": "test_pulumi_undo.py::test_an_update_restores_the_fields_of_a_dropped_patch",
    "undo without the engine": "test_undo.py::test_an_undo_never_passes_through_a_default",
    "switch between Ray and Celery": "test_pulumi_switch.py::test_with_spare_gpus_the_new_backend_starts_first",
    "drain": "test_pulumi_drain.py::test_a_drain_that_times_out_changes_no_later_target",
    "job submit": "test_jobs.py::test_a_run_succeeds_and_its_service_is_deleted_with_its_job",
    "job list, why, logs and cancel; gpus --live; Kueue": (
        "test_live_pool.py::test_cancelling_a_run_gives_its_quota_to_the_next"
    ),
    "pipeline submit": "test_pipelines.py::test_stages_run_in_order_and_hold_no_quota_while_they_wait",
    "KubeRay": "test_sharing.py::test_a_ray_cluster_uses_the_right_nodes_and_frees_them",
    "KEDA": "test_keda.py::test_keda_scales_as_planned_and_stops_the_unused_backend",
    "rights; check, diff, render, blame and ledger with --live": (
        "test_rights.py::test_the_plan_account_is_enough_for_every_live_command"
    ),
    "components in a program": "test_program.py::test_pulumi_up_changes_only_what_the_arguments_set",
    "the policy pack": "test_policy_pack.py::test_a_rule_stops_an_update_before_anything_is_sent",
    "the merge's fuzzer, with fewer rounds": "test_merge_properties.py::test_random_writes",
}
"""If a test needs the result of an earlier test of its file, that one has the marker as well."""


def quick(path: Path) -> list[str]:
    """Returns the tests of a file that have the marker."""
    return [
        f"{path.name}::{node.name}"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and "pytest.mark.quick" in {ast.unparse(decorator) for decorator in node.decorator_list}
    ]


def test_the_quick_marker_is_on_the_listed_tests() -> None:
    marked = [name for path in LAB.glob("test_*.py") for name in quick(path)]
    assert sorted(marked) == sorted(QUICK.values())
