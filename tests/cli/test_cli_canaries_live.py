"""Secrets in a cluster: no verb that reads it prints or writes one, in any format."""

import copy
import json
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from modelyard.cluster.recorded import load_recorded
from modelyard.engine.applied import AppliedStack
from modelyard.hiding import Confidential
from modelyard.kube.kinds import KINDS
from modelyard.plan.drift import AppliedObject, kept
from modelyard.plan.project import plan_recorded
from tests.support.api_server import ApiServer, api_server, status
from tests.support.pool_objects import (
    LONG_AGO,
    POOL,
    RECENTLY,
    cluster_queue,
    condition,
    flavor,
    job,
    local_queue,
    node,
    pod,
    waits,
    workload,
)
from tests.support.secret_canaries import ENVIRONMENT, canary, checked, encoded, leaked, lines, repository

pytestmark = pytest.mark.slow

RUN, LATE, FAILED = "train-abc12", "late-bcd23", "old-cde34"
PATCH = """# target: deployment-ray-head
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
        - name: ray-head
          args: [--password, {{ phrase }}, --level=2]
          env:
            - {name: DB_PASSWORD, value: "{{ phrase }}"}
            - {name: BROKER, value: "amqp://guest:{{ phrase }}@broker:5672/ml"}
---
# target: ml-files
apiVersion: v1
kind: ConfigMap
data:
  a.yaml: |
    shared: &shared {level: 1}
    more: *shared
    passwords:
      - {{ phrase }}
"""
TEXTS = (
    f"amqp://guest:{canary(110)}@broker:5672/ml",
    f"export HF_TOKEN={canary(111)}; run",
    f"Authorization: Bearer {canary(112)}",
    f"shared: &a {{b: 1}}\nmore: *a\npasswords:\n- {canary(113)}\n",
    json.dumps({"tokens": [canary(114)]}),
    encoded(f"password: {canary(115)}"),
)
"""Values of fields whose names do not suggest secrets."""


def planted_in(body: Any, suffix: str = "") -> Any:
    """An object of the cluster with secrets wherever they can stand, in variables with names that end so."""
    body = copy.deepcopy(body)
    noted = {"kind": body["kind"], "spec": {"env": [{"name": "DB_PASSWORD", "value": canary(120)}]}}
    body["metadata"].setdefault("annotations", {}).update(
        {
            "kubectl.kubernetes.io/last-applied-configuration": json.dumps(noted),
            **{f"example.com/text-{at}": text for at, text in enumerate(TEXTS)},
            "example.com/api-token": canary(121),
        }
    )
    for container in (((body.get("spec") or {}).get("template") or body).get("spec") or {}).get("containers") or ():
        container["args"] = ["--password", canary(122), f"--api-key={canary(123)}", "--pats", canary(124)]
        container["command"] = ["sh", "-c", f"mysql -u root -p{canary(125)}; vault login {canary(126)}"]
        env = [
            {"name": f"DBTOKENS{suffix}", "value": canary(127)},
            {"name": f"stripe_key{suffix}", "value": canary(128)},
            *({"name": f"TEXT_{at}{suffix}", "value": text} for at, text in enumerate(TEXTS)),
        ]
        container["env"] = [*container.get("env", ()), *env]
    return body


def overlaid(there: Any, sent: Any) -> Any:
    """Roughly what an apply makes of an object: mappings key by key, lists of named items by their names."""
    if isinstance(there, Mapping) and isinstance(sent, Mapping):
        return {**there, **{key: overlaid(there.get(key), inner) for key, inner in sent.items()}}
    if (
        isinstance(there, list)
        and isinstance(sent, list)
        and sent
        and isinstance(sent[0], Mapping)
        and "name" in sent[0]
    ):
        mine = {item["name"]: item for item in sent}
        kept = [overlaid(item, mine.pop(item["name"])) if item.get("name") in mine else item for item in there]
        return [*kept, *mine.values()]
    return sent


def answers(there: Any, sent: Any, force: bool) -> tuple[int, Any]:
    """An API server with a field conflict, and a webhook that adds secrets."""
    if not force:
        field = '.spec.template.spec.containers[name="ray-head"].env[name="DB_PASSWORD"].value'
        causes = [
            {"reason": "FieldManagerConflict", "field": field, "message": 'conflict with "kubectl" using apps/v1'}
        ]
        return 409, {**status("Apply failed with 1 conflict", 409), "details": {"causes": causes}}
    return 200, planted_in(overlaid(there or {}, sent), "_2")


def refuses(there: Any, sent: Any, force: bool) -> tuple[int, Any]:
    """An API server whose webhook quotes the request that it denies."""
    said = f'admission webhook "a.example.com" denied the request: {canary(130)} and {TEXTS[0]} are no values'
    return (403, status(said, 403)) if force else answers(there, sent, force)


@pytest.fixture
def cluster(project: Any, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ApiServer]:
    """The example platform and a pool with runs, all with secrets, behind an API server."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for stack in ("staging", "prod"):
        project.stack_file(stack).unlink()
    repository(project.root)
    schema = {"type": "object", "properties": {"phrase": {"type": "string"}}}
    project.patch("zz-mine", PATCH, "description: mine\noverrides: [ray-head]\n", json.dumps(schema))
    project.edit(("config:\n", f"config:{POOL}"))
    project.add(f"modelyard:patches: [{{name: zz-mine, params: {{phrase: {canary(130)}}}}}]")
    folder = project.root / "stacks/recorded/dev"
    there = json.loads((folder / "cluster.json").read_text())
    files = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "ml-files", "namespace": "ml-platform"},
        "data": {"a.yaml": f"token: {canary(131)}\n", ".netrc": f"machine a login b password {canary(132)}"},
        "spec": {},
    }
    platform = [json.loads(file.read_text()) for file in sorted(folder.glob("*.*.*.json"))]
    running = job(RUN, workers=1, active=1, ready=1, startTime=LONG_AGO)
    waiting = job(LATE, suspend=True, since=RECENTLY)
    said = f"pulling https://u:{canary(140)}@registry.example.com failed"
    failed = job(FAILED, conditions=[condition("Failed", reason="BackoffLimit", message=said)], startTime=LONG_AGO)
    worker = pod(f"{RUN}-0-x", "n0", run=RUN, owner=("Job", RUN, f"uid-of-{RUN}"))
    worker["status"]["containerStatuses"] = [
        {"name": "a", "state": {"waiting": {"reason": "ImagePullBackOff", "message": said}}}
    ]
    with api_server(tmp_path) as made:
        made.objects |= {
            "nodes": [*there["nodes"], node("n0", gpus=1)],
            "pods": [planted_in(worker | {"kind": "Pod"})],
            "jobs": [planted_in(one | {"kind": "Job"}) for one in (running, waiting, failed)],
            "rayjobs": [],
            "workloads": [workload(running, queue="team-vision"), workload(waiting, waits(said))],
            "clusterqueues": [cluster_queue("team-vision", 2, 2)],
            "localqueues": [local_queue()],
            "resourceflavors": [flavor()],
            "events": [],
        }
        for body in (*platform, files):
            made.objects.setdefault(KINDS[body["apiVersion"], body["kind"]].plural, []).append(planted_in(body))
        made.logs = {worker["metadata"]["name"]: [f"{text}\n".encode() for text in TEXTS[2:3]]}
        made.answers = {
            "/version": {"gitVersion": there["version"]},
            "/api/v1/namespaces/kube-system": {"metadata": {"uid": there["identity"]}},
        }
        made.applied = answers
        made.page = 500
        monkeypatch.setenv("KUBECONFIG", str(made.kubeconfig))
        for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("no_proxy", "*")
        yield made


def applied(root: Path, stack: Path) -> AppliedStack:
    """As if the offline plan had been applied."""
    plan = plan_recorded(root, stack, date(2026, 11, 21)).plan
    assert plan is not None
    return AppliedStack(
        plan.cluster, tuple(AppliedObject(target.key, Confidential(kept(target)), True) for target in plan.targets)
    )


def live_lines(verb: str, out: Path) -> Iterator[tuple[str, ...]]:
    """A verb's command lines, with --live if it has the option."""
    for words in lines(verb, out):
        if verb == "gpus":
            yield (*(word for word in words if word not in ("a100", "--supported", "--embeds-ptx")), "--live", "dev")
        elif verb in LIVE and "--live" not in words:
            yield (*words, "--live")
        else:
            yield tuple({"train-1": RUN, "train": RUN}.get(word, word) if verb == "job" else word for word in words)


LIVE = ("plan", "check", "diff", "blame", "ledger", "preview")
LOOKING = (*LIVE, "record", "drift", "gpus", "job")
"""Verbs that read a cluster without the engine."""


@pytest.mark.parametrize("said", [answers, refuses])
@pytest.mark.parametrize("verb", LOOKING)
def test_no_verb_shows_a_secret_of_a_cluster(
    project: Any,
    run: Any,
    cli: Any,
    cluster: ApiServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    verb: str,
    said: Any,
) -> None:
    cluster.applied = said
    done = applied(project.root, project.stack_file())
    monkeypatch.setattr("modelyard.engine.applied.applied_stack", lambda _root, _stack, **_: done)
    monkeypatch.setattr("modelyard.cli.drift.need_engine", lambda: None)
    out = tmp_path / "out"
    out.mkdir()
    before = cli.tree(project.root)
    ends = set()
    for words in live_lines(verb, out):
        result = run(*words)
        checked(result, words)
        ends.add(result.code)
        files = {name: text for name, text in cli.tree(project.root).items() if text and before.get(name) != text}
        files |= {name: text for name, text in cli.tree(out).items() if text}
        assert [name for name, text in files.items() if leaked(text.decode(errors="replace"))] == [], words
    # Some options are refused; the cluster is always reachable.
    assert ends & {0, 1}
    assert ends <= {0, 1, 2}


def test_init_writes_no_secret_of_a_cluster(project: Any, run: Any, cli: Any, cluster: ApiServer) -> None:
    before = cli.tree(project.root)
    words = ("init", "--from-cluster", "--stacks", "found", "--yes")
    result = run(*words)
    assert result.code == 0, result
    checked(result, words)
    files = {name: text for name, text in cli.tree(project.root).items() if text and before.get(name) != text}
    assert "stacks/Pulumi.found.yaml" in files
    assert [name for name, text in files.items() if leaked(text.decode(errors="replace"))] == []


DEEP = {
    "the plan": "modelyard.plan.project.make_plan",
    "a field of it": "modelyard.plan.secrets.hidden_below",
    "a diff": "modelyard.plan.secrets.hidden_pair",
    "what drifted": "modelyard.plan.drift.compare",
    "what is recorded": "modelyard.cluster.recorded.hidden",
    "an answer": "modelyard.cluster.dryrun.taken",
    "an object that is read": "modelyard.cluster.live.key_of",
}
"""Functions that handle objects."""
RAISED = (KeyError, TypeError, ValueError, RuntimeError, AssertionError, LookupError, AttributeError, RecursionError)


@pytest.mark.parametrize("place", DEEP.values(), ids=DEEP)
def test_a_crash_does_not_quote_objects(
    project: Any, run: Any, cluster: ApiServer, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    done = applied(project.root, project.stack_file())
    monkeypatch.setattr("modelyard.engine.applied.applied_stack", lambda _root, _stack, **_: done)
    monkeypatch.setattr("modelyard.cli.drift.need_engine", lambda: None)
    crashed = 0
    commands = [
        ("plan", "dev", "--live"),
        ("plan", "dev", "--live", "--json"),
        ("diff", "dev", "--live"),
        ("drift", "dev", "--json"),
        ("record", "dev"),
    ]
    came: list[object] = []
    for raised in RAISED:

        def broken(*given: object, raised: type[Exception] = raised, **more: object) -> None:
            came.append(given)
            secret = canary(150)
            raise raised(f"{secret} {given} {more}", given) from ValueError(secret)

        with monkeypatch.context() as patched:
            patched.setattr(place, broken)
            reached = []
            for words in commands:
                came.clear()
                result = run(*words)
                assert not leaked(result.text), (raised, words, leaked(result.text)[:3])
                crashed += result.code == 70
                if came:
                    reached.append(words)
        # A command that does not call the function does not call it with the next exception either.
        commands = reached
    assert crashed


def test_the_verbs_read_the_cluster(
    project: Any, run: Any, cluster: ApiServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The outputs in which the tests above find no secrets are not empty."""
    done = applied(project.root, project.stack_file())
    monkeypatch.setattr("modelyard.engine.applied.applied_stack", lambda _root, _stack, **_: done)
    monkeypatch.setattr("modelyard.cli.drift.need_engine", lambda: None)
    for words, seen in (
        (("plan", "dev", "--live", "--notes"), "(hidden)"),
        (("plan", "dev", "--live", "--json"), "DB_PASSWORD"),
        (("diff", "dev", "--live"), "(hidden"),
        (("drift", "dev"), "(hidden"),
        (("drift", "dev", "--json"), "(hidden"),
        (("record", "dev"), "recorded"),
        (("job", "list", "dev"), RUN),
        (("job", "why", "dev", LATE), "(hidden)"),
        (("gpus", "--live", "dev"), "n0"),
    ):
        result = run(*words)
        assert result.code in (0, 1), (words, result.text)
        assert seen in result.text, (words, result.text)
    state, _ = load_recorded(project.root, "dev")
    assert state is not None
    assert "(hidden)" in json.dumps(list(state.objects.reveal().values()))
