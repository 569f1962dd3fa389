"""Which parameters a notebook has."""

import pytest

from modelyard.runs.notebooks import Notebook, parse_parameters
from modelyard.runs.notebooks.reading import variables

CELL = "import os\nepochs = 1\nlearning_rate: float = 0.1\nseed, name = 3, 'x'\n"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (CELL, ("epochs", "learning_rate", "seed", "name")),
        ("# only words", ()),
        ("a: int", ("a",)),
        ("a = b = (c := 1)\n[d, *e] = f(x=1)\nx.y = g[0] = 1", ("a", "b", "c", "d", "e")),
        ("if True:\n    a = 1\nelse:\n    b = 2", ("a", "b")),
        ("%matplotlib inline\n!nvidia-smi\na = 1\nb = !ls\n?len", ("a", "b")),
        ("a = 'C:\\data'", ("a",)),
    ],
)
def test_the_variables_of_a_cell(source: str, names: tuple[str, ...]) -> None:
    assert variables(source) == names


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
def test_a_cell_with_unknown_names_accepts_any_parameter(source: str) -> None:
    assert variables(source) is None
    assert parse_parameters(["anything=1"], Notebook(source), "x") == ({"anything": "1"}, ())


@pytest.mark.parametrize(
    ("word", "cell", "summary", "remedy"),
    [
        (
            "epoch=2",
            CELL,
            "x has no parameter epoch: its cell tagged parameters sets epochs, learning_rate, seed, name",
            "did you mean epochs?",
        ),
        ("zzz=2", CELL, "sets epochs, learning_rate, seed, name", "set its default there: zzz = …"),
        ("zzz=2", "# none", "x has no parameter zzz: its cell tagged parameters sets none", "set its default there"),
        ("zzz=2", "\n".join(f"p{n} = 1" for n in range(11)), "p7 and 3 more", "set its default there"),
    ],
)
def test_a_parameter_that_the_cell_does_not_set_is_reported(word: str, cell: str, summary: str, remedy: str) -> None:
    _, (problem,) = parse_parameters([word], Notebook(cell), "x")
    assert summary in problem.summary
    assert problem.remedy.startswith(remedy)


def test_each_unknown_parameter_is_reported() -> None:
    found, problems = parse_parameters(["epochs=1", "epoch=1", "rate=1"], Notebook(CELL), "x")
    assert [one.summary.split(":")[0].split()[-1] for one in problems] == ["epoch", "rate"]
    assert "epochs" in found
