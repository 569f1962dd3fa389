"""Each commit's own hardware.yaml counts, and a GPU that a change defines is shown."""

from typing import Any

import pytest

from modelyard.hardware import resolve
from modelyard.preview import Preview

L20 = """\
gpus:
  - name: L20
    labels: [NVIDIA-L20]
    tflops: 130
    memoryGb: {memory}
    compute: "8.9"
    nvlink: false
    source: made-up data sheet
"""


def define(repository: Any, memory: int = 48) -> None:
    (repository.root / "hardware.yaml").write_text(L20.format(memory=memory))


def told(found: Preview) -> list[str]:
    return [one.summary for one in found.project.new if one.code == "GPU101"]


@pytest.mark.parametrize("head", [None, "feature"])
def test_a_new_gpu_that_no_stack_uses_is_a_change(repository: Any, head: str | None) -> None:
    define(repository)
    if head is not None:
        repository.commit()
    found = repository.preview(head)
    assert (found.stacks, found.changes, found.blocked) == ((), True, False)
    (one,) = found.project.new
    assert (one.code, one.file, one.line) == ("GPU101", "hardware.yaml", 2)
    assert resolve("L20") is None
    assert [
        part for part in ("new GPU L20", "130", "48 GB", "8.9", "11.8", "NVIDIA-L20") if part not in one.summary
    ] == []
    assert "made-up data sheet" in one.detail


@pytest.mark.parametrize("head", [None, "feature"])
def test_the_head_defines_what_its_stack_names(repository: Any, head: str | None) -> None:
    define(repository)
    repository.edit("stacks/Pulumi.dev.yaml", "model: A10", "model: L20")
    if head is not None:
        repository.commit()
    (stack,) = repository.preview(head).stacks
    codes = {one.code for one in stack.new}
    assert "GPU002" not in codes
    assert "RES001" in codes


@pytest.mark.parametrize("head", [None, "feature"])
def test_each_commit_has_its_own_numbers(repository: Any, head: str | None) -> None:
    define(repository, 24)
    repository.edit("stacks/Pulumi.dev.yaml", "model: A10", "model: L20")
    repository.on_main()
    define(repository, 48)
    if head is not None:
        repository.commit()
    found = repository.preview(head)
    (stack,) = found.stacks
    assert [one.code for one in stack.new if one.blocks] == ["RES001"]
    (summary,) = told(found)
    assert "48 GB" in summary.partition("before")[0]
    assert "24 GB" in summary.partition("before")[2]


@pytest.mark.parametrize("head", [None, "feature"])
def test_a_deleted_gpu_is_an_error_of_its_stacks(repository: Any, head: str | None) -> None:
    define(repository)
    repository.edit("stacks/Pulumi.dev.yaml", "model: A10", "model: L20")
    repository.on_main()
    (repository.root / "hardware.yaml").unlink()
    if head is not None:
        repository.commit()
    found = repository.preview(head)
    (stack,) = found.stacks
    assert "GPU002" in {one.code for one in stack.new}
    assert stack.blocked
    (summary,) = told(found)
    assert "L20 is no longer" in summary


def test_a_comment_is_no_change(repository: Any) -> None:
    define(repository)
    repository.on_main()
    (repository.root / "hardware.yaml").write_text("# a comment\n" + L20.format(memory=48))
    found = repository.preview()
    assert (found.stacks, found.changes) == ((), False)


def test_a_broken_file_at_the_head_blocks_every_stack(repository: Any) -> None:
    define(repository)
    repository.on_main()
    repository.edit("hardware.yaml", "memoryGb: 48", "memoryGb: none")
    found = repository.preview()
    assert [one.stack for one in found.stacks] == ["dev", "prod", "staging"]
    assert all(one.unplanned and {finding.file for finding in one.new} == {"hardware.yaml"} for one in found.stacks)


def test_policies_of_the_base_see_the_gpus_of_the_head(repository: Any) -> None:
    define(repository)
    repository.edit("stacks/Pulumi.dev.yaml", "model: A10", "model: L20")
    repository.commit()
    (stack,) = repository.preview("feature", policies="base").stacks
    (other,) = repository.preview("feature", policies="head").stacks
    assert stack == other
