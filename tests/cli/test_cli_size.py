"""``modelyard size``: what jobs need, with every number."""

import json
from typing import Any

import pytest

JOBS = """
  modelyard:resources:
    - {name: features, type: dataset, cpu: 4, memory: 16Gi}
    - {name: chat, type: llm-serving, gpus: 1}
  modelyard:jobs:
    - {name: clicks, type: dataset, resource: features, rows: 50M, columns: 40}
    - {name: load, type: data-sink, rows: 20M, columns: 40}
    - {name: assistant, type: llm-serving, resource: chat, model: {parameters: 7G}}
"""


@pytest.fixture
def jobs(project: Any) -> Any:
    """The project whose stack dev has jobs."""
    project.edit(("config:\n", f"config:{JOBS}"))
    return project


def test_each_resource_has_what_it_gets_and_why(jobs: Any, run: Any) -> None:
    result = run("size", "dev")
    assert result.code == 0, result.err
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert lines[0] == "dev: 3 resources, 3 jobs"
    assert "memory 16Gi the stack file, below the 39Gi that its jobs need on each of 2 workers" in lines
    assert "data 14.9 GiB 50,000,000 rows × 40 columns × 8 bytes [1]" in lines
    assert "gpus 0 no GPU is requested" in lines
    assert "gpus 1 the stack file; its jobs need 1" in lines
    unknown = " ".join(lines)
    assert "unknown requestRate, requestTime, sequence, model.layers, model.keyValueHeads, model.headSize" in unknown
    assert "https://wesmckinney.com/blog/apache-arrow-pandas-internals/" in unknown
    assert max(map(len, result.out.splitlines())) <= 100


def gets(jobs: Any, run: Any, resources: str) -> dict[str, str]:
    """What the first resource of a stack gets, and from where, by kind."""
    jobs.edit((JOBS, resources))
    lines = run("size", "dev").out.splitlines()[4:8]
    return {words[0]: " ".join(words[1:]) for words in (line.split() for line in lines)}


SHARED = """
  modelyard:resources:
    - {name: features, type: dataset, workers: 2}
  modelyard:jobs:
    - {name: clicks, type: dataset, resource: features, rows: 50M, columns: 40}
    - {name: views, type: dataset, resource: features, rows: 1M, columns: 40}
    - {name: unknown, type: dataset, resource: features}
"""
RUNS = """
  modelyard:resources:
    - {name: features, type: training, gpus: 1}
  modelyard:jobs:
    - {name: small, type: training, resource: features, command: [fit], rows: 1M, columns: 40}
    - {name: large, type: training, resource: features, command: [fit], rows: 10M, columns: 40}
"""


@pytest.mark.parametrize(
    ("resources", "workers", "cpu", "memory", "gpus"),
    [
        pytest.param(
            SHARED,
            "2 the stack file; its jobs need 2",
            "9 its jobs: 8 + 1",
            "42Gi its jobs: 39Gi + 3Gi",
            "0 no GPU is requested",
            id="on shared pods they add up",
        ),
        pytest.param(
            SHARED.replace(", workers: 2", ""),
            "3 its jobs, spread so that a worker has at most 8 cores and 64Gi",
            "6 its jobs, spread over 3 workers",
            "29Gi its jobs, spread over 3 workers",
            "0 no GPU is requested",
            id="more than a worker takes is on more workers",
        ),
        pytest.param(
            RUNS,
            "1 the largest of its jobs",
            "4 the largest of its jobs",
            "16Gi the largest of its jobs",
            "1 the stack file",
            id="of runs with pods of their own the largest counts",
        ),
    ],
)
def test_what_jobs_on_one_resource_come_to(
    jobs: Any, run: Any, resources: str, workers: str, cpu: str, memory: str, gpus: str
) -> None:
    assert gets(jobs, run, resources) == {"workers": workers, "cpu": cpu, "memory": memory, "gpus": gpus}


def test_a_job_that_shares_with_nobody_adds_up_with_nobody(jobs: Any, run: Any) -> None:
    mixed = """
  modelyard:resources:
    - {name: features, type: dataset}
  modelyard:jobs:
    - {name: clicks, type: dataset, resource: features, rows: 50M, columns: 40}
    - {name: once, type: dataset, resource: features, command: [join], rows: 1M, columns: 40}
"""
    assert gets(jobs, run, mixed)["cpu"] == "8 the largest of its jobs"


def test_of_many_jobs_only_their_number_is_told(jobs: Any, run: Any) -> None:
    many = "".join(
        f"    - {{name: set-{number}, type: dataset, resource: features, rows: 1M, columns: 40}}\n"
        for number in range(7)
    )
    resources = "  modelyard:resources:\n    - {name: features, type: dataset}\n  modelyard:jobs:\n"
    assert gets(jobs, run, f"\n{resources}{many}")["memory"] == "21Gi the sum of its 7 jobs"


@pytest.mark.parametrize(
    ("name", "resources"), [("features", ["features"]), ("clicks", ["features"]), ("load", ["load"])]
)
def test_one_resource_or_that_of_a_job(jobs: Any, run: Any, name: str, resources: list[str]) -> None:
    document = json.loads(run("size", "dev", name, "--json").out)
    assert [one["name"] for one in document["resources"]] == resources
    assert set(document["sources"]) == {
        source
        for one in document["resources"]
        for job in one["jobs"]
        for term in job["terms"]
        for source in term["sources"]
    }


def test_what_is_unknown_is_null(jobs: Any, run: Any) -> None:
    document = json.loads(run("size", "dev", "chat", "--json").out)
    (resource,) = document["resources"]
    assert (resource["card"], resource["gets"]["gpus"], resource["needs"]["gpus"]) == ("a10", 1, 1)
    jobs.edit(("gpus: 1}", "gpus: 1, gpu: A101}"))
    result = run("size", "dev", "chat", "--json")
    (resource,) = json.loads(result.out)["resources"]
    assert (resource["card"], resource["needs"]["gpus"]) == (None, None)
    assert result.code == 1
    assert "RES208" in result.err


ASSUMED = """
  modelyard:resources:
    - {name: features, type: dataset, cpu: 1}
    - {name: chat, type: llm-serving}
  modelyard:jobs:
    - {name: clicks, type: dataset, resource: features, rows: 50M}
    - {name: assistant, type: llm-serving, resource: chat, requestRate: 2}
"""


def test_an_assumption_is_shown_with_the_key_that_changes_it(jobs: Any, run: Any) -> None:
    jobs.edit((JOBS, ASSUMED))
    result = run("size", "dev", "features")
    assert result.code == 0
    assert "assumed columns: 50, a table of medium width" in result.words
    assert "would improve the estimate" not in result.words
    (resource,) = json.loads(run("size", "dev", "features", "--json").out)["resources"]
    (job,) = resource["jobs"]
    assert job["assumptions"] == [{"key": "columns", "value": "50", "says": "a table of medium width"}]
    assert job["missing"] == ["columns"]
    jobs.edit(("rows: 50M}", "rows: 50M, columns: 50}"))
    (after,) = json.loads(run("size", "dev", "features", "--json").out)["resources"]
    assert after["jobs"][0]["assumptions"] == []
    assert after["gets"] == resource["gets"]


def test_what_rests_on_an_assumption_is_no_error_and_no_warning_about_a_setting(jobs: Any, run: Any) -> None:
    jobs.edit((JOBS, ASSUMED))
    result = run("check", "dev", "--json")
    found = {one["code"]: one["severity"] for one in json.loads(result.out)["findings"]}
    assert (result.code, found["RES204"], found["RES205"]) == (0, "advice", "warning")
    jobs.edit(
        ("rows: 50M}", "rows: 50M, columns: 50}"), ("requestRate: 2}", "requestRate: 2, model: {parameters: 8G}}")
    )
    result = run("check", "dev", "--json")
    found = {one["code"]: one["severity"] for one in json.loads(result.out)["findings"]}
    assert (result.code, found["RES204"], found["RES205"]) == (1, "warning", "error")


def test_a_name_that_there_is_not(jobs: Any, refused: Any) -> None:
    result = refused("size", "dev", "feature", code=2)
    assert "'feature' is neither a resource nor a sized job → did you mean features?" in result.words


def test_the_plan_and_the_check_tell_what_is_wrong(jobs: Any, run: Any) -> None:
    jobs.edit(("resource: features", "resource: featurs"))
    for verb in ("plan", "check", "size"):
        result = run(verb, "dev")
        words = " ".join((result.out + result.err).split())
        assert result.code == 1, verb
        assert "RES201 job clicks uses resource featurs, which is not defined" in words
        assert "did you mean features?" in words


def test_a_waived_finding_is_no_error(jobs: Any, run: Any) -> None:
    jobs.edit(("resource: features", "resource: featurs"))
    waiver = "{code: RES201, reason: it comes tomorrow, expires: 2099-01-01}"
    jobs.edit(("config:\n", f"config:\n  modelyard:waivers: [{waiver}]\n"))
    assert run("size", "dev").code == 0


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("rows: 50M", "rows: -1", "jobs[0].rows"),
        ("rows: 50M", "rows: 50m", 'jobs[0].rows is "50m"; it cannot be a fraction'),
        ("parameters: 7G", "parameters: 7.5", "model.parameters is 7.5; it cannot be a fraction"),
        ("rows: 50M", "rows: 1e900", 'jobs[0].rows is "1e900": more than 1P'),
        ("columns: 40}", "columns: 0}", "jobs[0].columns"),
        ("type: dataset, resource", "type: datasets, resource", "did you mean dataset?"),
        ("memory: 16Gi}", "memory: 16}", "resources[0].memory is 16: less than 1Mi"),
        ("parameters: 7G", "parameter: 7G", "did you mean parameters?"),
        ("{name: load,", "{name: Load_,", "jobs[1].name"),
    ],
)
def test_bad_input_is_told_with_its_place(jobs: Any, run: Any, before: str, after: str, said: str) -> None:
    jobs.edit((before, after))
    result = run("size", "dev")
    assert result.code == 2
    words = " ".join(result.err.split())
    assert said in words
    assert "stacks/Pulumi.dev.yaml:" in words


@pytest.mark.parametrize("words", [("dev",), ("dev", "clicks"), ("dev", "assistant"), ("dev", "chat")], ids=" ".join)
def test_no_line_is_wider_than_the_terminal(jobs: Any, fits: Any, words: tuple[str, ...]) -> None:
    fits("size", *words)


def test_a_name_in_a_stack_without_jobs(run: Any) -> None:
    result = run("size", "dev", "train")
    assert (result.code, "modelyard:jobs" in result.err) == (2, True)
