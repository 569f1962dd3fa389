"""Previews of live clusters: pending changes are separate, and the base chooses what is read."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml

from modelyard.kube.kinds import KINDS
from modelyard.preview import Preview
from modelyard.report.html.page import html_page
from modelyard.report.preview.json import preview_document
from modelyard.report.preview.markdown import preview_markdown
from modelyard.report.preview.text import preview_text
from tests.support.api_server import ApiServer, api_server
from tests.support.git_repository import Repository
from tests.support.project_copies import FAR

pytestmark = pytest.mark.slow

DEV = "stacks/Pulumi.dev.yaml"
SERVICE = "deployment-model-service"


def serve(server: ApiServer, recorded: Path) -> None:
    """The cluster is as it was recorded."""
    there = json.loads((recorded / "cluster.json").read_text())
    server.page = 500
    server.objects["nodes"] = there["nodes"]
    for file in sorted(recorded.glob("*.*.*.json")):
        body = json.loads(file.read_text())
        server.objects.setdefault(KINDS[body["apiVersion"], body["kind"]].plural, []).append(body)
    server.answers = {
        "/version": {"gitVersion": there["version"]},
        "/api/v1/namespaces/kube-system": {"metadata": {"uid": there["identity"]}},
    }


@pytest.fixture
def cluster(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """The cluster of dev, as it was recorded."""
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with api_server(tmp_path) as server:
        serve(server, repository.root / "stacks/recorded/dev")
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
        yield server


def deployment(server: ApiServer, name: str = SERVICE) -> Any:
    return next(body for body in server.objects["deployments"] if body["metadata"]["name"] == name)


def memory(body: Any, to: str | None = None) -> str:
    resources = body["spec"]["template"]["spec"]["containers"][0]["resources"]
    if to is not None:
        resources["limits"]["memory"] = resources["requests"]["memory"] = to
    found: str = resources["limits"]["memory"]
    return found


def changes(preview: Preview, stack: str = "dev") -> dict[str, tuple[Any, Any]]:
    """Fields that the branch changes in a stack."""
    found = next(one for one in preview.stacks if one.stack == stack)
    return {f"{target.name} {field.path[-1]}": field[1:3] for target in found.targets for field in target.fields}


def test_pending_changes_of_main_are_not_changes_of_the_branch(repository: Repository, cluster: ApiServer) -> None:
    # Main's plan changes the platform, which was recorded before modelyard was applied; the branch changes one thing.
    repository.edit(DEV, "memory: 32Gi", "memory: 40Gi")
    offline, live = repository.preview(), repository.preview(live=True)
    assert changes(live) == changes(offline)
    assert live.offline == ()
    (dev,) = live.stacks
    assert dev.pending is not None
    # modelyard's own annotations, the only change of a fifth object, do not count.
    assert dev.pending.objects == 4
    assert dev.pending.fields > 4
    assert offline.stacks[0].pending is None
    document = preview_document(live)
    assert document["stacks"][0]["pending"] == dev.pending._asdict()
    page = html_page(document, title="preview")
    for form in (" ".join(" ".join(preview_text(live)).split()), preview_markdown(live), page):
        assert re.search(rf"already .*: {dev.pending.fields} fields in 4 objects", form)


def test_the_change_starts_from_the_cluster_and_not_from_the_recording(
    repository: Repository, cluster: ApiServer
) -> None:
    # Somebody scaled what no patch sets.
    deployment(cluster, "deployment-ray-head")["metadata"]["labels"]["team"] = "theirs"
    first = repository.preview(live=True)
    assert first.stacks == ()
    # The service already has what the branch asks for: against the base's plan it is a change all the same.
    memory(deployment(cluster), "48Gi")
    repository.edit(DEV, "memory: 16Gi", "memory: 48Gi")
    found = repository.preview(live=True)
    assert changes(found)[f"{SERVICE} memory"] == ("16Gi", "48Gi")
    (dev,) = found.stacks
    memory(deployment(cluster), "16Gi")
    (again,) = repository.preview(live=True).stacks
    assert dev.pending is not None
    assert again.pending is not None
    # The base would set limit and request back.
    assert dev.pending.fields - again.pending.fields == 2


def test_only_reads_are_sent(repository: Repository, cluster: ApiServer) -> None:
    repository.edit(DEV, "memory: 32Gi", "memory: 40Gi")
    cluster.applied = None  # an apply, even a dry run, fails the test
    repository.preview(live=True)
    assert cluster.asked.count("/api/v1/nodes") == 1
    assert len(cluster.asked) == len(set(cluster.asked))
    assert not cluster.deleted


def test_forbidden_lists_are_named(repository: Repository, cluster: ApiServer) -> None:
    cluster.objects["horizontalpodautoscalers"] = []
    cluster.answers |= {"/apis/autoscaling/v2": {}}
    cluster.forbidden = {"resourcequotas", "horizontalpodautoscalers", "scaledobjects"}
    repository.edit(DEV, "memory: 32Gi", "memory: 40Gi")
    found = repository.preview(live=True)
    # The cluster has no KEDA, so nothing is missing without its ScaledObjects.
    lists = ("resourcequotas of ml-platform", "horizontalpodautoscalers of ml-platform")
    assert (found.offline, found.unlisted) == ((), (("dev", "", lists),))
    line = f"may not list {' or '.join(lists)}, "
    for form in (" ".join(" ".join(preview_text(found)).split()), preview_markdown(found)):
        assert line in form
    document = preview_document(found)
    assert document["unlisted"] == [{"stack": "dev", "cluster": "", "lists": list(lists)}]
    assert line in html_page(document, title="preview")
    cluster.forbidden = set()
    assert repository.preview(live=True).unlisted == ()


def shared(repository: Repository) -> None:
    """Staging runs in the cluster of dev, as on main."""
    text = (repository.root / DEV).read_text()
    (repository.root / "stacks/Pulumi.staging.yaml").write_text(text)
    for file in (repository.root / "stacks/recorded/dev").iterdir():
        (repository.root / "stacks/recorded/staging" / file.name).write_bytes(file.read_bytes())
    repository.on_main()


def test_a_cluster_of_several_stacks_is_read_once(repository: Repository, cluster: ApiServer) -> None:
    shared(repository)
    for file in (DEV, "stacks/Pulumi.staging.yaml"):
        repository.edit(file, "memory: 32Gi", "memory: 40Gi")
    found = repository.preview(live=True)
    assert [one.stack for one in found.stacks if one.pending is not None] == ["dev", "staging"]
    assert len(cluster.asked) == len(set(cluster.asked))


def test_a_stack_that_does_not_change_is_not_read(repository: Repository, cluster: ApiServer) -> None:
    repository.edit("stacks/Pulumi.prod.yaml", "kubernetes:context: prod", "kubernetes:context: prod # the same")
    found = repository.preview(live=True)
    assert (found.stacks, found.offline, cluster.asked) == ((), (), [])


def gone(repository: Repository, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers = {}


def forbidden(repository: Repository, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.forbidden = {"nodes"}


def without_kubeconfig(repository: Repository, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/dev/null")


def without_context(repository: Repository, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["contexts"][0]["name"] = "other"
    server.kubeconfig.write_text(yaml.safe_dump(config))


def another_cluster(repository: Repository, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers["/api/v1/namespaces/kube-system"] = {"metadata": {"uid": "another"}}


def brought_along(repository: Repository, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of the kubeconfig is in the checkout."""
    (repository.root / "kubeconfig").write_text(server.kubeconfig.read_text())
    monkeypatch.chdir(repository.root)
    monkeypatch.setenv("KUBECONFIG", "kubeconfig")


def other_context(repository: Repository, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["contexts"].append({"name": "more", "context": config["contexts"][0]["context"]})
    server.kubeconfig.write_text(yaml.safe_dump(config))
    repository.edit(DEV, "kubernetes:context: dev", "kubernetes:context: more")


def other_namespace(repository: Repository, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.edit(DEV, "namespace: ml-platform", "namespace: kube-system")


Way = Callable[[Repository, ApiServer, pytest.MonkeyPatch], None]


@pytest.mark.parametrize(
    ("way", "why"),
    [
        (gone, "kube-system"),
        (forbidden, "may not read nodes"),
        (without_kubeconfig, "kubeconfig"),
        (without_context, "has no context 'dev'"),
        (another_cluster, "another cluster than the recorded one"),
    ],
)
def test_a_cluster_that_cannot_be_read_is_replaced_by_its_recording(
    repository: Repository, cluster: ApiServer, monkeypatch: pytest.MonkeyPatch, way: Way, why: str
) -> None:
    repository.edit(DEV, "memory: 32Gi", "memory: 40Gi")
    expected = repository.preview()
    way(repository, cluster, monkeypatch)
    found = repository.preview(live=True)
    ((stack, reason),) = found.offline
    assert stack == "dev"
    assert why in reason
    assert found._replace(offline=()) == expected
    for form in (" ".join(" ".join(preview_text(found)).split()), preview_markdown(found)):
        assert re.search(r"\brecorded .*, not .*: dev \(", form)
    assert preview_document(found)["offline"] == [{"stack": "dev", "why": reason}]


@pytest.mark.parametrize(
    ("way", "why"),
    [
        (brought_along, "in the repository"),
        (other_context, "changes kubernetes:context"),
        (other_namespace, "changes the namespace"),
    ],
)
def test_the_branch_does_not_choose_the_cluster(
    repository: Repository, cluster: ApiServer, monkeypatch: pytest.MonkeyPatch, way: Way, why: str
) -> None:
    repository.edit(DEV, "memory: 32Gi", "memory: 40Gi")
    way(repository, cluster, monkeypatch)
    found = repository.preview(live=True)
    ((stack, reason),) = found.offline
    assert (stack, why in reason, cluster.asked) == ("dev", True, [])
    assert [one.pending for one in found.stacks] == [None]


def test_a_stack_that_the_branch_adds_is_not_read(repository: Repository, cluster: ApiServer) -> None:
    repository.add("stacks/Pulumi.new.yaml", (repository.root / DEV).read_text())
    found = repository.preview(live=True)
    assert [one.stack for one in found.offline] == ["new"]
    assert cluster.asked == []


def test_objects_in_other_namespaces_are_not_read(repository: Repository, cluster: ApiServer) -> None:
    base = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: kube-system}\ndata: {a: b}\n"
    repository.add("patches/spy/v1/base.yaml.j2", base)
    repository.add("patches/spy/v1/patch.yaml.j2", "# target: theirs\napiVersion: v1\nkind: ConfigMap\ndata: {a: c}\n")
    repository.add("patches/spy/v1/meta.yaml", "description: reads what is not its own\nmode: managed\n")
    repository.add("patches/spy/v1/schema.json", "{}")
    repository.add(DEV, "  modelyard:patches: [{name: spy}]\n")
    found = repository.preview(live=True)
    assert found.stacks
    assert cluster.asked
    assert not [path for path in cluster.asked if "kube-system/" in path]


@pytest.fixture
def far(repository: Repository, cluster: ApiServer, tmp_path: Path) -> Iterator[ApiServer]:
    """Main's remote cluster, with a context of the same kubeconfig."""
    repository.add(DEV, FAR)
    copytree(repository.root / "stacks/recorded/staging", repository.root / "stacks/recorded/dev@far")
    repository.on_main()
    folder = tmp_path / "far"
    folder.mkdir()
    with api_server(folder) as server:
        serve(server, repository.root / "stacks/recorded/dev@far")
        config, theirs = (yaml.safe_load(one.kubeconfig.read_text()) for one in (cluster, server))
        config["clusters"].append({**theirs["clusters"][0], "name": "far"})
        config["contexts"].append({"name": "far", "context": {"cluster": "far", "user": "u"}})
        cluster.kubeconfig.write_text(yaml.safe_dump(config))
        yield server


def test_a_remote_cluster_is_read_too(repository: Repository, far: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    # A stack file names only addresses with TLS, and this server has none.
    monkeypatch.setattr("modelyard.preview.live.controller_mismatch", lambda _remote, _client: "")
    far.objects["namespaces"] = [{"metadata": {"name": "far", "labels": {"team": "theirs"}}}]
    repository.edit(DEV, "quota: {cpu: 8", "quota: {cpu: 9")
    found = repository.preview(live=True)
    assert found.offline == ()
    assert far.asked.count("/api/v1/nodes") == 1
    assert len(far.asked) == len(set(far.asked))
    assert changes(found) == changes(repository.preview())
    far.forbidden = {"resourcequotas"}
    found = repository.preview(live=True)
    ((stack, name, (unread,)),) = found.unlisted
    assert (stack, name, unread.split()[0]) == ("dev", "far", "resourcequotas")
    assert re.search(rf"{unread} .* far, .* dev\b", preview_markdown(found))


def test_a_remote_cluster_at_another_address_is_replaced_by_its_recording(
    repository: Repository, far: ApiServer
) -> None:
    repository.edit(DEV, "quota: {cpu: 8", "quota: {cpu: 9")
    found = repository.preview(live=True)
    ((stack, why),) = found.offline
    assert stack == "dev"
    assert re.search(r"\bfar: context far .* http://127\.0\.0\.1:", why)
    assert changes(found) == changes(repository.preview())
    assert [one.pending is not None for one in found.stacks] == [True]


def test_a_remote_cluster_that_the_branch_moves_is_not_read(repository: Repository, far: ApiServer) -> None:
    repository.edit(DEV, "context: far", "context: dev")
    found = repository.preview(live=True)
    assert far.asked == []
    ((stack, why),) = found.offline
    assert (stack, "moved by" in why) == ("dev", True)
    assert [one.pending is not None for one in found.stacks] == [True]
