"""``modelyard size``: what jobs need, with every number.

What it prints is in ``tests/golden/test_cli_size.txt``.
"""

import json
from typing import Any

import pytest

from modelyard.quantity import GI

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


def test_each_resource_is_listed_with_its_size_and_the_reasons(jobs: Any, run: Any, golden: Any) -> None:
    result = run("size", "dev")
    assert result.code == 0, result.err
    assert max(map(len, result.out.splitlines())) <= 100
    golden(result)


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


MIXED = """
  modelyard:resources:
    - {name: features, type: dataset}
  modelyard:jobs:
    - {name: clicks, type: dataset, resource: features, rows: 50M, columns: 40}
    - {name: once, type: dataset, resource: features, command: [join], rows: 1M, columns: 40}
"""
MANY = """
  modelyard:resources:
    - {name: features, type: dataset}
  modelyard:jobs:
""" + "".join(
    f"    - {{name: set-{number}, type: dataset, resource: features, rows: 1M, columns: 40}}\n" for number in range(7)
)


@pytest.mark.parametrize(
    ("resources", "gets"),
    [
        pytest.param(SHARED, (2, 9, 42, 0), id="shared-pods-add-up"),
        pytest.param(SHARED.replace(", workers: 2", ""), (3, 6, 29, 0), id="spread-over-several-workers"),
        pytest.param(RUNS, (1, 4, 16, 1), id="largest-of-jobs-with-own-pods"),
        pytest.param(MIXED, (2, 8, 39, 0), id="a-job-with-own-pods-does-not-add-up"),
        pytest.param(MANY, (1, 7, 21, 0), id="many-jobs-are-only-counted"),
    ],
)
def test_the_size_of_several_jobs_on_one_resource(
    jobs: Any, run: Any, golden: Any, resources: str, gets: tuple[int, ...]
) -> None:
    jobs.edit((JOBS, resources))
    (found,) = json.loads(run("size", "dev", "--json").out)["resources"]
    size = found["gets"]
    assert (size["workers"], size["cpu"], size["memory"] / GI, size["gpus"]) == gets
    golden(*run("size", "dev").out.splitlines()[3:8])


@pytest.mark.parametrize(
    ("name", "resources"), [("features", ["features"]), ("clicks", ["features"]), ("load", ["load"])]
)
def test_a_name_selects_a_resource_or_that_of_a_job(jobs: Any, run: Any, name: str, resources: list[str]) -> None:
    document = json.loads(run("size", "dev", name, "--json").out)
    assert [one["name"] for one in document["resources"]] == resources
    assert set(document["sources"]) == {
        source
        for one in document["resources"]
        for job in one["jobs"]
        for term in job["terms"]
        for source in term["sources"]
    }


def test_unknown_values_are_null(jobs: Any, run: Any) -> None:
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


def test_an_assumption_is_shown_with_its_key(jobs: Any, run: Any, golden: Any) -> None:
    jobs.edit((JOBS, ASSUMED))
    result = run("size", "dev", "features")
    assert result.code == 0
    golden(result.out.partition("\n[1]")[0])
    (resource,) = json.loads(run("size", "dev", "features", "--json").out)["resources"]
    (job,) = resource["jobs"]
    (assumption,) = job["assumptions"]
    assert (assumption["key"], assumption["value"]) == ("columns", "50")
    assert job["missing"] == ["columns"]
    jobs.edit(("rows: 50M}", "rows: 50M, columns: 50}"))
    (after,) = json.loads(run("size", "dev", "features", "--json").out)["resources"]
    assert after["jobs"][0]["assumptions"] == []
    assert after["gets"] == resource["gets"]


def test_findings_that_rest_on_an_assumption_are_less_severe(jobs: Any, run: Any) -> None:
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


def test_an_unknown_name_is_refused(jobs: Any, refused: Any, golden: Any) -> None:
    golden(refused("size", "dev", "feature", code=2))


@pytest.mark.parametrize("verb", ["plan", "check", "size"])
def test_an_undefined_resource_is_an_error(jobs: Any, run: Any, verb: str) -> None:
    jobs.edit(("resource: features", "resource: featurs"))
    result = run(verb, "dev")
    assert (result.code, "RES201" in result.errors) == (1, True)


def test_a_waived_finding_is_no_error(jobs: Any, run: Any) -> None:
    jobs.edit(("resource: features", "resource: featurs"))
    waiver = "{code: RES201, reason: it comes tomorrow, expires: 2099-01-01}"
    jobs.edit(("config:\n", f"config:\n  modelyard:waivers: [{waiver}]\n"))
    assert run("size", "dev").code == 0


def test_bad_input_is_reported_with_its_line(jobs: Any, run: Any, golden: Any) -> None:
    cases = (
        ("rows: 50M", "rows: -1"),
        ("rows: 50M", "rows: 50m"),
        ("parameters: 7G", "parameters: 7.5"),
        ("rows: 50M", "rows: 1e900"),
        ("columns: 40}", "columns: 0}"),
        ("type: dataset, resource", "type: datasets, resource"),
        ("memory: 16Gi}", "memory: 16}"),
        ("parameters: 7G", "parameter: 7G"),
        ("{name: load,", "{name: Load_,"),
    )
    before = jobs.stack_file().read_text()
    results = []
    for case in cases:
        jobs.edit(case)
        results.append(run("size", "dev"))
        jobs.stack_file().write_text(before)
    assert [one.code for one in results] == [2] * len(cases)
    golden(*(one.err for one in results))


@pytest.mark.parametrize("words", [("dev",), ("dev", "clicks"), ("dev", "assistant"), ("dev", "chat")], ids=" ".join)
def test_no_line_is_wider_than_the_terminal(jobs: Any, fits: Any, words: tuple[str, ...]) -> None:
    fits("size", *words)


def test_a_name_is_refused_in_a_stack_without_jobs(run: Any) -> None:
    result = run("size", "dev", "train")
    assert (result.code, "modelyard:jobs" in result.err) == (2, True)
