"""``make test-lab-quick``: for each thing that the lab is for, one test that shows whether it still works."""

import ast
from pathlib import Path

LAB = Path(__file__).resolve().parents[1] / "lab"
QUICK = {
    "apply": "test_pulumi_apply.py::test_an_approved_plan_is_applied_as_it_is",
    "apply of a stale plan": "test_pulumi_apply.py::test_a_plan_is_stale_when_the_cluster_moved",
    "destroy": "test_pulumi_apply.py::test_destroy_gives_every_field_up",
    "plan --live, record": "test_live_plans.py::test_the_server_says_what_the_offline_rules_say",
    "admission": "test_live_plans.py::test_a_policy_that_refuses_stops_the_plan_before_anything_is_sent",
    "drift": "test_drift.py::test_an_edit_is_told_with_who_and_when",
    "undo": "test_pulumi_undo.py::test_a_dropped_patch_goes_back_during_an_update",
    "undo without the engine": "test_undo.py::test_there_is_no_moment_at_a_default",
    "switch between Ray and Celery": "test_pulumi_switch.py::test_with_gpus_for_both_sides_the_new_one_comes_up_first",
    "drain": "test_pulumi_drain.py::test_at_the_limit_nothing_behind_the_wait_is_changed",
    "job submit": "test_jobs.py::test_a_run_runs_to_its_end_and_takes_its_names_with_it",
    "job list, why, logs and cancel; gpus --live; Kueue": (
        "test_live_pool.py::test_one_run_holds_the_quota_and_the_next_gets_it_when_that_is_cancelled"
    ),
    "pipeline submit": "test_pipelines.py::test_stages_run_one_after_another_and_hold_nothing_while_they_wait",
    "KubeRay": "test_sharing.py::test_a_ray_cluster_is_on_the_right_nodes_and_leaves_them",
    "KEDA": "test_keda.py::test_keda_takes_over_what_was_planned_and_the_idle_side_sleeps",
    "rights; check, diff, render, blame and ledger with --live": (
        "test_rights.py::test_the_account_for_live_plans_is_enough_for_every_verb_that_makes_one"
    ),
    "components in a program": "test_program.py::test_it_applies_what_the_arguments_say_and_nothing_else",
    "the policy pack": "test_policy_pack.py::test_a_rule_stops_an_update_before_anything_is_sent",
    "the merge's fuzzer, with fewer rounds": "test_merge_properties.py::test_random_writes",
}
"""Where a test needs what an earlier one of its file has done, that one is quick as well."""


def quick(path: Path) -> list[str]:
    """The tests of a file that have the marker."""
    return [
        f"{path.name}::{node.name}"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and "pytest.mark.quick" in {ast.unparse(decorator) for decorator in node.decorator_list}
    ]


def test_what_has_the_marker_is_one_test_for_each_subject() -> None:
    marked = [name for path in LAB.glob("test_*.py") for name in quick(path)]
    assert sorted(marked) == sorted(QUICK.values())
