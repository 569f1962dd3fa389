"""What is a notebook that a job can run, and what is not."""

import json
from pathlib import Path
from typing import Any

import pytest

from modelyard.runs.notebooks import Notebook, parse_parameters, read_notebook, reading


def cell(source: Any = "print(1)", kind: str = "code", **metadata: Any) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": metadata, "source": source}


def notebook(*cells: Any, **changes: Any) -> dict[str, Any]:
    metadata = {"kernelspec": {"name": "python3", "language": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": list(cells or [cell()]), **changes}


def read(folder: Path, content: Any) -> Any:
    file = folder / "train.ipynb"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return read_notebook(file, "train.ipynb")


def test_a_notebook_is_read(tmp_path: Path) -> None:
    found = read(
        tmp_path, notebook(cell("# title", "markdown"), cell(["a = 1\n", "b"], tags=["parameters"]), cell(" "))
    )
    assert found == Notebook("python3", True, "a = 1\nb")


def test_a_kernel_that_does_not_say_its_language_may_be_python(tmp_path: Path) -> None:
    metadata = {"kernelspec": {"name": "torch"}, "language_info": {"name": "python"}}
    assert read(tmp_path, notebook(metadata=metadata)) == Notebook("torch", False)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "train.ipynb is empty"),
        (b'{\n"cells": [\n', "train.ipynb:3: not valid JSON: expecting value"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"[" * 100_000, "levels of nesting"),
        ([], "it has no nbformat"),
        ({"a": 1}, "it has no nbformat"),
        ({"nbformat": 3, "worksheets": []}, "train.ipynb has nbformat 3, but papermill runs nbformat 4"),
        ({"nbformat": True, "cells": []}, "has nbformat True"),
        ({"nbformat": "4", "cells": []}, 'has nbformat "4", but papermill runs nbformat 4'),
        (notebook(cells={}), "cells is not a list"),
        (notebook(1, cell(), cell(kind="sql"), {"cell_type": "code"}), "cell 1 is not an object"),
        (notebook(cell(kind="markdown"), cell("  ")), "train.ipynb has no code cell"),
        (notebook(metadata=[]), "metadata is not an object"),
        (notebook(metadata={}), "names no kernel"),
        (
            notebook(metadata={"kernelspec": {"name": "ir", "language": "R"}}),
            "is for the kernel ir (r); jobs run Python",
        ),
    ],
)
def test_what_is_none_is_told(tmp_path: Path, content: Any, said: str) -> None:
    problems = read(tmp_path, content)
    assert said in problems[0].summary
    assert all(problem.remedy for problem in problems)


def test_every_broken_cell_is_told_at_once(tmp_path: Path) -> None:
    problems = read(tmp_path, notebook(1, cell(), cell(kind="sql"), {"cell_type": "code"}))
    numbers = [problem.summary.partition("cell ")[2].split()[0] for problem in problems]
    assert numbers == ["1", "3", "4"]


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder.ipynb").mkdir()
    (tmp_path / "train.py").write_text("")
    assert "not a regular file" in read_notebook(tmp_path / "folder.ipynb", "x")[0].summary  # type: ignore[union-attr]
    assert "does not exist" in read_notebook(tmp_path / "none.ipynb", "x")[0].summary  # type: ignore[union-attr]
    assert "does not end in" in read_notebook(tmp_path / "train.py", "x")[0].summary  # type: ignore[union-attr]
    monkeypatch.setattr(reading, "MAX_BYTES", 10)
    assert "has more than" in read(tmp_path, notebook())[0].summary


WITH, WITHOUT = Notebook("python3", True, "rate = name = empty = a = 1"), Notebook("python3", False)


def test_parameters() -> None:
    assert parse_parameters(["rate=0.1", "name=a=b", "empty="], WITH, "x") == (
        {"rate": "0.1", "name": "a=b", "empty": ""},
        (),
    )
    assert parse_parameters([], WITHOUT, "x") == ({}, ())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rate"], "'rate' is not a parameter"),
        (["1x=2"], "'1x=2' is not a parameter"),
        (["class=2"], "'class=2' is not a parameter"),
        (["a=1", "a=2"], "a was given twice"),
        (["a=\x1b[31m"], "control characters"),
    ],
)
def test_wrong_parameters(words: list[str], said: str) -> None:
    _, problems = parse_parameters(words, WITH, "x")
    assert [said in problem.summary for problem in problems] == [True]


def test_without_a_tagged_cell_parameters_are_refused() -> None:
    _, (problem,) = parse_parameters(["a=1"], WITHOUT, "x.ipynb")
    assert "x.ipynb has no cell tagged parameters" in problem.summary
