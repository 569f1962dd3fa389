"""Changes of the next submission or apply that change no object."""

import re
from typing import Any

import pytest

from modelyard.preview import Preview, SubmissionDiff
from modelyard.report.html.page import html_page
from modelyard.report.preview.json import preview_document
from modelyard.report.preview.markdown import LEAST, preview_markdown
from modelyard.report.preview.text import preview_text
from modelyard.workloads.environments.locks import locked, made_of
from tests.support.project_copies import FAR

WORK = """config:
  modelyard:runtime: {image: "images.example.com/jobs:1"}
  modelyard:buckets:
    - {name: lake, url: "s3://acme-lake", reachedBy: [platform, rented]}
  modelyard:providers:
    - {name: rented, kind: lambda, credentialsSecret: rented-access}
  modelyard:environments:
    - {name: tabular, python: "3.11", pip: [six], image: "python:3.11"}
  modelyard:resources:
    - {name: deep, type: training, workers: 2, cpu: 4, memory: 24Gi, gpus: 1}
    - name: far
      type: training
      cpu: 4
      memory: 24Gi
      gpus: 1
      remote:
        provider: rented
        image: "images.example.com/jobs:1"
        command: [python, train.py]
        timeLimit: 6h
        data: {shared: {bucket: lake, prefix: clicks}}
        model: {bucket: lake, prefix: models}
  modelyard:jobs:
    - name: clicks
      type: dataset
      command: [python, prepare.py]
      timeLimit: 1h
      env: {DB_PASSWORD: unheard-of, ROWS: "10"}
    - {name: fit, type: training, resource: deep, command: [python, train.py]}
    - {name: rent, type: training, resource: far}
  modelyard:pipelines:
    - name: nightly
      artifacts: {bucket: lake, prefix: pipelines}
      stages:
        - {name: prepare, job: clicks, writes: [dataset]}
        - {name: train, job: fit, needs: [prepare], reads: [dataset]}
"""
FILE = "stacks/Pulumi.prod.yaml"


@pytest.fixture
def work(repository: Any) -> Any:
    """The stack prod with work to submit on main."""
    repository.edit(FILE, "config:\n", WORK)
    repository.add("environments/tabular.lock", lock("1.16.0"))
    repository.on_main()
    return repository


def lock(version: str) -> str:
    return locked("3.11", made_of("3.11", ("six",)), {"six": (version, "0" * 64)})


def told(found: Preview) -> dict[str, SubmissionDiff]:
    """What differs in prod, the only stack in which anything does, and no object of it."""
    (stack,) = found.stacks
    assert (stack.stack, stack.targets) == ("prod", ())
    return {f"{one.kind} {one.name}".strip(): one for one in stack.submissions}


def fields(change: SubmissionDiff) -> dict[str, tuple[Any, Any]]:
    return {str(one.path): (one.before, one.after) for one in change.fields}


def test_a_change_of_a_resource_is_shown_at_the_jobs_that_use_it(work: Any, golden: Any) -> None:
    work.edit(FILE, "memory: 24Gi, gpus: 1}", "memory: 24Gi, gpus: 4}")
    found = work.preview()
    changes = told(found)
    assert {name: fields(one) for name, one in changes.items()} == {"job fit": {"gpus": (1, 4)}}
    assert found.changes
    assert found.blocked
    forms = "\n".join((*preview_text(found), "", preview_markdown(found)))
    golden(re.sub(r"\b[0-9a-f]{8}\b", "COMMIT", forms), "")


def test_every_kind_of_submission_is_compared(work: Any) -> None:
    work.edit(FILE, "timeLimit: 6h", "timeLimit: 8h")
    again = "\n        - {name: again, job: fit, needs: [train]}"
    work.edit(FILE, "reads: [dataset]}", f"reads: [dataset], writes: [model]}}{again}")
    work.edit(FILE, "s3://acme-lake", "s3://acme-pond")
    work.edit(FILE, "rented-access", "other-access")
    work.add(FILE, '  modelyard:notebooks: {image: "images.example.com/notebooks:1"}\n')
    (work.root / "environments/tabular.lock").write_text(lock("1.17.0"))
    changes = told(work.preview())
    assert {name.split()[-1]: one.status for name, one in changes.items()} == {
        "nightly": "changed",
        "tabular": "changed",
        "notebooks": "added",
        "far": "changed",
        "rented": "changed",
        "lake": "changed",
    }
    far = next(one for one in changes.values() if one.name == "far")
    assert fields(far) == {"remote.timeLimit": ("6h", "8h")}
    assert fields(changes["environment tabular"])["locked.six"] == ("1.16.0", "1.17.0")
    assert list(fields(changes["pipeline nightly"])) == [
        "stages.train.writes",
        "stages.again.job",
        "stages.again.needs",
    ]
    assert fields(changes["bucket lake"]) == {"url": ("s3://acme-lake", "s3://acme-pond")}


def test_a_job_that_cannot_be_submitted_any_more_is_gone(work: Any) -> None:
    work.edit(FILE, '  modelyard:runtime: {image: "images.example.com/jobs:1"}\n', "")
    changes = told(work.preview())
    assert [changes[name].status for name in ("job clicks", "job fit", "pipeline nightly")] == [
        "removed",
        "removed",
        "changed",
    ]


def test_a_new_version_of_a_template_is_shown_at_its_jobs(work: Any) -> None:
    work.next_patch("job-run", "base.yaml.j2", "restartPolicy: Never", "restartPolicy: OnFailure")
    changes = told(work.preview())
    assert list(changes) == ["job clicks", "job fit"]
    before, after = fields(changes["job fit"])["template"]
    assert before == "job-run@v1"
    assert after.startswith("job-run@v3 (draft ")


def test_a_change_of_context_and_drain_is_one_of_the_next_apply(repository: Any) -> None:
    repository.edit(FILE, "kubernetes:context: prod", "kubernetes:context: dev")
    repository.edit(FILE, "timeout: 6h30m", "timeout: 5m")
    changes = told(repository.preview())
    assert {name: fields(one) for name, one in changes.items()} == {
        "apply": {"context": ("prod", "dev"), "drain.timeout": ("6h30m", "5m")}
    }


def test_a_new_stack_shows_its_jobs_and_not_its_apply(work: Any) -> None:
    text = (work.root / FILE).read_text()
    work.add("stacks/Pulumi.other.yaml", text)
    (stack,) = work.preview().stacks
    assert [one.status for one in stack.submissions] == ["added"] * len(stack.submissions)
    assert "job fit" in {f"{one.kind} {one.name}" for one in stack.submissions}
    assert "apply" not in {one.kind for one in stack.submissions}


def test_objects_of_a_remote_cluster_are_shown_with_its_name(repository: Any) -> None:
    repository.add(FILE, FAR)
    (added,) = repository.preview().stacks
    names = {(one.kind, one.name) for one in added.targets}
    assert ("Namespace", "far/modelyard-remote") in names
    assert {one.status for one in added.targets} == {"added"}
    repository.on_main()
    repository.edit(FILE, "gpus: 1}}}", "gpus: 2}}}")
    (changed,) = repository.preview().stacks
    (queue,) = changed.targets
    assert (queue.kind, queue.name, queue.status) == ("ClusterQueue", "far/remote-far", "changed")
    (groups,) = queue.fields
    assert [side[0]["flavors"][0]["resources"][2]["nominalQuota"] for side in (groups.before, groups.after)] == [
        "1",
        "2",
    ]
    repository.edit(FILE, FAR.replace("gpus: 1}}}", "gpus: 2}}}"), "")
    (gone,) = repository.preview().stacks
    assert {(one.kind, one.name) for one in gone.targets} == names
    assert {one.status for one in gone.targets} == {"deleted"}


def test_a_comment_in_the_file_is_no_change(work: Any) -> None:
    work.add(FILE, "# nothing\n")
    assert not work.preview().changes


def test_no_report_shows_a_secret(work: Any) -> None:
    work.edit(FILE, 'DB_PASSWORD: unheard-of, ROWS: "10"', 'DB_PASSWORD: as-secret, ROWS: "4711"')
    found = work.preview()
    assert list(fields(told(found)["job clicks"])) == ["env.DB_PASSWORD", "env.ROWS"]
    document = preview_document(found)
    forms = [str(document), html_page(document, title="x"), "\n".join(preview_text(found)), preview_markdown(found)]
    assert not [form for form in forms if "unheard-of" in form or "as-secret" in form]
    assert all("4711" in form for form in forms)
    assert 'id="submissions"' in forms[1]


def test_equal_submissions_of_many_stacks_are_shown_once_and_fit(work: Any) -> None:
    work.edit(FILE, "memory: 24Gi, gpus: 1}", "memory: 24Gi, gpus: 4}")
    found = work.preview()
    (stack,) = found.stacks
    many = found._replace(stacks=tuple(stack._replace(stack=f"prod-{number}") for number in range(300)))
    document = preview_document(many)
    assert [(one["kind"], one["name"], len(one["stacks"])) for one in document["submissions"]] == [("job", "fit", 300)]
    assert len(preview_markdown(many, limit=LEAST)) <= LEAST
