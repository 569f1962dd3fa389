"""Notebook servers: their objects, findings about them, and their place in a plan."""

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelyard.cluster.connection import connect
from modelyard.kube.state import Quota, amounts
from modelyard.plan.values import TargetPlan
from modelyard.stack.jobs import Notebooks, NotebookServers, NotebookUser
from modelyard.stack.pool import Team

VISION, SPEECH = Team("vision", ()), Team("speech", (), namespace="speech-ml")
SERVERS = NotebookServers("images.example.com/jupyter:4.4.3", "jupyter-login", users=(NotebookUser("ada"),))


def notebooks(*users: NotebookUser, **changes: Any) -> Notebooks:
    servers = SERVERS._replace(users=users or SERVERS.users, **changes)
    return Notebooks("images.example.com/notebook:1", servers=servers)


def targets(site: Any) -> list[TargetPlan]:
    return [one for one in site.plan().targets if one.patches == ("notebook-servers@v2",)]


def body(site: Any, kind: str) -> Any:
    return next(one.after.reveal() for one in targets(site) if one.key.kind == kind)


def findings_of(site: Any) -> list[tuple[str, str, str]]:
    ours = ("RES210", "RES222", "RES223", "RES224")
    return [(one.code, one.field, one.summary) for one in site.plan().findings if one.code in ours]


def test_a_stack_without_notebook_servers_has_no_objects_for_them(dev: Any) -> None:
    assert targets(dev) == []
    assert targets(dev.asking(notebooks=Notebooks("images.example.com/notebook:1"))) == []


def test_the_objects_that_a_server_needs_come_before_it(dev: Any) -> None:
    made = targets(dev.asking(notebooks=notebooks(NotebookUser("ada"), NotebookUser("bob"))))
    assert [(one.key.kind, one.name) for one in made] == [
        ("Role", "notebook-access-ml-platform"),
        ("ServiceAccount", "notebook-account-ada"),
        ("ServiceAccount", "notebook-account-bob"),
        ("RoleBinding", "notebook-binding-ml-platform"),
        ("ConfigMap", "notebook-config-ml-platform"),
        ("ValidatingAdmissionPolicy", "notebook-guard-ml-platform"),
        ("ValidatingAdmissionPolicyBinding", "notebook-guard-ml-platform"),
        ("Deployment", "notebook-server-ada"),
        ("Deployment", "notebook-server-bob"),
        ("Service", "notebook-service-ada"),
        ("Service", "notebook-service-bob"),
    ]
    guards = {one.key.namespace for one in made if one.name == "notebook-guard-ml-platform"}
    assert ({one.key.namespace for one in made}, guards) == ({"ml-platform", ""}, {""})
    steps = [step.target for step in dev.asking(notebooks=notebooks()).plan().steps]
    needed = ("access", "binding", "config", "guard")
    before = [*(f"notebook-{one}-ml-platform" for one in needed), "notebook-account-ada"]
    assert max(steps.index(one) for one in before) < steps.index("notebook-server-ada")


def test_a_server_runs_in_the_namespace_of_its_team(dev: Any) -> None:
    both = notebooks(NotebookUser("ada", "vision"), NotebookUser("bob", "speech"), NotebookUser("eve", "vision"))
    made = targets(dev.asking(notebooks=both, teams=(VISION, SPEECH)))
    assert {(one.key.namespace, one.name) for one in made if one.key.kind in ("Deployment", "ServiceAccount")} == {
        ("vision", "notebook-account-ada"),
        ("speech-ml", "notebook-account-bob"),
        ("vision", "notebook-account-eve"),
        ("vision", "notebook-server-ada"),
        ("speech-ml", "notebook-server-bob"),
        ("vision", "notebook-server-eve"),
    }
    # The only team is the default.
    one = targets(dev.asking(notebooks=notebooks(), teams=(SPEECH,)))
    assert {target.key.namespace for target in one} == {"speech-ml", ""}


def test_a_server_has_no_gpu_and_few_rights(dev: Any) -> None:
    site = dev.asking(notebooks=notebooks(cpu="500m", memory="2048Mi"))
    pod = body(site, "Deployment")["spec"]["template"]["spec"]
    (server,) = pod["containers"]
    assert server["resources"] == {side: {"cpu": "500m", "memory": "2Gi"} for side in ("limits", "requests")}
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert server["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    rights = {
        f"{verb} {resource}"
        for rule in body(site, "Role")["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    jobs = {f"{verb} jobs" for verb in ("create", "delete", "get", "list")}
    assert rights == {*jobs, "list pods", "get pods/log", "list localqueues", "list workloads"}
    assert {"name": "MODELYARD_USER", "value": "ada"} in server["env"]
    assert pod["serviceAccountName"] == "notebook-account-ada"
    assert body(site, "ServiceAccount")["automountServiceAccountToken"] is False
    password = {"name": "jupyter-login", "key": "ada"}
    assert {"name": "NOTEBOOK_PASSWORD", "valueFrom": {"secretKeyRef": password}} in server["env"]
    assert next(one for one in site.plan().targets if one.name == "notebook-server-ada").gpus == (0, 0)


def test_special_characters_in_a_path_are_escaped(dev: Any) -> None:
    strange = notebooks(project='/srv/a"b\\c')._replace(path="/srv/it's")
    text = body(dev.asking(notebooks=strange), "ConfigMap")["data"]["jupyter_server_config.py"]
    values = {
        ast.unparse(one.targets[0]): ast.literal_eval(one.value)
        for one in ast.parse(text).body
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant)
    }
    assert values["c.ServerApp.root_dir"] == "/srv/it's"
    assert values["c.Modelyard.project"] == '/srv/a"b\\c'
    assert values["c.Modelyard.stack"] == "dev"
    assert values["c.MappingKernelManager.cull_idle_timeout"] == 3600


def test_only_a_changed_configuration_restarts_a_server(dev: Any) -> None:
    def template(*users: NotebookUser, **changes: Any) -> Any:
        return body(dev.asking(notebooks=notebooks(*users, **changes)), "Deployment")["spec"]["template"]

    assert template() == template(NotebookUser("ada"), NotebookUser("bob"))
    assert template() != template(kernel_idle=600)
    assert template() != template(project="/srv/platform")


def test_the_kubeconfig_of_a_server_names_the_cluster_as_the_stack_does(
    dev: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the cluster of the server itself; the token is read from the file that the kubelet renews."""
    from modelyard.cluster.connection import transport

    for context in ("prod-eks", None):
        site = dev._replace(stack=dev.stack._replace(context=context)).asking(notebooks=notebooks())
        text = body(site, "ConfigMap")["data"]["kubeconfig"]
        (tmp_path / "token").write_text("first")
        account = "/var/run/secrets/kubernetes.io/serviceaccount"
        written = yaml.safe_load(text.replace(f"{account}/token", str(tmp_path / "token")))
        cluster = written["clusters"][0]["cluster"]
        assert cluster == {"server": "https://kubernetes.default.svc", "certificate-authority": f"{account}/ca.crt"}
        # The test machine has neither that file nor that host name.
        written["clusters"][0]["cluster"] = {"server": "http://127.0.0.1:9"}
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(written))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        http = transport(connect(context))
        flow = http.auth.sync_auth_flow(http.build_request("GET", "/api"))
        assert next(flow).headers["Authorization"] == "Bearer first"


def test_each_invalid_notebook_server_is_reported(dev: Any) -> None:
    twice = dev.asking(notebooks=notebooks(NotebookUser("ada"), NotebookUser("ada")))
    ((code, field, said),) = findings_of(twice)
    assert (code, field, "ada" in said) == ("RES222", "notebooks.servers.users[1].name", True)
    teamless = dev.asking(notebooks=notebooks(), teams=(VISION, SPEECH))
    summary = "notebook server ada names no team, and the stack has several"
    assert findings_of(teamless) == [("RES223", "notebooks.servers.users[0]", summary)]
    unknown = dev.asking(notebooks=notebooks(NotebookUser("ada", "visoin")), teams=(VISION, SPEECH))
    summary = "notebook server ada names the team visoin, which is not defined"
    assert findings_of(unknown) == [("RES210", "notebooks.servers.users[0].team", summary)]
    assert targets(unknown) == targets(teamless) == []
    useless = dev.asking(notebooks=notebooks()._replace(image=None))
    summary = "notebook servers cannot submit jobs: notebooks.image is not set"
    assert findings_of(useless) == [("RES224", "notebooks.servers", summary)]
    assert not useless.plan().blocked
    away = dev.asking(notebooks=notebooks(), teams=(SPEECH._replace(clusters=("farm",)),))
    summary = "notebook server ada cannot submit jobs: team speech runs its jobs in worker clusters"
    assert findings_of(away) == [("RES224", "notebooks.servers.users[0]", summary)]


def test_servers_beyond_every_node_or_quota_are_reported(dev: Any) -> None:
    large = dev.asking(notebooks=notebooks(memory="4Ti")).plan()
    assert [one.target for one in large.findings if one.code == "RES101"] == ["notebook-server-ada"]
    quota = Quota("ml-platform", "small", amounts({"requests.memory": "1Gi"}), amounts({"requests.memory": "0"}))
    full = dev._replace(state=dev.state._replace(quotas=(quota,))).asking(notebooks=notebooks()).plan()
    assert "RES108" in {one.code for one in full.findings if one.blocks}
