"""What is wrong with pipelines, found before anything runs."""

from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.runs.pipelines import check_pipelines
from modelyard.stack.config import Stack
from modelyard.stack.jobs import Pipeline, Runtime, Stage
from modelyard.stack.remote import BucketPart, Remote, StaticCluster
from modelyard.workloads.sizing import sized
from tests.support.pipeline_stacks import (
    ASSISTANT,
    CHAT,
    DEEP,
    FIT,
    LAKE,
    LOAD,
    NIGHTLY,
    PREPARE,
    SERVE,
    TRAIN,
    stack,
    with_stages,
)


def told(given: Stack) -> list[tuple[str, str, str]]:
    return [(one.code, one.field, one.summary) for one in check_pipelines(given, sized(given.config))]


def test_a_sound_pipeline_has_no_findings() -> None:
    assert told(stack()) == []


@pytest.mark.parametrize(
    ("pipeline", "code", "field", "words"),
    [
        (with_stages(PREPARE, FIT, FIT), "PIP001", "pipelines[0].stages[2].name", "has two stages named train"),
        (with_stages(PREPARE, Stage("x")), "PIP002", "pipelines[0].stages[1]", "neither a job nor a rollout"),
        (with_stages(Stage("x", "fit", "chat")), "PIP002", "pipelines[0].stages[0]", "both a job and a rollout"),
        (with_stages(Stage("x", "fitt")), "PIP002", "pipelines[0].stages[0].job", "which is not defined"),
        (with_stages(Stage("x", "assistant")), "PIP002", "pipelines[0].stages[0].job", "which has no command"),
        (
            with_stages(Stage("x", rollout="nope", reads=("raw",))),
            "PIP002",
            "pipelines[0].stages[0].rollout",
            "rolls out to nope, which is not defined",
        ),
        (
            with_stages(Stage("x", rollout="deep", reads=("raw",))),
            "PIP002",
            "pipelines[0].stages[0].rollout",
            "training",
        ),
        (with_stages(Stage("x", rollout="chat")), "PIP002", "pipelines[0].stages[0].reads", "rolls out 0 artifacts"),
        (with_stages(PREPARE._replace(needs=("prepare",))), "PIP004", "pipelines[0].stages[0].needs[0]", "itself"),
        (
            with_stages(PREPARE, FIT._replace(needs=("prepare", "prepair"))),
            "PIP004",
            "pipelines[0].stages[1].needs[1]",
            "no",
        ),
        (with_stages(PREPARE, FIT._replace(needs=())), "PIP006", "pipelines[0].stages[1].reads[0]", "not need prepare"),
        (
            with_stages(PREPARE, FIT._replace(reads=("dataset",))),
            "PIP006",
            "pipelines[0].stages[1].reads[0]",
            "no stage",
        ),
        (
            with_stages(PREPARE._replace(reads=("data-set",))),
            "PIP006",
            "pipelines[0].stages[0].reads[0]",
            "is the only stage that writes it",
        ),
        (
            with_stages(PREPARE, FIT, FIT._replace(name="tune")),
            "PIP007",
            "pipelines[0].stages[2].writes[0]",
            "writes artifact model twice, in train and in tune",
        ),
        (
            with_stages(PREPARE._replace(writes=("raw",), reads=())),
            "PIP007",
            "pipelines[0].stages[0].writes[0]",
            "inputs",
        ),
        (NIGHTLY._replace(artifacts=None), "PIP008", "pipelines[0]", "writes data-set, model, but does not set where"),
        (
            NIGHTLY._replace(artifacts=BucketPart("lace", "x")),
            "PIP008",
            "pipelines[0].artifacts",
            "which is not defined",
        ),
        (
            NIGHTLY._replace(inputs={"raw": BucketPart("lace", "x")}),
            "PIP008",
            "pipelines[0].inputs.raw",
            "the input raw",
        ),
    ],
)
def test_each_mistake_is_a_finding_with_its_place(pipeline: Pipeline, code: str, field: str, words: str) -> None:
    ((found, where, summary),) = told(stack(pipeline))
    assert (found, where) == (code, field)
    assert words in summary


def test_an_artifact_that_nothing_writes_is_to_be_written_or_given() -> None:
    pipeline = Pipeline("nightly", (Stage("train", "fit", reads=("data",)),))
    (found,) = check_pipelines(given := stack(pipeline), sized(given.config))
    assert (found.code, found.summary) == (
        "PIP006",
        "stage train of pipeline nightly reads data, and no stage writes it",
    )
    assert found.remedy == "list data in writes of an earlier stage, or under inputs of the pipeline"


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        # Which of two stages of one name another stage needs is unknown.
        ((PREPARE, FIT, FIT._replace(needs=())), {"PIP001"}),
        ((PREPARE._replace(name="train"), FIT), {"PIP001"}),
        ((PREPARE, FIT, FIT._replace(needs=("train", "prepare"))), {"PIP001"}),
        ((PREPARE, PREPARE._replace(needs=("train",)), FIT), {"PIP001"}),
        ((PREPARE, FIT, FIT, SERVE._replace(needs=())), {"PIP001"}),
        ((PREPARE, FIT, Stage("train", "fit"), SERVE._replace(reads=("data-set",))), {"PIP001"}),
        ((PREPARE, FIT, FIT._replace(reads=("data",))), {"PIP001", "PIP006"}),
        ((PREPARE, FIT, FIT._replace(needs=("prepair",))), {"PIP001", "PIP004"}),
        # A stage with a wrong need would need the writer.
        ((PREPARE, FIT._replace(needs=("prepair",))), {"PIP004"}),
        ((PREPARE, FIT._replace(needs=("train",))), {"PIP004"}),
        ((PREPARE, FIT._replace(needs=("prepair",), reads=()), SERVE._replace(reads=("data-set",))), {"PIP004"}),
        ((PREPARE, FIT._replace(needs=("prepare", "x")), SERVE._replace(needs=())), {"PIP004", "PIP006"}),
    ],
)
def test_consequences_of_wrong_names_are_not_reported(stages: tuple[Stage, ...], expected: set[str]) -> None:
    found = [code for code, _, _ in told(stack(with_stages(*stages)))]
    assert (set(found), len(found)) == (expected, len(expected))


@pytest.mark.parametrize(
    "changes",
    [
        {"jobs": (LOAD, TRAIN._replace(resource="deeep"), ASSISTANT)},
        {"jobs": (LOAD, TRAIN._replace(resource="chat"), ASSISTANT)},
        {"jobs": (LOAD._replace(team="visoin"), TRAIN, ASSISTANT)},
        {"resources": (DEEP._replace(team="visoin"), CHAT)},
        {"resources": (DEEP, CHAT._replace(team="visoin"))},
    ],
)
def test_a_wrong_resource_or_team_is_not_reported_again_for_the_stage(changes: dict[str, Any]) -> None:
    assert told(stack(**changes)) == []


def test_jobs_of_one_name_are_offered_once() -> None:
    given = stack(with_stages(Stage("x", "zzz")), jobs=(LOAD, LOAD, ASSISTANT))
    assert [one.remedy for one in check_pipelines(given, sized(given.config))] == ["known jobs with a command: clicks"]


def test_a_cycle_is_one_finding_with_all_its_stages() -> None:
    circle = with_stages(PREPARE._replace(needs=("train",)), FIT, SERVE)
    ((code, field, summary),) = told(stack(circle))
    assert (code, field) == ("PIP005", "pipelines[0].stages[0].needs")
    assert [word for word in summary.split() if word in ("prepare", "train", "serve")] == [
        "prepare",
        "train",
        "prepare",
    ]


@pytest.mark.parametrize(
    ("last", "circles"),
    [
        # What waits is said by needs, directly or through others, or by what is read.
        (
            Stage("t", "fit", needs=("s",), reads=("d",), writes=("m",)),
            {"s reads m from t, t needs s": "let s or t read something else"},
        ),
        (
            Stage("t", "fit", needs=("s",), writes=("m",)),
            {"s reads m from t, t needs s": "let s read something else, or drop what t needs"},
        ),
        (
            Stage("t", "fit", needs=("u",), writes=("m",)),
            {"s reads m from t, t needs u, u needs s": "let s read something else, or drop what t or u needs"},
        ),
        (
            Stage("t", "fit", reads=("d",), writes=("m",)),
            {
                "s reads m from t, t reads d from s": "let s or t read something else",
                "t reads d from s, s reads m from t": "let t or s read something else",
            },
        ),
    ],
)
def test_no_remedy_adds_needs_that_would_make_a_cycle(last: Stage, circles: dict[str, str]) -> None:
    stages = (Stage("s", "clicks", reads=("m",), writes=("d",)), Stage("u", "fit", needs=("s",)), last)
    given = stack(with_stages(*stages))
    found = list(check_pipelines(given, sized(given.config)))
    assert {one.code for one in found} == {"PIP006"}
    assert {one.summary.partition("in a cycle: ")[2]: one.remedy for one in found} == circles


def test_a_reader_outside_a_cycle_must_need_the_writer() -> None:
    stages = (
        Stage("a", "fit", needs=("b",), writes=("m",)),
        Stage("b", "fit", needs=("a",)),
        Stage("c", "fit", reads=("m",)),
    )
    given = stack(with_stages(*stages))
    found = {one.code: one.remedy for one in check_pipelines(given, sized(given.config))}
    assert found.keys() == {"PIP005", "PIP006"}
    assert found["PIP006"].startswith("add a ")


def test_a_bucket_that_the_platform_cannot_reach_is_reported_once() -> None:
    lake = (LAKE._replace(reached_by=()),)
    several = (NIGHTLY, NIGHTLY._replace(name="weekly", inputs={"raw": BucketPart("lake", "raw")}))
    assert [code for code, _, _ in told(stack(*several, buckets=lake)) if code == "PIP008"] == ["PIP008"]
    # The finding about the remote resource, REM010, is enough.
    far = CHAT._replace(name="far", remote=Remote(model=BucketPart("lake", "models")))
    assert "PIP008" not in {code for code, _, _ in told(stack(buckets=lake, resources=(DEEP, CHAT, far)))}


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"buckets": (LAKE._replace(reached_by=()),)}, "PIP008", "the platform cannot reach"),
        ({"resources": (DEEP._replace(remote=Remote()), CHAT)}, "PIP003", "on the remote resource deep"),
        ({"resources": (DEEP, CHAT._replace(remote=Remote()))}, "PIP003", "to the remote resource chat"),
        ({"jobs": (LOAD, TRAIN)}, "PIP002", "rolls out to chat, which has no pods"),
        ({"runtime": Runtime()}, "PIP010", "no image for the pod that starts its stages"),
        ({"jobs": (LOAD._replace(team=None), TRAIN, ASSISTANT)}, "PIP011", "in 2 namespaces"),
    ],
)
def test_jobs_and_resources_of_stages_are_checked(changes: dict[str, Any], code: str, words: str) -> None:
    assert any(found == code and words in summary for found, _, summary in told(stack(**changes)))


@pytest.mark.parametrize(
    ("remote", "verb"),
    [(Remote(provider="lam"), "remote"), (Remote(cluster=StaticCluster("https://f:6443")), "job submit")],
)
def test_a_remote_stage_is_one_finding_with_the_command_that_starts_it(remote: Remote, verb: str) -> None:
    # Without a team it would be in another namespace than the others, were it here.
    given = stack(resources=(DEEP._replace(remote=remote, team=None), CHAT))
    (finding,) = [one for one in check_pipelines(given, sized(given.config)) if one.blocks]
    assert (finding.code, finding.remedy.rpartition("modelyard ")[2]) == ("PIP003", verb)


@pytest.mark.parametrize(
    "changes",
    [
        {"buckets": (LAKE._replace(reached_by=("platfrom",)),)},
        {"buckets": (LAKE, LAKE._replace(reached_by=()))},
        {"jobs": (LOAD, TRAIN, ASSISTANT, TRAIN._replace(resource="far"))},
        {"jobs": (LOAD, TRAIN, ASSISTANT, TRAIN._replace(command=()))},
        {"resources": (DEEP._replace(remote=Remote()), CHAT, DEEP)},
        {"resources": (DEEP._replace(team=None), CHAT, DEEP)},
        {"resources": (DEEP, CHAT, CHAT._replace(remote=Remote()))},
    ],
)
def test_names_that_other_findings_report_have_no_consequences(changes: dict[str, Any]) -> None:
    far = DEEP._replace(name="far", remote=Remote())
    given = stack(**{"resources": (DEEP, CHAT, far), **changes})
    assert list(check_pipelines(given, sized(given.config))) == []


def test_loading_data_with_gpus_is_a_warning() -> None:
    resources = (DEEP, CHAT, DEEP._replace(name="wide", type="dataset"))
    given = stack(resources=resources, jobs=(LOAD._replace(resource="wide"), TRAIN, ASSISTANT))
    (finding,) = check_pipelines(given, sized(given.config))
    assert (finding.code, finding.severity) == ("PIP009", Severity.WARNING)
    assert "prepare" in finding.summary
    assert "2 GPUs" in finding.summary


def test_an_artifact_written_under_the_name_of_another_is_one_finding() -> None:
    wrong = FIT._replace(writes=("data-set",))
    assert [code for code, *_ in told(stack(with_stages(PREPARE, wrong, SERVE)))] == ["PIP007"]


def test_two_pipelines_of_one_name() -> None:
    ((code, field, summary),) = told(stack(NIGHTLY, NIGHTLY))
    assert (code, field, "nightly" in summary) == ("PIP001", "pipelines[1].name", True)
