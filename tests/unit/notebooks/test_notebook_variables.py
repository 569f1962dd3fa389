"""Which parameters a notebook has, and for which a value would reach nothing."""

import json
from pathlib import Path

import pytest

from modelyard.notebooks import Notebook, parse_parameters, read_notebook
from modelyard.notebooks.variables import names_in, unreached

CELL = "import os\nepochs = 1\nlearning_rate: float = 0.1\nseed, name = 3, 'x'\n_own = 2\n"


@pytest.mark.parametrize(
    ("source", "variables"),
    [
        (CELL, ("epochs", "learning_rate", "seed", "name", "_own")),
        ("# only words", ()),
        ("a: int", ("a",)),
        ("a = b = (c := 1)\n[d, *e] = f()\nx.y = g[0] = 1", ("a", "b", "c", "d", "e")),
        ("if True:\n    a = 1\nelse:\n    b = 2\nfor c in range(3):\n    pass\nwith open(d) as e:\n    pass", None),
        ("def f(x):\n    inner = x\n    return inner\nclass C:\n    a = 1\nz = [q for q in 'ab']", ("z",)),
        ("%matplotlib inline\n!nvidia-smi\na = 1\nb = !ls\n  \nlen?", ("a", "b")),
        ("a = 'C:\\data'", ("a",)),
    ],
)
def test_the_variables_of_code(source: str, variables: tuple[str, ...] | None) -> None:
    found = names_in(source)
    assert found is not None
    assert found.variables == (variables if variables is not None else ("a", "b", "c", "e"))


@pytest.mark.parametrize(
    "source",
    [
        "from defaults import *",
        "%run defaults.py",
        "%%time\na = 1",
        "exec(open('defaults.py').read())",
        "globals().update(defaults)",
        "get_ipython().run_line_magic('run', 'x')",
        "a = (1",
        "a = 1\0",
        "x = " + "(" * 5000,
        "a = 1\n" + " " * 1_000_001,
    ],
)
def test_what_nobody_can_tell_is_no_mistake(source: str) -> None:
    assert names_in(source) is None
    assert unreached("anything", source, ()) is None


@pytest.mark.parametrize(
    ("name", "behind", "reached"),
    [
        ("epochs", (), True),
        ("os", (), True),
        ("epoch", (), False),
        # It has no default, and a cell behind asks for it.
        ("run_id", ("print(run_id)",), True),
        ("run_id", ("def f():\n    return run_id",), True),
        ("run_id", ("!python train.py --run {run_id}",), True),
        ("run_id", ("out = !ls $run_id",), True),
        ("run_id", ("frame.query('run == @run_id')",), True),
        ("run_id", ("try:\n    run_id\nexcept NameError:\n    run_id = 7",), True),
        ("run_id", ("run_id = run_id + 1",), True),
        ("run_id", ("run_id += 1",), True),
        ("run_id", ("print(run_id)", "run_id = 7"), True),
        # What a cell behind sets itself is lost.
        ("run_id", ("run_id = 7", "print(run_id)"), False),
        ("epoch", ("def train(epoch):\n    epoch += 1\n    return [epoch for epoch in range(epoch)]",), False),
        ("epoch", ("for epoch in range(epochs):\n    print(epoch)",), False),
        ("epoch", ("train(epoch=epochs)",), False),
        ("max", ("max(1, 2)",), False),
        ("epoch", ("%run train.py", "print(1)"), False),
        ("run_id", ("%run train.py {run_id}", "print(1)"), True),
        ("run_id", ("globals()['run' + '_id']", "known = ['run_id']"), True),
    ],
)
def test_a_value_reaches_a_variable_of_the_cell_or_one_that_has_no_other(
    name: str, behind: tuple[str, ...], reached: bool
) -> None:
    have = ("epochs", "learning_rate", "seed", "name")
    assert unreached(name, CELL, behind) == (None if reached else have)


@pytest.mark.parametrize(
    ("word", "cell", "summary", "remedy"),
    [
        (
            "epoch=2",
            CELL,
            "x has no parameter epoch: its cell has epochs, learning_rate, seed and name",
            "did you mean e",
        ),
        ("zzz=2", CELL, "x has no parameter zzz: its cell has epochs", "name one of them"),
        (
            "zzz=2",
            "# none",
            "x has no parameter zzz: its cell tagged parameters sets none",
            "set its default there: zzz =",
        ),
        ("zzz=2", "\n".join(f"p{n} = 1" for n in range(11)), "p6, p7 and 3 more", "name one of them"),
    ],
)
def test_a_parameter_that_nothing_reads_is_told(word: str, cell: str, summary: str, remedy: str) -> None:
    _, (problem,) = parse_parameters([word], Notebook("python3", True, cell), "x")
    assert summary in problem.summary
    assert problem.remedy.startswith(remedy)


def test_each_of_them_is_told() -> None:
    found, problems = parse_parameters(["epochs=1", "epoch=1", "rate=1"], Notebook("python3", True, CELL), "x")
    assert [one.summary.split(":")[0] for one in problems] == ["x has no parameter epoch", "x has no parameter rate"]
    assert "epochs" in found


def test_the_cell_of_an_earlier_run_says_nothing(tmp_path: Path) -> None:
    """papermill puts the next values in its place."""
    sources = {"a = 0": [], "epochs = 1": ["parameters"], "run_id = 7": ["injected-parameters"], "print(run_id)": []}
    cells = [{"cell_type": "code", "metadata": {"tags": tags}, "source": text} for text, tags in sources.items()]
    document = {"nbformat": 4, "metadata": {"kernelspec": {"name": "p", "language": "python"}}, "cells": cells}
    file = tmp_path / "train.ipynb"
    file.write_text(json.dumps(document))
    found = read_notebook(file, "train.ipynb")
    assert isinstance(found, Notebook)
    assert (found.defaults, found.behind) == ("epochs = 1", ("print(run_id)",))
    assert parse_parameters(["run_id=8"], found, "x")[1] == ()
