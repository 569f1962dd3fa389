"""The cost in a plan: as JSON, in a saved file, and only if priced."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from modelyard.hiding import Confidential
from modelyard.plan.cost import words
from modelyard.plan.cost.project import cost_of
from modelyard.plan.cost.values import cost_from_json, cost_to_json
from modelyard.plan.store import PlanFileError, moved, plan_from_json, plan_to_json, seal

WORKER = "deployment-ray-model-training-worker"
SCHEMA = json.loads((Path(__file__).parents[3] / "modelyard" / "plan" / "plan.schema.json").read_text(encoding="utf-8"))
NAMES = ("dev", "staging", "prod", "priced", "unbounded")


def site_of(sites: Any, name: str) -> Any:
    if name == "priced":
        return sites["prod"].paying("machines:", "  - {type: bare-metal, usdPerHour: 0.63}")
    if name == "unbounded":

        def scaled(body: dict[str, Any]) -> None:
            body["metadata"].setdefault("annotations", {})["autoscaling/enabled"] = "true"

        return sites["dev"].having("deployment-api-server", scaled)
    return sites[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_plan_shows_the_same_money_again(sites: Any, name: str) -> None:
    site = site_of(sites, name)
    plan = site.plan()._replace(cost=site.cost())
    document = plan_to_json(plan)
    again = plan_from_json(json.dumps(document), "plan.json")
    assert again.cost is not None
    assert words.stack_cost(again.cost) == words.stack_cost(site.cost())
    assert plan_to_json(again) == document
    assert moved(again, site.plan()) == ()


@pytest.mark.parametrize("name", ["dev", "staging"])
def test_prices_that_are_decimal_numbers_come_back_exactly(sites: Any, name: str) -> None:
    cost = sites[name].cost()
    assert cost_from_json(json.loads(json.dumps(cost_to_json(cost)))) == cost


@pytest.mark.parametrize("name", NAMES)
def test_the_document_follows_the_published_schema(sites: Any, name: str) -> None:
    site = site_of(sites, name)
    errors = Draft202012Validator(SCHEMA).iter_errors(plan_to_json(site.plan()._replace(cost=site.cost())))
    assert [f"{error.json_path}: {error.message}" for error in errors] == []


def test_unknown_is_null_and_never_zero(prod: Any) -> None:
    document = cost_to_json(prod.cost())
    assert document["after"] == {"usd": None, "unknownPods": {"low": 10, "high": 10}}
    tasks = next(one for one in document["targets"] if one["name"] == "deployment-model-training-tasks-gpu")
    assert tasks["usd"] == {"before": None, "after": None, "delta": None}


def test_list_prices_are_marked_with_date_and_source(staging: Any) -> None:
    document = cost_to_json(staging.cost())
    (price,) = next(one for one in document["targets"] if one["prices"])["prices"]
    assert price == {
        "unit": "machine",
        "name": "a2-highgpu-4g",
        "usd": 14.69354,
        "region": "us-central1",
        "date": "2026-08-03",
        "source": "specs=CYCLENERD; price=KGCPPRICE",
        "listed": True,
        "discount": "",
    }


def test_an_unpriced_plan_shows_no_cost(dev: Any) -> None:
    document = plan_to_json(dev.plan())
    assert "cost" not in document
    assert plan_from_json(json.dumps(document), "plan.json").cost is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("", 5),
        ("targets", None),
        ("targets.0", 5),
        ("targets.0.usd", None),
        ("targets.0.pods.before", {"low": 1}),
        ("targets.3.usd.before.low", "1/0"),
        ("targets.3.usd.before.low", float("nan")),
        ("targets.3.prices", [{"unit": "machine"}]),
    ],
)
def test_a_saved_plan_with_an_invalid_cost_is_refused(dev: Any, path: str, value: Any) -> None:
    document = json.loads(json.dumps(plan_to_json(dev.plan()._replace(cost=dev.cost()))))
    *above, last = f"cost.{path}".rstrip(".").split(".")
    at: Any = document
    for part in above:
        at = at[int(part)] if part.isdigit() else at[part]
    at[int(last) if last.isdigit() else last] = value
    document["sha256"] = seal(document)
    with pytest.raises(PlanFileError) as caught:
        plan_from_json(json.dumps(document), "plan.json")
    assert caught.value.summary.startswith("plan.json ")


def test_planning_alone_reads_no_price() -> None:
    """A plan that nobody prices does not load what prices it."""
    script = (
        "import sys, datetime, pathlib\n"
        "from modelyard.plan.project import plan_recorded\n"
        "root = pathlib.Path(sys.argv[1])\n"
        "plan_recorded(root, root / 'stacks/Pulumi.staging.yaml', datetime.date(2026, 11, 21))\n"
        "print(*(name for name in sys.modules if '.cost' in name or name.endswith('hardware.instances')))\n"
    )
    root = Path(__file__).parents[3]
    run = subprocess.run([sys.executable, "-c", script, str(root)], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_an_object_that_is_deleted_costs_nothing_afterwards(staging: Any) -> None:
    site = staging.applied()
    plan = site.plan()
    nothing = Confidential[dict[str, Any]]({})
    targets = tuple(one._replace(before=one.after, after=nothing, applied=nothing) for one in plan.targets)
    cost = cost_of(plan._replace(targets=targets), site.state, site.prices)
    worker = next(one for one in cost.targets if one.name == WORKER)
    assert worker.usd[0] is not None
    assert worker.usd[1] == (0, 0)
    assert worker.delta == (-worker.usd[0].high, -worker.usd[0].low)
