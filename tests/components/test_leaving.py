"""What the components register for a target that the stack no longer asks for."""

from datetime import date
from pathlib import Path

import pulumi
import pytest

from modelyard.engine.ledger import Record
from modelyard.engine.program import plan as program
from modelyard.engine.program.plan import unplanned_objects
from modelyard.hiding import Confidential
from modelyard.kube.state import StateObject
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.project import Planned
from modelyard.stack.config import PatchChoice
from tests.support.component_engine import (
    IMAGES,
    ROOT,
    Build,
    Engine,
    Registered,
    again,
    existing,
    managed,
    plan_of,
    site,
)

HEAD = "deployment-ray-head"
DROPPED = (PatchChoice("ray-head", enabled=False),)
RESTORE, REMOVAL = (f"pulumi-python:dynamic/modelyard:{name}" for name in ("Restore", "Removal"))


def of_type(engine: Engine, kind: str) -> list[Registered]:
    return [one for one in engine.registered if one.type == kind]


def head(plan: Plan) -> TargetPlan:
    (found,) = [one for one in plan.targets if one.name == HEAD]
    return found


def test_a_restore_is_one_resource_with_a_wait_and_a_check(build: Build) -> None:
    plan = again("dev", patches=DROPPED)
    engine = build(plan)
    (one,) = of_type(engine, RESTORE)
    assert (one.name, one.parent) == (f"deployment/{HEAD}", "modelyard:index:RayCluster::ray-cluster")
    assert one.before == (f"follows:Deployment/{HEAD}", f"drain {HEAD}", f"approved:Deployment/{HEAD}")
    assert one.behind == ()
    assert "cluster" in one.depends_on
    record = Record.from_text(one.inputs["record"])
    assert (record.key, record.cluster) == (head(plan).key, plan.cluster)
    assert record.ledger == head(plan).applied.reveal()["metadata"]["annotations"]["modelyard.dev/ledger"]
    assert HEAD not in {one.name for one in engine.registered if one.type != RESTORE}
    assert f"deployment/{HEAD}" not in {one.name for one in engine.registered if one.type != RESTORE}
    assert HEAD not in engine.outputs["platform"]["replicas"]


def test_removed_pods_come_before_their_service(build: Build) -> None:
    plan = managed_again()
    gone = [one for one in plan.targets if one.dropped]
    assert [one.key.kind for one in gone] == ["Deployment", "PodDisruptionBudget", "Service"]
    first, second, third = of_type(build(plan), REMOVAL)
    assert first.before == (f"follows:Deployment/{HEAD}", f"drain {HEAD}")
    assert [name.partition(":")[0] for one in (second, third) for name in one.before] == ["follows", "follows"]
    assert first.behind == second.behind == third.behind == ()
    assert first.name in second.depends_on
    assert second.name in third.depends_on


def managed_again() -> Plan:
    """A managed stack that has dropped its Ray head, after its first apply."""
    stack, state = site("dev")
    config = stack.config._replace(platform=stack.config.platform._replace(mode="managed"), patches=DROPPED)
    for section in IMAGES:
        config = config._replace(**{section: getattr(config, section)._replace(image="images.example.com/it:1")})
    objects = {**state.objects.reveal(), **{target.key: target.after.reveal() for target in managed("dev").targets}}
    return plan_of(stack._replace(config=config), state._replace(objects=Confidential(objects)))


def test_an_unreadable_engine_state_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the engine would delete what no plan contains."""
    stack, state = site("dev")
    unread = state._replace(state_error="pulumi is not on PATH")
    planned = Planned(stack=stack, plan=existing("dev"), reasons=(), state=unread)

    def plan_live(root: Path, file: Path, today: date, *, waits: bool) -> Planned:
        return planned

    monkeypatch.setattr(program, "plan_live", plan_live)
    monkeypatch.setattr(pulumi, "get_stack", lambda: "dev")
    monkeypatch.chdir(ROOT)
    with pytest.raises(pulumi.RunError, match="Pulumi's state cannot be read: pulumi is not on PATH"):
        program.plan_of_stack()


def test_a_cluster_named_only_by_the_current_context_stops_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = (ROOT / "stacks/Pulumi.dev.yaml").read_text().replace("  kubernetes:context: dev\n", "")
    (tmp_path / "Pulumi.yaml").write_text("name: it\nruntime: python\nstackConfigDir: .\n")
    (tmp_path / "Pulumi.dev.yaml").write_text(text)
    (tmp_path / "kubeconfig").write_text("")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.setattr(pulumi, "get_stack", lambda: "dev")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pulumi.RunError, match=r"kubernetes:context is not set.*set it in Pulumi\.dev\.yaml"):
        program.plan_of_stack()


def test_a_plan_without_what_the_engine_would_restore_stops_the_run() -> None:
    plan = again("dev", patches=DROPPED)
    _, state = site("dev")
    objects = {target.key: target.after.reveal() for target in existing("dev").targets}
    held = {key: StateObject(managed=False) for key in objects}
    there = state._replace(objects=Confidential(objects), state_objects=held)
    assert unplanned_objects(plan, there) == ()
    without = plan._replace(targets=plan.asked)
    assert unplanned_objects(without, there) == (HEAD,)
    # What nothing of ours is on is only dropped from the state.
    before = {key: body for key, body in state.objects.reveal().items() if key in objects}
    assert unplanned_objects(without, there._replace(objects=Confidential(before))) == ()
