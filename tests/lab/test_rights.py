"""The roles in ``examples/rbac`` have the rights that their use needs and no others."""

import json
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import pytest
import yaml

from lab import Lab, LabError
from modelyard.engine.keeper import GRACE, KILL_GRACE
from modelyard.names import FIELD_MANAGER
from tests.lab.support.account_rights import Account, Right, rights
from tests.lab.support.cli_process import cli_process, locks, send_signal
from tests.lab.support.environment import NAMESPACE, Done, Environment, environment
from tests.lab.support.managed_mode import manage
from tests.lab.support.pool_stack import config

POOL: dict[str, Any] = {
    "autoscaling": {"mode": "keda", "prometheus": "http://prometheus.example.com", "maxReplicas": 1},
    "flavors": [{"name": "a10", "gpu": "A10"}],
    "teams": [
        {
            "name": "vision",
            "namespace": NAMESPACE,
            "quotas": [{"flavor": "a10", "cpu": 16, "memory": "128Gi", "gpus": 1}],
        }
    ],
    "priorities": [{"name": "urgent", "value": 1000}],
}
EARLIER: dict[str, Any] = {
    **POOL,
    "flavors": [{"name": "old", "gpu": "A10"}],
    "teams": [{**POOL["teams"][0], "name": "old", "quotas": [{**POOL["teams"][0]["quotas"][0], "flavor": "old"}]}],
    "priorities": [{"name": "old", "value": 1000}],
    "targets": {
        "modelService": {"deployment": "deployment-old"},
        "rayWorker": {"deployment": "deployment-old-worker"},
    },
}
"""Objects that an earlier version of the stack created and the present one deletes."""
JOBS: dict[str, Any] = {
    **POOL,
    "autoscaling": {"mode": "none"},
    "runtime": {"image": "images.example.com/ml-platform/jobs:23.10.4"},
    "resources": [
        {"name": "deep", "type": "training", "workers": 2, "cpu": 1, "memory": "2Gi", "team": "vision"},
        {"name": "rays", "type": "training", "workers": 2, "cpu": 1, "memory": "2Gi", "team": "vision"},
    ],
    "jobs": [
        {"name": "train", "type": "training", "resource": "deep", "command": ["python", "train.py"]},
        {"name": "search", "type": "training", "resource": "rays", "engine": "ray", "command": ["python", "train.py"]},
    ],
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab.start(tmp_path_factory.mktemp("rights"), context="dev") as lab:
        lab.install_platform("dev")
        lab.install_crds()
        yield lab


@pytest.fixture(scope="module")
def platform(cluster: Lab, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A stack that creates, patches and deletes objects of every kind in the roles."""
    env = Environment("dev", cluster, tmp_path_factory.mktemp("platform") / "project")
    manage(env)
    text = env.stack_file.read_text()
    config(env, **EARLIER)
    made = [target.applied.reveal() for target in env.plan().targets if target.managed]
    cluster.kubectl(
        "apply",
        "--server-side",
        f"--field-manager={FIELD_MANAGER}",
        "--filename=-",
        stdin="\n---\n".join(json.dumps(body) for body in made if "old" in body["metadata"]["name"]),
    )
    env.stack_file.write_text(text)
    config(env, **POOL)
    # The engine did not apply these objects, so the plan recognises them only from the objects.
    env.env["PULUMI_BACKEND_URL"] = f"file://{env.folder / 'none'}"
    return env


@pytest.fixture(scope="module")
def queue(cluster: Lab, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A stack with jobs."""
    env = Environment("dev", cluster, tmp_path_factory.mktemp("jobs") / "project")
    config(env, **JOBS)
    return env


def outcome(env: Environment, account: Account, *command: str) -> Done:
    done = env.modelyard(*command, check=False, env={"KUBECONFIG": str(account.kubeconfig)})
    assert "Traceback" not in done.stdout + done.stderr
    return done


def refusal(done: Done) -> str:
    """The missing rights that a command reports; empty if it reports none."""
    said = " ".join((done.stdout + done.stderr).split())
    # The second text is the API server's.
    if "may not" not in said and "forbidden: User" not in said:
        return ""
    # A list that is not essential causes a warning. Any other missing right ends the command with an error.
    assert done.returncode in (0, 1, 3), said
    return said


def named(right: Right, done: Done) -> bool:
    """Whether a command reports this missing right: with the API server's text, which has the verb, or with
    its own, which has one word for get and list.
    """
    said = refusal(done)
    refused = set(re.findall(r'cannot (\w+) resource "([^"]+)"', said))
    if refused:
        return (right.verb, right.resource) in refused
    own = "|".join({"get": ("read",), "list": ("read", "list")}.get(right.verb, ()))
    return bool(own and re.search(rf"may not (?:{own}) [^:;]*\b{right.resource.partition('/')[0]}\b", said))


@pytest.mark.parametrize("use", ["read", "plan", "apply", "jobs"])
def test_no_right_is_given_twice(use: str) -> None:
    """No right is in two rules, nor in a Role if a ClusterRole has it."""
    every = [(right.group, right.resource, right.verb) for right in rights(use)]
    assert len(every) == len(set(every))


@pytest.mark.parametrize(("use", "command"), [("read", ("record", "dev")), ("plan", ("plan", "dev", "--live"))])
def test_rights_to_read_and_plan_are_needed_and_enough(
    use: str, command: tuple[str, ...], platform: Environment, tmp_path: Path
) -> None:
    account = Account(platform.lab, use, tmp_path)
    done = outcome(platform, account, *command)
    assert (done.returncode, refusal(done)) == (0, ""), done.stdout + done.stderr
    superfluous = []
    for right in rights(use):
        with account.without(right):
            if not named(right, outcome(platform, account, *command)):
                superfluous.append(str(right))
    assert superfluous == []


@pytest.fixture(scope="module")
def branch(platform: Environment) -> Iterator[Environment]:
    """The platform, with a size in its stack file changed since the last commit."""
    git = ("git", "-c", "user.name=dev", "-c", "user.email=dev@example.com", "-C", str(platform.folder))
    platform.modelyard("record", "dev")
    text = platform.stack_file.read_text()
    assert "memory: 32Gi" in text
    platform.stack_file.write_text(text.replace("memory: 32Gi", "memory: 40Gi", 1))
    for words in (
        ("init", "--quiet"),
        ("add", "stacks", "patches", "Pulumi.yaml"),
        ("commit", "--quiet", "--message", "before"),
    ):
        subprocess.run([*git, *words], check=True)
    platform.stack_file.write_text(text)
    yield platform
    shutil.rmtree(platform.folder / ".git")


def test_the_read_account_is_enough_for_a_live_preview(branch: Environment, tmp_path: Path) -> None:
    account = Account(branch.lab, "read", tmp_path)

    def previewed() -> Any:
        done = outcome(branch, account, "preview", "--live", "--base", "HEAD", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    found = previewed()
    assert (found["offline"], found["unlisted"]) == ([], [])
    assert [stack["stack"] for stack in found["stacks"]] == ["dev"]
    kinds = ("resourcequotas", "horizontalpodautoscalers", "scaledobjects")
    lists = [right for right in rights("read") if right.resource in kinds and right.verb == "list"]
    assert {right.resource for right in lists} == {*kinds}
    with account.without(*lists):
        found = previewed()
    expected = [f"{kind} of {NAMESPACE}" for kind in kinds]
    assert (found["offline"], found["unlisted"]) == ([], [{"stack": "dev", "cluster": "", "lists": expected}])


def test_doctor_names_missing_rights(platform: Environment, tmp_path: Path) -> None:
    def said(account: Account) -> dict[str, str]:
        checks = json.loads(outcome(platform, account, "doctor", "dev", "--json").stdout)["checks"]
        return {check["name"]: check["remedy"] for check in checks if check["name"].startswith("rights to")}

    assert set(said(Account(platform.lab, "apply", tmp_path)).values()) == {""}
    checks = json.loads(outcome(platform, Account(platform.lab, "plan", tmp_path), "doctor", "dev", "--json").stdout)
    assert [check for check in checks["checks"] if "does not serve" in check["found"]] == []
    account = Account(platform.lab, "read", tmp_path)
    remedies = said(account)
    assert remedies["rights to read"] == ""
    assert remedies["rights to plan live"].startswith("grant: list deployments.apps, patch deployments.apps")
    (nodes,) = (right for right in rights("read") if (right.resource, right.verb) == ("nodes", "list"))
    with account.without(nodes):
        assert said(account)["rights to read"].startswith("grant: list nodes (")
    text = platform.stack_file.read_text()
    platform.edit("mode: managed\n    namespace: ml-platform", "mode: managed\n    namespace: nowhere")
    checks = json.loads(platform.modelyard("doctor", "dev", "--json", check=False).stdout)["checks"]
    platform.stack_file.write_text(text)
    assert [check["found"] for check in checks if check["name"] == "namespace nowhere"] == [
        "cluster dev does not have it"
    ]


LIVE = ("check", "diff", "render", "blame", "ledger")
"""The other commands that plan against the cluster."""


@pytest.mark.quick
@pytest.mark.parametrize("verb", LIVE)
def test_the_plan_account_is_enough_for_every_live_command(verb: str, platform: Environment, tmp_path: Path) -> None:
    account = Account(platform.lab, "plan", tmp_path)
    field = ("deployment-model-service", "spec.replicas") if verb == "blame" else ()
    done = outcome(platform, account, verb, "dev", *field, "--live")
    assert (done.returncode, refusal(done)) == (0, ""), done.stdout + done.stderr


def test_the_plan_account_cannot_change_anything(platform: Environment, tmp_path: Path) -> None:
    """For each right to write, the API server accepts only a dry run of a request."""
    lab, account = platform.lab, Account(platform.lab, "plan", tmp_path)
    as_planner, namespace = f"--kubeconfig={account.kubeconfig}", f"--namespace={NAMESPACE}"
    writing = [right for right in rights("plan") if right.verb in ("create", "patch", "delete")]

    def items(right: Right) -> list[dict[str, Any]]:
        kind = f"{right.resource}.{right.group}".rstrip(".")
        found: list[dict[str, Any]] = json.loads(lab.kubectl("get", kind, namespace, "--output=json").stdout)["items"]
        return found

    def attempt(right: Right, *dry: str) -> Done:
        body = items(right)[0]
        kind, name = f"{right.resource}.{right.group}".rstrip("."), body["metadata"]["name"]
        match right.verb:
            case "create":
                kept = {key: body["metadata"][key] for key in ("labels", "namespace") if key in body["metadata"]}
                body = {**body, "metadata": {**kept, "name": "made-by-plan"}}
                body.get("spec", {}).pop("clusterIP", None)
                body.get("spec", {}).pop("clusterIPs", None)
                words, stdin = ("create", "--filename=-"), json.dumps(body)
            case "patch":
                change = json.dumps({"metadata": {"annotations": {"example.com/by": "plan"}}})
                words, stdin = ("patch", kind, name, "--type=merge", f"--patch={change}"), ""
            case _:
                words, stdin = ("delete", kind, name, "--wait=false"), ""
        return lab.kubectl(as_planner, namespace, *words, *dry, stdin=stdin, check=False)

    def uids(right: Right) -> dict[str, str]:
        return {one["metadata"]["name"]: one["metadata"]["uid"] for one in items(right)}

    scaled = {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "somebodys"},
        "spec": {"scaleTargetRef": {"name": "none"}, "triggers": [{"type": "cpu", "metadata": {"value": "1"}}]},
    }
    lab.kubectl("create", namespace, "--filename=-", stdin=json.dumps(scaled))
    before = [uids(right) for right in writing]
    # The API server enforces a new policy after a moment.
    lab.wait("the policy", lambda: "only plans" in attempt(next(one for one in writing if one.verb == "patch")).stderr)
    for right in writing:
        assert "only plans" in attempt(right).stderr, right
        done = attempt(right, "--dry-run=server")
        assert done.returncode == 0, (right, done.stderr)
    assert [uids(right) for right in writing] == before
    lab.kubectl("delete", "scaledobject", "somebodys", namespace)


def asking(right: Right, runs: dict[str, str]) -> tuple[str, ...]:
    """The command that needs a right."""
    job = "search" if right.resource == "rayjobs" else "train"
    match right.verb, right.resource:
        case "create", _:
            return ("job", "submit", "dev", job)
        case "delete", _:
            return ("job", "cancel", "dev", runs[job], "--yes")
        case _, "pods/log":
            return ("job", "logs", "dev", runs["started"])
        case _, "jobs" | "rayjobs":
            return ("job", "list", "dev")
        case _:
            return ("gpus", "--live", "dev")


def test_rights_for_jobs_are_needed_and_enough(queue: Environment, tmp_path: Path) -> None:
    account = Account(queue.lab, "jobs", tmp_path)
    runs = {}
    # The last two jobs wait until they are cancelled.
    for name, job in (("started", "train"), ("train", "train"), ("search", "search")):
        done = outcome(queue, account, "job", "submit", "dev", job, "--json")
        assert (done.returncode, refusal(done)) == (0, ""), done.stdout + done.stderr
        runs[name] = json.loads(done.stdout)["run"]
    for command in (("job", "list", "dev"), ("job", "why", "dev", runs["train"]), ("gpus", "--live", "dev")):
        done = outcome(queue, account, *command)
        assert (done.returncode, refusal(done)) == (0, ""), done.stdout + done.stderr
    selector = f"--selector=modelyard.dev/run={runs['started']}"
    pods = ("get", "pods", f"--namespace={NAMESPACE}", selector, "--output=jsonpath={.items[*].spec.nodeName}")
    # Only the CRDs of Kueue are installed, so the test starts the Job.
    queue.lab.kubectl(
        "patch", "job", runs["started"], f"--namespace={NAMESPACE}", '--patch={"spec": {"suspend": false}}'
    )
    queue.lab.wait("a pod of the run", lambda: queue.lab.kubectl(*pods).stdout != "")
    # A simulated node has no log, but the account may request it.
    assert refusal(outcome(queue, account, "job", "logs", "dev", runs["started"])) == ""
    superfluous = []
    for right in rights("jobs"):
        with account.without(right):
            if not named(right, outcome(queue, account, *asking(right, runs))):
                superfluous.append(str(right))
    assert superfluous == []
    for run in (runs["train"], runs["search"]):
        assert outcome(queue, account, "job", "cancel", "dev", run, "--yes").returncode == 0


def given(use: str) -> set[tuple[str, str, str]]:
    """Group, resource and verb of each right of a manifest."""
    return {(right.group, right.resource, right.verb) for right in rights(use)}


def test_rights_to_apply_include_the_rights_to_plan() -> None:
    assert given("plan") <= given("apply")


WARNED = ("resourcequotas", "horizontalpodautoscalers")
"""Kinds whose list is optional for a plan: without it, the plan warns and an apply continues."""


def test_an_apply_stops_if_its_plan_lacks_a_right(platform: Environment, tmp_path: Path) -> None:
    account = Account(platform.lab, "apply", tmp_path)
    superfluous = []
    for right in rights("apply"):
        if (right.group, right.resource, right.verb) not in given("plan"):
            continue
        warned = right.verb == "list" and right.resource in WARNED
        with account.without(right):
            done = outcome(platform, account, *(("plan", "dev", "--live") if warned else ("apply", "dev", "--yes")))
        if not named(right, done) or (done.returncode == 0) != warned:
            superfluous.append(str(right))
    assert superfluous == []


class Applying(NamedTuple):
    """A stack that is only applied by an account with the rights for applying."""

    env: Environment
    account: Account

    def passes(self, *command: str) -> float:
        """Runs a command that has all its rights; returns the seconds that it took."""
        began = time.monotonic()
        done = outcome(self.env, self.account, *command)
        assert (done.returncode, refusal(done)) == (0, ""), done.stdout + done.stderr
        return time.monotonic() - began

    def change(self, value: str, *kinds: str) -> None:
        """Changes an annotation of the pods or of the Service."""
        bodies = {
            "deployment": {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"metadata": {}}}},
            "service": {"apiVersion": "v1", "kind": "Service", "metadata": {}},
        }
        for kind in kinds:
            body = bodies[kind]
            inner = body["spec"]["template"]["metadata"] if "spec" in body else body["metadata"]
            inner["annotations"] = {"example.com/turn": value}
            folder = self.env.folder / "patches" / f"turn-{kind}" / "v1"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "meta.yaml").write_text("description: Another turn.\nparams: {}\n")
            (folder / "schema.json").write_text('{"type": "object", "properties": {}}')
            text = f"# target: {kind}-model-service\n\n{yaml.safe_dump(body)}"
            (folder / "patch.yaml.j2").write_text(text)


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Applying]:
    """The stack after its first apply, with only the role's rights."""
    folder = tmp_path_factory.mktemp("applying")
    with environment("dev", folder) as env:
        env.lab.install_crds()
        manage(env)
        config(env, **POOL)
        env.init()
        account = Account(env.lab, "apply", folder)
        env.env["KUBECONFIG"] = str(account.kubeconfig)
        found = Applying(env, account)
        found.change("first", "deployment", "service")
        with ready_scalers(env.lab):
            found.passes("apply", "dev", "--yes")
        yield found


@pytest.fixture
def applying(applied: Applying) -> Iterator[Applying]:
    """The stack; after each test, its state is unlocked for the next one."""
    yield applied
    env = applied.env
    try:
        # After a run is killed, its keeper process waits for the engine to end.
        env.lab.wait("the end of the run", lambda: locks(env) == [], within=GRACE + KILL_GRACE)
    except LabError:
        env.pulumi("cancel", "--yes", "--stack", env.name)
        raise


@contextmanager
def ready_scalers(lab: Lab) -> Iterator[None]:
    """Marks each ScaledObject as ready, as KEDA does."""
    over = Event()
    status = json.dumps({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    of = ("scaledobjects", f"--namespace={NAMESPACE}")

    def work() -> None:
        while not over.wait(0.5):
            for name in lab.kubectl("get", *of, "--output=name", check=False).stdout.split():
                lab.kubectl(
                    "patch", name, of[1], "--subresource=status", "--type=merge", f"--patch={status}", check=False
                )

    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_nothing_is_deleted_without_the_right_to_delete(applying: Applying) -> None:
    (right,) = (one for one in rights("apply") if (one.resource, one.verb) == ("scaledobjects", "delete"))
    less = {**POOL, "autoscaling": {"mode": "none"}, "flavors": [], "teams": [], "priorities": []}
    config(applying.env, **less)
    with applying.account.without(right):
        done = outcome(applying.env, applying.account, "apply", "dev", "--yes")
    assert done.returncode != 0
    assert named(right, done), done.stdout + done.stderr
    applying.passes("apply", "dev", "--yes")
    applying.passes("drift", "dev")


LISTED = {"replicasets": "deployment", "persistentvolumeclaims": "deployment", "endpoints": "service"}
"""The resource that Pulumi lists during a step, and the kind of the step."""


@pytest.mark.parametrize("resource", LISTED)
def test_a_step_does_not_complete_without_the_right_to_list(applying: Applying, resource: str) -> None:
    (right,) = (one for one in rights("apply") if (one.resource, one.verb) == (resource, "list"))
    env, account = applying.env, applying.account
    applying.change(f"with {resource}", LISTED[resource])
    usual = applying.passes("apply", "dev", "--yes")
    applying.change(f"without {resource}", LISTED[resource])
    began = account.now()
    with account.without(right), cli_process(env, "apply", "dev", "--yes") as run:
        env.lab.wait(f"without {right}", lambda: account.asked(began)["forbid", right[3:]] > 0, within=300)
        assert not run.ends_within(usual)
        send_signal([run.process.pid], signal.SIGINT)
        code, *_ = run.end()
    assert code != 0
    applying.passes("apply", "dev", "--yes")


def test_a_step_polls_without_the_rights_to_watch(applying: Applying) -> None:
    watching = [right for right in rights("apply") if right.verb == "watch"]
    lists = [(right.group, right.resource, "list") for right in watching]
    env, account = applying.env, applying.account
    applying.change("watched", "deployment", "service")
    began = account.now()
    applying.passes("apply", "dev", "--yes")
    usual = account.asked(began)
    applying.change("not watched", "deployment", "service")
    began = account.now()
    with account.without(*watching):
        done = outcome(env, account, "apply", "dev", "--yes")
    asked = account.asked(began)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [str(right) for right in watching if not asked["forbid", right[3:]]] == []
    assert [what for what in lists if asked["allow", what] <= usual["allow", what]] == []


def test_the_apply_account_is_enough_for_pulumi_up(applying: Applying) -> None:
    applying.change("pulumi up", "deployment", "service")
    began = applying.account.now()
    run = applying.env.up()
    assert sorted(run.changed) == ["deployment-model-service", "service-model-service"]
    # Pulumi lists events to explain what it waits for, and continues without them.
    refused = {what for answer, what in applying.account.asked(began) if answer == "forbid"}
    assert refused <= {("", "events", "list")}


def test_every_right_to_apply_is_used(applying: Applying, tmp_path: Path) -> None:
    config(applying.env, **POOL)
    applying.change("last", "deployment", "service")
    with ready_scalers(applying.env.lab):
        applying.passes("apply", "dev", "--yes")
    applying.passes("drift", "dev")
    applying._replace(account=Account(applying.env.lab, "read", tmp_path)).passes("drift", "dev")
    applying.passes("destroy", "dev", "--yes")
    assert given("apply") - given("plan") - applying.account.used() == set()
