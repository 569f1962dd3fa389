"""Objects of a remote cluster cost what its nodes cost; clusters for jobs alone are listed."""

import json
import shutil
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from modelyard.plan import Plan
from modelyard.plan.cost import words
from modelyard.plan.cost.project import priced
from modelyard.plan.cost.values import Count, JobsOnly, Money, StackCost, cost_from_json, cost_to_json
from modelyard.plan.project import library_of, plan_recorded
from modelyard.plan.store import plan_from_json, plan_to_json
from modelyard.report.part import part_of
from tests.support.project_copies import ROOT, copied, serving

SCHEMA = json.loads((ROOT / "modelyard/plan/plan.schema.json").read_text(encoding="utf-8"))


class Site:
    """A project whose stack ``dev`` may have remote clusters."""

    def __init__(self, root: Path) -> None:
        self.root = root
        copied(root)

    def remotes(self, *resources: str) -> None:
        """Adds resources, each its name, its context and the rest of its cluster."""
        with (self.root / "stacks/Pulumi.dev.yaml").open("a") as stream:
            stream.write("  modelyard:resources:\n")
            for one in resources:
                name, context, rest = one.split(" ", 2)
                cluster = f"{{controller: 'https://10.8.0.5:6443', context: {context}{rest}}}"
                stream.write(f"    - {{name: {name}, type: runtime, remote: {{cluster: {cluster}}}}}\n")

    def serve(self) -> None:
        """Two pods of one GPU stand in each remote cluster, and ``far`` is recorded with the nodes of ``dev``."""
        serving(self.root)
        recorded = self.root / "stacks/recorded/dev@far"
        recorded.mkdir()
        cluster = json.loads((self.root / "stacks/recorded/dev/cluster.json").read_text())
        (recorded / "cluster.json").write_text(json.dumps({**cluster, "identity": "farm", "pods": []}))

    def plan(self) -> Plan:
        library_of.cache_clear()
        file = self.root / "stacks/Pulumi.dev.yaml"
        found = priced(self.root, plan_recorded(self.root, file, date(2026, 11, 21)))
        assert found.plan is not None, found.findings
        return found.plan

    def cost(self) -> StackCost:
        cost = self.plan().cost
        assert cost is not None
        return cost


QUOTA = ", quota: {cpu: 64, memory: 256Gi, gpus: %s}"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.mark.parametrize(
    ("rest", "gpus", "said"),
    [
        (QUOTA % 8, 8, "on 8 GPUs at most"),
        (QUOTA % 1, 1, "on 1 GPU at most"),
        (QUOTA % 0, 0, "on no GPU"),
        ("", None, "on any number of GPUs"),
    ],
)
def test_a_cluster_for_jobs_alone_adds_nothing_and_is_named(site: Site, rest: str, gpus: int | None, said: str) -> None:
    before = site.cost()
    site.remotes(f"far farm {rest}")
    cost = site.cost()
    assert cost.jobs_only == (JobsOnly("far", gpus),)
    assert cost._replace(jobs_only=()) == before
    line = f"remote cluster far costs only while its jobs run, {said}"
    assert words.short_cost(cost) == f"{words.short_cost(before)}; {line}"
    assert words.stack_cost(cost) == [*words.stack_cost(before), line]


def test_resources_that_share_a_cluster_add_their_quotas_up(site: Site) -> None:
    site.remotes(f"far farm {QUOTA % 8}", f"near farm {QUOTA % 4}", "other elsewhere ")
    assert site.cost().jobs_only == (JobsOnly("far", 12), JobsOnly("other", None))


def test_objects_of_a_remote_cluster_are_priced_by_its_nodes(site: Site) -> None:
    before = site.cost()
    site.remotes("far farm ")
    site.serve()
    cost = site.cost()
    (one,) = [target for target in cost.targets if target.name == "far/serve"]
    assert (one.pods, one.gpus) == ((Count(0, 0), Count(2, 2)), (Count(0, 0), Count(2, 2)))
    # The machine with one A10 that dev has, at its list price.
    each = Fraction("1.29")
    assert one.delta == Money(2 * each, 2 * each)
    assert cost.targets[:-1] == before.targets
    assert (cost.jobs_only, cost.gpus[1]) == ((), Count(3, 3))


def test_a_remote_cluster_without_known_nodes_has_no_price(site: Site) -> None:
    site.remotes("far farm ")
    site.serve()
    shutil.rmtree(site.root / "stacks/recorded/dev@far")
    (one,) = [target for target in site.cost().targets if target.name == "far/serve"]
    assert one.usd[1] is None
    assert "GPU node" in one.unknown


def test_it_is_in_the_plans_document_and_comes_back(site: Site) -> None:
    site.remotes(f"far farm {QUOTA % 8}", "other elsewhere ")
    plan = site.plan()
    document: dict[str, Any] = plan_to_json(plan)
    errors = Draft202012Validator(SCHEMA).iter_errors(document)
    assert [f"{error.json_path}: {error.message}" for error in errors] == []
    assert document["cost"]["jobsOnly"] == [{"cluster": "far", "gpus": 8}, {"cluster": "other", "gpus": None}]
    assert plan.cost is not None
    assert cost_from_json(cost_to_json(plan.cost)).jobs_only == plan.cost.jobs_only
    assert plan_to_json(plan_from_json(json.dumps(document), "plan.json")) == document


def test_a_part_of_a_plan_names_the_clusters_that_it_shows(site: Site) -> None:
    site.remotes(f"far farm {QUOTA % 8}", "other elsewhere ")
    shown = part_of(site.plan(), ["far/far", "deployment-ray-head"]).cost
    assert shown is not None
    assert ([one.name for one in shown.targets], shown.jobs_only) == (["deployment-ray-head"], (JobsOnly("far", 8),))
