"""The autoscaling queries on the targets of plans."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from modelyard.findings import Finding, Severity
from modelyard.plan.autoscaling import WIDEST_INTERVAL, queries_of
from modelyard.plan.trace import place_field
from modelyard.promql import ProblemKind, check_query
from modelyard.stack.config import Autoscaling, PatchChoice
from modelyard.workloads.training import BACKENDS

ROOT = Path(__file__).parents[3]
RAY, CELERY = "deployment-ray-model-training-worker", "deployment-model-training-tasks-gpu"


def findings_of(plan: Any) -> list[tuple[str, str, str]]:
    return [(one.code, one.target, one.field) for one in plan.findings if one.code.startswith("AUT01")]


def asking(site: Any, query: str, **scaling: Any) -> Any:
    choice = PatchChoice("autoscaling-ray", params={"queries": query})
    config = Autoscaling("annotations", **scaling)
    return site.asking(autoscaling=config, patches=(*site.stack.config.patches, choice)).plan()


@pytest.mark.parametrize("name", ["dev", "prod", "staging"])
def test_the_examples_have_no_findings(sites: Any, name: str) -> None:
    assert findings_of(sites[name].plan()) == []


def test_a_query_in_patch_parameters_is_checked(staging: Any) -> None:
    plan = asking(staging, "sum(ray_tasks[15s])")
    assert findings_of(plan) == [("AUT010", RAY, "patches[0].params.queries")]
    assert plan.blocked


def test_a_parameter_of_a_patch_has_a_line_in_the_stack_file(prod: Any) -> None:
    placed = place_field(Finding("AUT010", Severity.ERROR, "x", field="patches[1].version"), prod.stack)
    line = (ROOT / placed.file).read_text().splitlines()[placed.line - 1]
    assert line.strip() == "version: v1"


def test_the_scrape_interval_of_the_stack_is_used(staging: Any) -> None:
    query = "sum(rate(ray_tasks[1m])) or vector(0)"
    assert findings_of(asking(staging, query)) == []
    assert findings_of(asking(staging, query, scrape_interval=60)) == [("AUT017", RAY, "patches[0].params.queries")]


def test_a_window_may_be_as_long_as_the_longest_job_of_the_backend(staging: Any) -> None:
    choice = PatchChoice("autoscaling-celery", params={"queries": "sum(max_over_time(x[2h])) or vector(0)"})
    patches = (*staging.stack.config.patches, choice)
    celery = staging.asking(training="celery", autoscaling=Autoscaling("annotations"), patches=patches)
    shorter = celery.asking(celery=celery.stack.config.celery._replace(job_limit=3600))
    assert findings_of(celery.plan()) == []
    assert findings_of(shorter.plan()) == [("AUT018", CELERY, "patches[0].params.queries")]


def test_vendor_queries_are_reported_once(staging: Any) -> None:
    plan = staging.asking(autoscaling=Autoscaling("annotations", queries="vendor")).plan()
    assert [one.code for one in plan.findings if one.code.startswith("AUT")].count("AUT001") == 1
    assert findings_of(plan) == []


def test_a_vendor_query_in_patch_parameters_is_checked(staging: Any) -> None:
    assert findings_of(asking(staging, BACKENDS["ray"].queries.vendor)) == [
        ("AUT010", RAY, "patches[0].params.queries")
    ]


def test_an_invalid_query_of_another_manager_does_not_block_a_plan(dev: Any) -> None:
    def asleep(body: dict[str, Any]) -> dict[str, Any]:
        if body["metadata"]["name"] != CELERY:
            return body
        return {**body, "metadata": {**body["metadata"], "annotations": {"autoscaling/queries": "sum(x["}}}

    plan = dev.having(asleep).plan()
    assert findings_of(plan) == [("AUT010", CELERY, "metadata.annotations.autoscaling/queries")]
    assert not plan.blocked


def test_queries_have_their_targets_and_fields(staging: Any) -> None:
    site = staging.asking(autoscaling=Autoscaling("annotations"))
    queries = queries_of(site.stack.config, site.plan().targets)
    assert {(query.target, query.field, query.ours) for query in queries} == {
        (RAY, "autoscaling.queries", True),
        (CELERY, "autoscaling.queries", True),
    }
    assert {query.text for query in queries} == {
        BACKENDS["ray"].queries.valid,
        BACKENDS["celery"].queries.valid % {"queue": site.stack.config.celery.queue},
    }


@pytest.mark.parametrize("query", [one.queries.valid for one in BACKENDS.values()])
@pytest.mark.parametrize("interval", [1, 15, 30, 60, WIDEST_INTERVAL])
def test_the_built_in_queries_need_no_check(query: str, interval: int) -> None:
    problems = check_query(query.replace("%(queue)s", "train"), scrape_interval=interval)
    assert {problem.kind for problem in problems} <= {ProblemKind.STEP}


def test_a_plan_with_only_built_in_queries_does_not_load_promql() -> None:
    code = (
        "import sys; from datetime import date; from pathlib import Path\n"
        "from modelyard.plan.project import plan_recorded\n"
        "root = Path.cwd(); plan_recorded(root, root / 'stacks' / 'Pulumi.staging.yaml', date(2026, 11, 21))\n"
        "assert not [name for name in sys.modules if 'promql' in name]"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
