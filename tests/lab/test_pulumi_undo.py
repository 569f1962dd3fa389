"""Restores by the real engine: in an update that drops a patch, and in ``pulumi destroy``."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelyard.kube.merge import Path as Field
from modelyard.kube.merge import owners
from modelyard.plan.project import library_of
from modelyard.plan.undo.ledger import ledger_of, ours
from tests.lab.support.environment import NAMESPACE, Environment, PlatformLab, comparable, environment
from tests.lab.support.platform_snapshot import HEAD, check_restored, snapshot, write_patch

SERVICE = "deployment-model-service"
REPLICAS = Field(("spec", "replicas"))


@pytest.fixture(params=["dev", "staging", "prod"])
def env(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Environment]:
    """Platforms with three kinds of earlier owners: client-side apply, server-side apply and updates."""
    with environment(request.param, tmp_path) as found:
        found.init()
        yield found


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with environment("dev", tmp_path_factory.mktemp("undo")) as found:
        found.init()
        yield found


def test_pulumi_destroy_restores_every_target(env: Environment) -> None:
    before, sets = snapshot(env), env.replica_sets()
    env.up()
    env.settle()
    made = env.replica_sets()
    assert made != sets
    env.pulumi("destroy", "--yes", "--skip-preview", "--stack", env.name)
    env.settle()
    check_restored(env, before)
    # The restored template finds its earlier ReplicaSet: pods are replaced once, without a default in between.
    assert env.replica_sets() == made
    assert (
        json.loads(env.pulumi("stack", "export", "--stack", env.name).stdout)["deployment"].get("resources", []) == []
    )


@pytest.mark.quick
def test_an_update_restores_the_fields_of_a_dropped_patch(dev: Environment) -> None:
    before = snapshot(dev)
    dev.up()
    dev.settle()
    dev.edit("config:\n", "config:\n  modelyard:patches: [{name: ray-head, enabled: false}]\n")
    (told,) = [finding for finding in dev.plan().findings if finding.code == "OWN006"]
    assert "back to kubectl-client-side-apply" in told.detail
    dev.up()
    dev.settle()
    check_restored(dev, {HEAD: before[HEAD]})
    assert dev.up().changed == []
    dev.edit("  modelyard:patches: [{name: ray-head, enabled: false}]\n", "")
    dev.up()
    dev.settle()
    # A destroy shows what it changes, and without an answer changes nothing.
    shown = dev.modelyard("destroy", "dev", check=False)
    assert shown.returncode == 2
    assert set(re.findall(r"^~ (\S+)", shown.stdout, re.MULTILINE)) == set(before)
    assert dev.plan().changed == ()
    dev.pulumi("destroy", "--yes", "--skip-preview", "--stack", "dev")
    check_restored(dev, before)


def test_an_update_restores_fields_that_a_patch_version_drops(dev: Environment) -> None:
    before = snapshot(dev)
    write_patch(dev, "v1", "{minReadySeconds: 1, template: {spec: {terminationGracePeriodSeconds: 45}}}")
    dev.up()
    dev.settle()
    assert dev.deployment(HEAD)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 45
    write_patch(dev, "v2", "{minReadySeconds: 1}")
    plan = dev.plan()
    (target,) = plan.changed
    (back,) = [change for change in target.changes if change.back]
    assert (back.path[-1], back.before, back.after) == ("terminationGracePeriodSeconds", 45, 60)
    assert [owner.manager for owner in back.back or ()] == ["kubectl-client-side-apply"]
    generation = dev.deployment(HEAD)["metadata"]["generation"]
    dev.up()
    dev.settle()
    live = dev.deployment(HEAD)
    assert comparable(live) == comparable(target.after.reveal())
    assert live["metadata"]["generation"] == generation + 1
    assert [owner.manager for owner in owners(live, back.path)] == ["kubectl-client-side-apply"]
    assert ledger_of(live).to_hand_over
    # The restored fields are still in the ledger, but the next update has nothing to do.
    assert dev.plan().changed == ()
    version = live["metadata"]["resourceVersion"]
    assert dev.up().changed == []
    assert dev.deployment(HEAD)["metadata"]["resourceVersion"] == version
    dev.pulumi("destroy", "--yes", "--skip-preview", "--stack", "dev")
    shutil.rmtree(dev.folder / "patches" / "zz-mine")
    library_of.cache_clear()
    check_restored(dev, before)


def test_destroy_keeps_and_reports_fields_that_others_changed(dev: Environment, platform_lab: PlatformLab) -> None:
    before = snapshot(dev)
    dev.up()
    dev.settle()
    dev.lab.kubectl("scale", "deployment", SERVICE, "--namespace", NAMESPACE, "--replicas", "3")
    shown = dev.modelyard("ledger", "dev", "--live", "--verbose")
    assert "changed since by kubectl (Update of scale)" in shown.stdout
    assert "dev: " in shown.stderr
    assert " requests, " in shown.stderr
    (stack,) = json.loads(dev.modelyard("ledger", "dev", "--live", "--json").stdout)["stacks"]
    (service,) = [target for target in stack["targets"] if target["name"] == SERVICE]
    (replicas,) = [field for field in service["fields"] if field["field"] == "spec.replicas"]
    assert (replicas["state"], replicas["before"], replicas["now"]) == ("changed", 1, 3)
    # Another cluster is not changed, and the state stays.
    other = {"KUBECONFIG": str(platform_lab("dev").kubeconfig)}
    refused = dev.pulumi("destroy", "--yes", "--skip-preview", "--stack", "dev", check=False, env=other)
    assert refused.returncode != 0
    assert "check kubernetes:context and KUBECONFIG" in refused.stdout + refused.stderr
    assert ours(dev.deployment(SERVICE))
    done = dev.modelyard("destroy", "dev", "--yes")
    assert f"Deployment {SERVICE}: left as others set them since: spec.replicas (kubectl)" in " ".join(
        done.stderr.split()
    )
    live = dev.deployment(SERVICE)
    assert live["spec"]["replicas"] == 3
    assert [owner.subresource for owner in owners(live, REPLICAS)] == ["scale"]
    assert ours(live) == {}
    check_restored(dev, {name: body for name, body in before.items() if name != SERVICE})


def test_destroy_restores_the_first_values_after_a_kubectl_replace(dev: Environment) -> None:
    """The replace removes the ledger and keeps our values as ours; the engine's state has a copy of the ledger."""
    before = snapshot(dev)
    dev.up()
    dev.settle()
    ours_now = dev.deployment(SERVICE)
    metadata = {name: ours_now["metadata"][name] for name in ("name", "namespace", "labels")}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": ours_now["spec"]}
    dev.lab.kubectl("replace", "--filename=-", stdin=json.dumps(manifest))
    assert "modelyard.dev/ledger" not in (dev.deployment(SERVICE)["metadata"].get("annotations") or {})
    earlier = before[SERVICE]["spec"]["replicas"]
    assert f"replicas 2 → {earlier}" in " ".join(dev.modelyard("ledger", "dev", "--live").stdout.split())
    assert "OWN012" not in dev.modelyard("plan", "dev", "--live", "--notes").stdout
    # The program reads the state of its own run.
    dev.up()
    dev.settle()
    again = ledger_of(dev.deployment(SERVICE))
    assert dict(again.values)[REPLICAS] == earlier
    dev.pulumi("destroy", "--yes", "--skip-preview", "--stack", "dev")
    dev.settle()
    live = dev.deployment(SERVICE)
    assert (live["spec"], ours(live)) == (before[SERVICE]["spec"], {})
    check_restored(dev, {name: body for name, body in before.items() if name != SERVICE})
