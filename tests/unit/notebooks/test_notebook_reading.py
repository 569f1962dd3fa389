"""What is a notebook that a job can run, and what is not.

The problems are in ``tests/golden/test_notebook_reading.txt``.
"""

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
    assert found == Notebook("a = 1\nb")


def test_a_kernel_without_a_language_may_be_python(tmp_path: Path) -> None:
    metadata = {"kernelspec": {"name": "torch"}, "language_info": {"name": "python"}}
    assert read(tmp_path, notebook(metadata=metadata)) == Notebook()


CONTENTS: list[Any] = [
    b"",
    b'{\n"cells": [\n',
    b'{\n"cells": ["x',
    b'{"cells": "x\n"}',
    b"\xff\xfe\x00",
    b"[" * 100_000,
    [],
    {"a": 1},
    {"nbformat": 3, "worksheets": []},
    {"nbformat": True, "cells": []},
    {"nbformat": "4", "cells": []},
    notebook(cells={}),
    notebook(1, cell(), cell(kind="sql"), {"cell_type": "code"}),
    notebook(cell(kind="markdown"), cell("  ")),
    notebook(metadata=[]),
    notebook(metadata={}),
    notebook(metadata={"kernelspec": {"name": "ir", "language": "R"}}),
]


def test_a_file_that_is_not_a_notebook_is_reported(tmp_path: Path, golden: Any) -> None:
    golden(*("\n".join(f"{one.summary}; {one.remedy}" for one in read(tmp_path, content)) for content in CONTENTS))


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path, golden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder.ipynb").mkdir()
    (tmp_path / "train.py").write_text("")
    found: list[Any] = [read_notebook(tmp_path / name, "x") for name in ("folder.ipynb", "none.ipynb", "train.py")]
    monkeypatch.setattr(reading, "MAX_BYTES", 10)
    found.append(read(tmp_path, notebook()))
    golden(*(problem.summary for problems in found for problem in problems))


WITH, WITHOUT = Notebook("rate = name = empty = a = 1"), Notebook()


def test_parameters_are_parsed() -> None:
    assert parse_parameters(["rate=0.1", "name=a=b", "empty="], WITH, "x") == (
        {"rate": "0.1", "name": "a=b", "empty": ""},
        (),
    )
    assert parse_parameters([], WITHOUT, "x") == ({}, ())


def test_wrong_parameters_are_reported(golden: Any) -> None:
    cases = (["rate"], ["1x=2"], ["class=2"], ["a=1", "a=2"], ["a=\x1b[31m"])
    found = [parse_parameters(words, WITH, "x")[1] for words in cases]
    # Without a tagged cell, parameters are refused.
    found.append(parse_parameters(["a=1"], WITHOUT, "x.ipynb")[1])
    assert [len(problems) for problems in found] == [1] * len(found)
    golden(*(problem.summary for (problem,) in found))
