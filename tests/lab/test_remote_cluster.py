"""A remote cluster of a stack: planned, applied, checked and destroyed with the platform's, on two API servers."""

import json
import shutil
from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from lab import Lab
from modelyard.cluster.live import path_of
from modelyard.engine.failure import failure
from modelyard.kube.state import ObjectKey
from modelyard.plan.project import plan_live
from tests.lab.support.environment import Environment, comparable, environment, words
from tests.lab.support.policy_pack import preview, violations_of, with_policies
from tests.lab.support.pool_stack import config

SPACE = "far-jobs"
ONLY = {
    ("Namespace", "", SPACE),
    ("ServiceAccount", SPACE, "remote-job"),
    ("ResourceFlavor", "", "remote-far-nodes"),
    ("ClusterQueue", "", "remote-far"),
    ("LocalQueue", SPACE, "far"),
}
RENDERED = {"vendor": "-f", "kustomize": "-k"}
"""The formats of ``render`` and kubectl's option for each."""
QUOTA = {"cpu": 64, "memory": "256Gi", "gpus": 8}


class Two(NamedTuple):
    """The platform's environment and the remote cluster."""

    env: Environment
    farm: Lab

    def get_remote(self, key: ObjectKey) -> dict[str, Any] | None:
        """An object of the remote cluster."""
        answer = self.farm.request("GET", path_of(key))
        assert answer.status in (200, 404), answer
        if answer.status == 404:
            return None
        return {**answer.body, "apiVersion": key.api_version, "kind": key.kind}

    def resource(self, **changes: Any) -> None:
        """Writes the remote resource and its job into the stack file."""
        cluster = {
            "controller": self.farm.server,
            "context": "farm",
            "namespace": SPACE,
            "quota": QUOTA,
            "readSecret": "lake-read",
            "writeSecret": "lake-write",
            **changes,
        }
        cluster = {name: value for name, value in cluster.items() if value is not None}
        remote = {
            "cluster": cluster,
            "data": {"shared": {"bucket": "lake", "prefix": "datasets/churn"}},
            "model": {"bucket": "lake", "prefix": "models"},
        }
        far = {"name": "far", "type": "training", "cpu": 4, "memory": "16Gi", "gpus": 1, "remote": remote}
        config(
            self.env,
            runtime={"image": "images.example.com/trainer:3"},
            buckets=[{"name": "lake", "url": "s3://acme-lake", "reachedBy": ["platform", "far"]}],
            resources=[far],
            jobs=[{"name": "churn", "type": "training", "resource": "far", "command": ["train"]}],
        )


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    with (
        environment("dev", tmp_path_factory.mktemp("remote")) as env,
        Lab.start(tmp_path_factory.mktemp("farm"), context="farm") as farm,
    ):
        farm.install_crds()
        env.env["KUBECONFIG"] += f":{farm.kubeconfig}"
        made = Two(env, farm)
        made.resource()
        yield made


def rendered(env: Environment, form: str) -> Any:
    """The JSON output of ``render`` in a format; its files are in the folder of that name."""
    done = env.modelyard("render", "dev", "--live", "--format", form, "--out", f"out/{form}", "--json")
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def applied(two: Two) -> Two:
    """The stack, applied to both clusters, with the files that were rendered before."""
    two.resource()
    plan = two.env.plan()
    if any(one.changed for one in (plan, *plan.remotes)):
        for form in RENDERED:
            rendered(two.env, form)
        two.env.modelyard("apply", "dev", "--yes")
        two.env.settle()
    return two


def test_a_remote_cluster_gets_only_what_jobs_need(two: Two) -> None:
    env = two.env
    planned = env.modelyard("plan", "dev", "--live").stdout
    assert f"remote cluster far · {two.farm.server}" in planned
    (first,) = env.plan().remotes
    assert {target.key[1:] for target in first.targets} == ONLY
    assert {target.action for target in first.targets} == {"create"}
    assert first.cluster != env.plan().cluster
    for form in RENDERED:
        ((remote,),) = [stack["remotes"] for stack in rendered(env, form)["stacks"]]
        assert remote == {"name": "far", "context": "farm", "namespace": SPACE, "folder": "remotes/far"}
    env.modelyard("apply", "dev", "--yes")
    env.settle()
    plan = env.plan()
    assert plan.changed == ()
    (far,) = plan.remotes
    assert {target.key[1:] for target in far.targets} == ONLY
    for target in far.targets:
        live = two.get_remote(target.key)
        assert live is not None
        assert comparable(live) == comparable(target.after.reveal())
        if target.key.kind == "ServiceAccount":
            assert live["automountServiceAccountToken"] is False
        # The platform's cluster has none of the objects.
        assert env.lab.request("GET", path_of(target.key)).status == 404
    assert env.up().changed == []


@pytest.mark.usefixtures("applied")
@pytest.mark.parametrize("form", RENDERED)
def test_rendered_files_match_the_applied_objects(two: Two, form: str) -> None:
    """Applying the files, which were rendered before the apply, changes nothing."""
    option, there = RENDERED[form], str(two.env.folder / f"out/{form}/dev/remotes/far")
    built = two.farm.kubectl("create", "--dry-run=client", "--output=name", option, there).stdout.split()
    assert len(built) == len(ONLY)
    two.farm.kubectl("diff", "--server-side", "--force-conflicts", "--field-manager=modelyard", option, there)


@pytest.mark.usefixtures("applied")
def test_a_violation_of_a_remote_cluster_stops_every_command(two: Two) -> None:
    env, before = two.env, two.env.stack_file.read_text()
    with_policies(env)
    config(env, policy={"rules": {"POL112": {"params": {"allow": ["ml-*"]}}}})
    said = "on far: remote-job is in namespace far-jobs, which is not allowed"
    by_engine = preview(env)
    assert ("mandatory", "POL112") in violations_of(by_engine)
    assert said in words(by_engine)
    for verb in (("plan", "dev", "--live"), ("apply", "dev", "--yes"), ("render", "dev", "--live")):
        done = env.modelyard(*verb, check=False)
        assert (done.returncode, said in words(done)) == (1, True), verb
    waivers = [
        {"code": "POL112", "target": f"far/{name}", "reason": "moves", "by": "Ada", "expires": "2036-01-01"}
        for name in ("far", "remote-job")
    ]
    config(env, waivers=waivers)
    assert violations_of(preview(env)) == []
    env.modelyard("apply", "dev", "--yes")
    env.stack_file.write_text(before)
    shutil.rmtree(env.folder / "policies")


@pytest.mark.usefixtures("applied")
def test_a_remote_job_is_submitted_to_the_remote_cluster(two: Two) -> None:
    done = json.loads(two.env.modelyard("job", "submit", "dev", "churn", "--json").stdout)
    (made,) = done["objects"]
    assert (made["kind"], made["namespace"], made["queue"]) == ("Job", SPACE, "far")
    live = two.get_remote(ObjectKey("batch/v1", "Job", SPACE, made["name"]))
    assert live is not None
    pod = live["spec"]["template"]["spec"]
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("remote-job", False)
    sources = [one["secretRef"]["name"] for one in pod["containers"][0]["envFrom"]]
    assert sources == ["lake-read", "lake-write-churn"]
    assert two.env.lab.request("GET", "/apis/batch/v1/jobs").body["items"] == []
    listed = json.loads(two.env.modelyard("job", "list", "dev", "--remote", "far", "--json").stdout)
    assert [one["name"] for one in listed["runs"]] == [done["run"]]
    assert json.loads(two.env.modelyard("job", "list", "dev", "--json").stdout)["runs"] == []
    assert "modelyard job why dev churn-" in (told := two.env.modelyard("job", "submit", "dev", "churn").stdout)
    assert told.count(" --remote far") == 2


@pytest.mark.usefixtures("applied")
def test_an_apply_resets_drift_of_the_remote_cluster(two: Two) -> None:
    two.env.modelyard("drift", "dev")
    change = '--patch={"spec": {"queueingStrategy": "StrictFIFO"}}'
    two.farm.kubectl("patch", "clusterqueue", "remote-far", "--type=merge", change)
    drift = two.env.modelyard("drift", "dev", "--json", check=False)
    assert drift.returncode == 1
    home, far = json.loads(drift.stdout)["stacks"]
    assert (home["state"], far["remote"], far["state"]) == ("same", "far", "drifted")
    states = [(target["name"], target["state"]) for target in far["targets"]]
    assert (len(states), [name for name, state in states if state != "same"]) == (5, ["remote-far"])
    saved = two.env.folder / "plan.json"
    two.env.modelyard("plan", "dev", "--live", "--out", str(saved))
    two.env.modelyard("apply", "--plan", str(saved), "--yes")
    two.env.modelyard("drift", "dev")


@pytest.mark.usefixtures("applied")
def test_a_plan_is_stale_when_the_remote_cluster_changed(two: Two) -> None:
    two.resource(quota={**QUOTA, "gpus": 4})
    saved = two.env.folder / "plan.json"
    two.env.modelyard("plan", "dev", "--live", "--out", str(saved))
    two.resource(quota=QUOTA)
    change = '--patch={"spec": {"queueingStrategy": "StrictFIFO"}}'
    two.farm.kubectl("patch", "clusterqueue", "remote-far", "--type=merge", change)
    two.resource(quota={**QUOTA, "gpus": 4})
    stale = two.env.modelyard("apply", "--plan", str(saved), "--yes", check=False)
    assert (stale.returncode, "on far: ClusterQueue//remote-far has changed since" in stale.stderr) == (4, True)
    two.resource()
    two.env.modelyard("apply", "dev", "--yes")


@pytest.mark.usefixtures("applied")
def test_a_context_of_another_cluster_blocks_the_plan(two: Two) -> None:
    two.resource(context="dev")
    wrong = two.env.modelyard("plan", "dev", "--live", check=False)
    assert (wrong.returncode, "REM013" in wrong.stdout) == (1, True)
    # The cluster is still in the stack file, so none of its objects are deleted.
    assert "REM014" not in wrong.stdout
    two.resource(context="faarm")
    missing = two.env.modelyard("plan", "dev", "--live", check=False)
    assert (missing.returncode, "set resources[0].remote.cluster.context" in missing.stderr) == (3, True)
    two.resource(context="dev", controller=two.env.lab.server)
    with patch.dict("os.environ", two.env.env):
        made = plan_live(two.env.folder, two.env.stack_file, date.today()).plan
    assert made is not None
    assert [one.summary for one in made.findings if one.code == "REM013"] == [
        "context dev of far points to the home cluster"
    ]
    assert two.env.modelyard("apply", "dev", "--yes", check=False).returncode == 1
    two.resource()
    assert two.env.plan().changed == ()


@pytest.mark.usefixtures("applied")
def test_credentials_may_come_from_a_secret_or_the_stack_file(two: Two) -> None:
    env, alone = two.env, {"KUBECONFIG": two.env.env["KUBECONFIG"].partition(":")[0]}
    env.lab.kubectl(
        "create",
        "secret",
        "generic",
        "farm",
        "--namespace=ml-platform",
        f"--from-file=kubeconfig={two.farm.kubeconfig}",
    )
    two.resource(credentialsSecret="farm")
    both = env.modelyard("apply", "dev", "--yes", check=False)
    assert (both.returncode, "cluster of far has context and credentialsSecret" in words(both)) == (1, True)
    two.resource(context=None, credentialsSecret="farm")
    # The last apply used a context that this kubeconfig does not have.
    env.modelyard("apply", "dev", "--yes", env=alone)
    document = json.loads(env.modelyard("plan", "dev", "--live", "--json", env=alone).stdout)
    (far,) = document["remotes"]
    assert (far["context"], {target["action"] for target in far["targets"]}) == ("modelyard-remote-far", {"none"})
    env.modelyard("apply", "dev", "--yes", env=alone)
    env.modelyard("drift", "dev", env=alone)
    env.modelyard("job", "submit", "dev", "churn", "--dry-run", env=alone)
    state = env.pulumi("stack", "export", "--stack", "dev").stdout
    key = json.loads(two.farm.kubeconfig.read_text())["users"][0]["user"]
    assert not [value for value in key.values() if str(value) in state or str(value) in json.dumps(document)]
    before = env.stack_file.read_text()
    two.resource(context=None)
    path = "modelyard:resources[0].remote.cluster.credentials"
    env.pulumi("config", "set", "--stack", "dev", "--secret", "--path", path, two.farm.kubeconfig.read_text())
    encrypted = json.loads(env.modelyard("plan", "dev", "--live", "--json", env=alone).stdout)
    assert encrypted["remotes"][0]["cluster"] == far["cluster"]
    env.stack_file.write_text(before)
    # Back to the context: the state only keeps the name of the credentials.
    env.lab.kubectl("delete", "secret", "farm", "--namespace=ml-platform")
    two.resource()
    env.modelyard("apply", "dev", "--yes")
    assert env.up().changed == []


@pytest.mark.usefixtures("applied")
def test_objects_of_an_unreachable_cluster_stay_in_the_state(two: Two) -> None:
    env, before = two.env, two.env.stack_file.read_text()
    farm = json.loads(two.farm.kubeconfig.read_text())
    farm["clusters"][0]["cluster"]["server"] = nowhere = "https://127.0.0.1:9"
    dead = env.folder / "dead"
    dead.write_text(json.dumps(farm))
    own = env.env["KUBECONFIG"].partition(":")[0]
    state = env.pulumi("stack", "export", "--stack", "dev").stdout
    urns = {one["urn"] for one in json.loads(state)["deployment"]["resources"]}
    two.resource(controller=nowhere)
    away = env.modelyard("apply", "dev", "--yes", check=False, env={"KUBECONFIG": f"{own}:{dead}"})
    # Only the engine reads a cluster that is no longer in the stack file.
    config(env, resources=[], jobs=[], buckets=[])
    left = env.modelyard("apply", "dev", "--yes", check=False, env={"KUBECONFIG": f"{own}:{dead}"})
    lost = env.modelyard("apply", "dev", "--yes", check=False, env={"KUBECONFIG": own})
    for done, said in (
        (away, "remote cluster far"),
        (left, "remote cluster far"),
        (lost, "the kubeconfig has no context farm, with which they were applied"),
    ):
        assert (done.returncode, said in words(done)) == (3, True), words(done)
        assert "PULUMI_K8S" not in done.stdout + done.stderr
    assert failure("dev", ["unreachable"], "").remedy in words(left)
    state = env.pulumi("stack", "export", "--stack", "dev").stdout
    assert {one["urn"] for one in json.loads(state)["deployment"]["resources"]} == urns
    env.stack_file.write_text(before)
    assert env.plan().changed == ()


@pytest.mark.usefixtures("applied")
def test_an_offline_plan_uses_the_recording_of_the_remote_cluster(two: Two) -> None:
    two.env.modelyard("record", "dev")
    assert (two.env.folder / "stacks/recorded/dev@far/clusterqueue.remote-far.json").is_file()
    document = json.loads(two.env.modelyard("plan", "dev", "--json").stdout)
    (far,) = document["remotes"]
    assert {target["action"] for target in far["targets"]} == {"none"}
    assert far["cluster"]["identity"] != document["cluster"]["identity"]


@pytest.mark.usefixtures("applied")
def test_destroy_deletes_the_objects_of_a_dropped_remote_cluster(two: Two) -> None:
    (far,) = two.env.plan().remotes
    two.env.modelyard("record", "dev")
    document = two.env.stack_file.read_text()
    config(two.env, resources=[], jobs=[], buckets=[])
    told = two.env.modelyard("plan", "dev", "--live", "--detailed-exitcode", "--json", check=False)
    assert ("REM014" in told.stdout, told.returncode) == (True, 5)
    assert json.loads(told.stdout)["droppedRemotes"] == ["far"]
    # The apply has no confirmation.
    assert two.env.modelyard("apply", "dev", check=False).returncode == 2
    recording = two.env.folder / "stacks/recorded/dev@far"
    two.env.modelyard("record", "dev")
    assert recording.is_dir()
    assert "remote cluster far is no longer in the stack" in words(two.env.modelyard("plan", "dev"))
    two.env.stack_file.write_text(document)
    # The stack file has another context now, and no kubeconfig has that of the last apply.
    renamed = two.env.folder / "renamed"
    farm = json.loads(two.farm.kubeconfig.read_text())
    (context,) = farm["contexts"]
    renamed.write_text(json.dumps({**farm, "contexts": [{**context, "name": "barn"}], "current-context": "barn"}))
    two.resource(context="barn")
    own = two.env.env["KUBECONFIG"].partition(":")[0]
    two.env.modelyard("destroy", "dev", "--yes", env={"KUBECONFIG": f"{own}:{renamed}"})
    two.env.settle()
    gone = [two.get_remote(target.key) for target in far.targets]
    assert all(body is None or "deletionTimestamp" in body["metadata"] for body in gone)
    assert two.env.lab.request("GET", "/apis/apps/v1/namespaces/ml-platform/deployments").body["items"]
    config(two.env, resources=[], jobs=[], buckets=[])
    assert "dev@far: the cluster has nothing of dev any more" in two.env.modelyard("record", "dev").stdout
    assert not recording.exists()
