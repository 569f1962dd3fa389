"""The settings in which stacks differ."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from modelyard.kube import merge
from modelyard.plan.project import plan_recorded
from modelyard.preview.matrix import column, rows

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def columns() -> tuple[Any, ...]:
    plans = (
        plan_recorded(ROOT, ROOT / "stacks" / f"Pulumi.{name}.yaml", date(2026, 11, 21)).plan
        for name in ("dev", "prod", "staging")
    )
    return tuple(column(plan, "1.35", b"key") for plan in plans if plan is not None)


def test_values_that_differ_with_the_stacks_that_have_them(columns: Any) -> None:
    found = {(row.target, row.field): row.values for row in rows(columns)}
    replicas = found["deployment-model-service", "spec.replicas"]
    assert replicas == ((2, ("dev", "staging")), (3, ("prod",)))


def test_a_field_that_only_some_stacks_set(columns: Any) -> None:
    found = {(row.target, row.field): row.values for row in rows(columns)}
    enabled = found["deployment-ray-model-training-worker", 'metadata.annotations["autoscaling/enabled"]']
    assert {stacks: value for value, stacks in enabled} == {("dev", "prod"): merge.ABSENT, ("staging",): "true"}


def test_equal_values_have_no_row(columns: Any) -> None:
    fields = {row.field for row in rows(columns)}
    assert not any("maxSurge" in field for field in fields)
    assert rows([columns[0], columns[0]._replace(stack="other")]) == ()
