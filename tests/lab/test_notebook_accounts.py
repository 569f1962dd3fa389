"""The account of a notebook server has the rights that its user needs and no others, and the API server
denies it the jobs of other users.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.install import PLATFORMS, nodes
from tests.lab.support.environment import Done, Environment
from tests.lab.support.notebook_files import cell, write_notebook
from tests.lab.support.notebook_project import notebook_project
from tests.lab.support.pool_stack import config, volume

USERS = ("ada", "grace")
SPACE = "--namespace=vision"
_ROLE = "/apis/rbac.authorization.k8s.io/v1/namespaces/vision/roles/notebook-access-vision"
GUARDED = "names its own user"


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A project with the objects of two users' notebook servers in one namespace, without the servers."""
    folder = tmp_path_factory.mktemp("accounts")
    with notebook_project(folder) as made:
        made.lab.install_crds()
        nodes(made.lab, PLATFORMS / "dev" / "nodes.yaml")
        for one in volume("workspace", "vision"):
            assert made.lab.request("POST", one.pop("path"), one).status == 201
        servers = {"image": "images.example.com/jupyter:1", "login": "login", "users": [{"name": one} for one in USERS]}
        notebooks = {"image": "images.example.com/notebook:1", "path": str(folder / "work"), "servers": servers}
        config(made, notebooks=notebooks)
        ours = [one for one in made.plan().targets if one.patches == ("notebook-servers@v2",)]
        bodies = [one.after.reveal() for one in ours if one.key.kind not in ("Deployment", "Service")]
        made.lab.kubectl("apply", "--filename=-", stdin="\n---\n".join(map(json.dumps, bodies)))
        for user in USERS:
            _account(made, user)
        # The API server enforces a new policy after a moment.
        stranger = _job("not-adas", "grace")
        made.lab.wait("the policy", lambda: GUARDED in as_user(made, "ada", "create", stdin=stranger, dry=True).stderr)
        yield made


def _account(env: Environment, user: str) -> None:
    """Writes the kubeconfig of a server's account."""
    account = json.loads(env.lab.kubeconfig.read_text())
    token = env.lab.kubectl("create", "token", f"notebook-account-{user}", SPACE).stdout
    account["users"][0]["user"] = {"token": token.strip()}
    _kubeconfig(env, user).write_text(json.dumps(account))


def _kubeconfig(env: Environment, user: str) -> Path:
    return env.folder.parent / f"kubeconfig-{user}"


def modelyard(env: Environment, user: str, *words: str) -> Done:
    """Runs modelyard as in a user's notebook server."""
    variables = {"KUBECONFIG": str(_kubeconfig(env, user)), "MODELYARD_USER": user}
    return env.modelyard(*words, check=False, env=variables)


def as_user(env: Environment, user: str, *words: str, stdin: str = "", dry: bool = False) -> Done:
    """Runs kubectl with the account of a user: only the API server checks the request."""
    options = [*(["--filename=-"] if stdin else []), *(["--dry-run=server"] if dry else [])]
    config = f"--kubeconfig={_kubeconfig(env, user)}"
    return env.lab.kubectl(config, SPACE, *words, *options, stdin=stdin, check=False)


def _job(name: str, user: str | None, **pod: Any) -> str:
    labels = {"modelyard.dev/user": user} if user is not None else {}
    containers = [{"name": "main", "image": "images.example.com/any:1"}]
    template = {"spec": {"restartPolicy": "Never", "containers": containers, **pod}}
    spec = {"suspend": True, "template": template}
    return json.dumps(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels}, "spec": spec}
    )


def submit(env: Environment, user: str, *more: str) -> Done:
    notebook = write_notebook(env.folder.parent / "work" / f"{user}.ipynb", cell("print(1)"))
    return modelyard(env, user, "job", "submit", str(notebook), "--stack", "dev", "--flavor", "a10", *more)


def submitted(env: Environment, user: str) -> str:
    done = submit(env, user, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return str(json.loads(done.stdout)["job"])


def job_names(env: Environment) -> set[str]:
    names = env.lab.kubectl("get", "jobs", SPACE, "--output=jsonpath={.items[*].metadata.name}").stdout
    return set(names.split())


@contextmanager
def without(env: Environment, number: int, resource: str, verb: str) -> Iterator[None]:
    """Removes one right of the role until the context ends."""
    role = env.lab.request("GET", _ROLE).body
    rule = role["rules"][number]
    rest = [
        {**rule, "resources": [one], "verbs": verbs}
        for one in rule["resources"]
        if (verbs := [each for each in rule["verbs"] if (one, each) != (resource, verb)])
    ]
    less = [*role["rules"][:number], *rest, *role["rules"][number + 1 :]]

    def put(rules: list[Any], answer: str) -> None:
        now = env.lab.request("GET", _ROLE).body
        assert env.lab.request("PUT", _ROLE, {**now, "rules": rules}).status == 200
        group = rule["apiGroups"][0]
        what, _, part = resource.partition("/")
        words = [verb, f"{what}.{group}" if group else what, *([f"--subresource={part}"] if part else [])]
        env.lab.wait(
            f"{verb} {resource}", lambda: as_user(env, "ada", "auth", "can-i", *words).stdout.strip() == answer
        )

    put(less, "no")
    try:
        yield
    finally:
        put(role["rules"], "yes")


def refusal(done: Done) -> str:
    """The missing rights that a command reports; empty if it reports none."""
    said = " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in said
    return said if "may not" in said or "forbidden" in said else ""


def test_every_right_of_the_account_is_needed(env: Environment) -> None:
    started, waiting = submitted(env, "ada"), submitted(env, "ada")
    # Only the CRDs of Kueue are installed, so the test starts the Job.
    env.lab.kubectl("patch", "job", started, SPACE, '--patch={"spec": {"suspend": false}}')
    find = ("get", "pods", SPACE, "--output=jsonpath={.items[*].spec.nodeName}")
    env.lab.wait("a pod with a node", lambda: env.lab.kubectl(*find).stdout != "")
    commands = {
        "create jobs": lambda: submit(env, "ada"),
        "get jobs": lambda: submit(env, "ada", "--wait"),
        "list jobs": lambda: modelyard(env, "ada", "job", "list", "dev", "--mine"),
        "delete jobs": lambda: modelyard(env, "ada", "job", "cancel", "dev", waiting, "--mine", "--yes"),
        "list pods": lambda: modelyard(env, "ada", "job", "logs", "dev", started),
        "get pods/log": lambda: modelyard(env, "ada", "job", "logs", "dev", started),
        "list localqueues": lambda: modelyard(env, "ada", "job", "list", "dev", "--mine"),
        "list workloads": lambda: modelyard(env, "ada", "job", "list", "dev", "--mine"),
    }
    rules = env.lab.request("GET", _ROLE).body["rules"]
    rights = [(n, what, verb) for n, rule in enumerate(rules) for what in rule["resources"] for verb in rule["verbs"]]
    assert {f"{verb} {resource}" for _, resource, verb in rights} == set(commands)
    superfluous = []
    for number, resource, verb in rights:
        with without(env, number, resource, verb):
            if resource.partition("/")[0] not in refusal(commands[f"{verb} {resource}"]()):
                superfluous.append(f"{verb} {resource}")
    assert superfluous == []
    for name in ("list pods", "delete jobs"):
        assert refusal(commands[name]()) == ""
    listed = json.loads(modelyard(env, "ada", "job", "list", "dev", "--json").stdout)
    # The account cannot list the platform's namespace, nor kinds that a server does not submit.
    assert set(listed["unread"]) == {"jobs of ml-platform", "rayjobs of ml-platform", "rayjobs of vision"}
    assert waiting not in job_names(env)


def test_an_account_lists_and_cancels_only_its_users_jobs(env: Environment) -> None:
    hers, other = submitted(env, "ada"), submitted(env, "grace")
    listed = json.loads(modelyard(env, "ada", "job", "list", "dev", "--mine", "--json").stdout)["runs"]
    assert {one["user"] for one in listed} == {"ada"}
    assert hers in {one["name"] for one in listed}
    # Without --mine the command tries to cancel the job, and the API server denies it.
    refused = modelyard(env, "ada", "job", "cancel", "dev", other, "--yes")
    assert (refused.returncode, GUARDED in " ".join((refused.stdout + refused.stderr).split())) == (1, True)
    assert GUARDED in as_user(env, "ada", "delete", "job", other, "--wait=false").stderr
    assert other in job_names(env)
    done = modelyard(env, "ada", "job", "cancel", "dev", hers, "--mine", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert hers not in job_names(env)
    assert modelyard(env, "grace", "job", "cancel", "dev", other, "--yes").returncode == 0


def test_an_account_cannot_create_jobs_for_other_users(env: Environment) -> None:
    for user in ("grace", None, ""):
        assert GUARDED in as_user(env, "ada", "create", stdin=_job("not-adas", user)).stderr
    as_grace = _job("with-graces-account", "ada", serviceAccountName="notebook-account-grace")
    assert "no Job may use the account of a notebook server" in as_user(env, "ada", "create", stdin=as_grace).stderr
    assert as_user(env, "ada", "create", stdin=_job("adas", "ada")).returncode == 0
    # The policy is only for accounts of servers.
    env.lab.kubectl("create", SPACE, "--filename=-", stdin=_job("anyones", None))
    env.lab.kubectl("delete", "job", "anyones", "adas", SPACE)
