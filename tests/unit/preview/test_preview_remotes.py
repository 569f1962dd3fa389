"""Changes of a stack's remote clusters between two commits."""

import json
import re
from fractions import Fraction
from shutil import copytree, ignore_patterns
from typing import Any

from modelyard.plan.cost.values import Money
from modelyard.report.html.page import html_page
from modelyard.report.preview.json import preview_document
from modelyard.report.preview.markdown import preview_markdown
from modelyard.report.preview.text import preview_text
from tests.support.project_copies import FAR, ROOT, serving

FILE = "stacks/Pulumi.dev.yaml"


def test_a_patch_of_remote_clusters_reaches_the_stacks_that_have_one(repository: Any) -> None:
    repository.add(FILE, FAR)
    repository.on_main()
    repository.next_patch("remote-cluster", "base.yaml.j2", "BestEffortFIFO", "StrictFIFO")
    (changed,) = repository.preview().stacks
    (queue,) = [one for one in changed.targets if one.fields]
    assert (changed.stack, queue.name) == ("dev", "far/remote-far")
    assert [(field.before, field.after) for field in queue.fields] == [("BestEffortFIFO", "StrictFIFO")]


def test_a_new_recording_of_a_remote_cluster_is_reported(repository: Any) -> None:
    repository.add(FILE, FAR)
    recorded = repository.root / "stacks/recorded"
    copytree(recorded / "dev", recorded / "dev@far")
    repository.on_main()
    repository.edit("stacks/recorded/dev@far/cluster.json", "dev-cpu-1", "far-cpu-1")
    assert repository.preview().stacks == ()
    repository.edit(FILE, "memory: 32Gi", "memory: 40Gi")
    assert [stack.recorded for stack in repository.preview().stacks] == [True]


def test_a_rule_that_objects_of_a_remote_cluster_break_is_news(repository: Any) -> None:
    copytree(ROOT / "policies", repository.root / "policies", ignore=ignore_patterns("__pycache__"))
    repository.add(FILE, "  modelyard:policy: {rules: {POL112: {params: {allow: [ml-platform]}}}}\n")
    repository.on_main()
    repository.add(FILE, FAR)
    (added,) = repository.preview().stacks
    assert {one.target for one in added.new if one.code == "POL112"} == {"far/far", "far/remote-job"}
    assert added.blocked


def test_a_new_remote_cluster_has_a_cost_of_jobs_and_a_deleted_one_has_none(repository: Any) -> None:
    repository.add(FILE, FAR)
    (added,) = repository.preview().stacks
    assert [one.cluster for one in added.cost.jobs_only] == ["far"]
    page = html_page(preview_document(repository.preview()), title="preview")
    assert re.search(r"\bfar costs only .* 1 GPU", page)
    assert "far/modelyard-remote" in page
    repository.on_main()
    repository.edit(FILE, FAR, "")
    (gone,) = repository.preview().stacks
    assert gone.cost.jobs_only == ()


def test_objects_of_a_removed_cluster_are_deleted(repository: Any) -> None:
    serving(repository.root)
    recorded = repository.root / "stacks/recorded"
    copytree(recorded / "dev", recorded / "dev@far", ignore=ignore_patterns("deployment.*"))
    metadata = {
        "name": "serve",
        "namespace": "modelyard-remote",
        "uid": "0f2c",
        "resourceVersion": "4711",
        "creationTimestamp": "2026-11-01T08:00:00Z",
        "generation": 3,
        "annotations": {"modelyard.dev/mode": "managed", "modelyard.dev/stack": "modelyard/dev"},
    }
    there = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": 2}}
    (recorded / "dev@far/deployment.modelyard-remote.serve.json").write_text(json.dumps(there))
    repository.add(FILE, FAR)
    repository.on_main()
    repository.edit(FILE, FAR, "")
    found = repository.preview()
    (gone,) = found.stacks
    assert {one.status for one in gone.targets} == {"deleted"}
    assert [str(field.path) for one in gone.targets for field in one.fields] == []
    text = "\n".join(preview_text(found))
    assert "- Namespace far/modelyard-remote\n    in dev · remote-cluster v1 dropped · deleted " in text
    assert "- far/serve\n    in dev · far-serving v1 dropped · deleted · GPUs 2 → 0" in text
    page = html_page(preview_document(found), title="preview")
    for form in (text, preview_markdown(found), page):
        assert "deleted" in form
        assert not [word for word in ("longer patched", "released", "0f2c", "4711", "renders") if word in form]


def test_a_removed_cluster_saves_the_cost_of_its_objects(repository: Any) -> None:
    serving(repository.root)
    recorded = repository.root / "stacks/recorded"
    copytree(recorded / "dev", recorded / "dev@far", ignore=ignore_patterns("deployment.*"))
    repository.add(FILE, FAR)
    repository.on_main()
    repository.edit(FILE, FAR, "")
    (gone,) = repository.preview().stacks
    (one,) = [target for target in gone.cost.targets if target.name == "far/serve"]
    saved = -2 * Fraction("1.29")
    assert one.delta == gone.cost.delta.usd == Money(saved, saved)
