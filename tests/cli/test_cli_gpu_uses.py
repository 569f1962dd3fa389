"""``check`` judges a GPU wherever a stack file names it, for what runs there."""

import json
from typing import Any

import pytest

K80 = "modelyard:resources: [{name: old, type: training, workers: 1, gpus: 1, gpu: K80}]"
L4 = "modelyard:resources: [{name: chat, type: llm-serving, workers: 1, gpus: 1, gpu: L4, image: llm:1, cuda: '12.4'}]"


@pytest.mark.parametrize(
    ("section", "code", "finding"),
    [
        (K80, 1, ("GPU001", "error", "resources[0].gpu")),
        (L4, 0, ("GPU001", "warning", "resources[0].gpu")),
        ("modelyard:flavors: [{name: old, gpu: T4}]", 0, ("GPU001", "warning", "flavors[0].gpu")),
    ],
)
def test_a_gpu_is_judged_for_its_use(
    project: Any, run: Any, section: str, code: int, finding: tuple[str, str, str]
) -> None:
    project.add(section)
    done = run("check", "dev", "--json")
    found = [(one["code"], one["severity"], one.get("field")) for one in json.loads(done.out)["findings"]]
    assert finding in found
    assert done.code == code, done.text
