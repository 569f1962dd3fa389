"""Conda's lists: what they may contain, how the solver gets it, and the files of a lock."""

from typing import Any

import pytest

from modelyard.stack.environments import Environment, Pinned
from modelyard.workloads.environments.conda import Solved, channels_of, constraints, faults_of, pinned, spelled
from modelyard.workloads.environments.locks import LockError, locked, made_of, parse_lock
from modelyard.workloads.environments.rules import cuda_of

FORGE = "https://conda.anaconda.org/conda-forge"
SHA = "ab" * 32
NUMPY = Solved(f"{FORGE}/linux-64/numpy-1.26.4-py311h64a7726_0.conda", SHA, python=True)
GRAPHVIZ = Solved(f"{FORGE}/linux-64/graphviz-9.0.0-h78e8752_1.tar.bz2", SHA, python=False)


def faults(*conda: str, channels: tuple[str, ...] = ()) -> list[tuple[str, int | None, str]]:
    environment = Environment("tabular", "3.11", conda=conda, channels=channels)
    return [(one.key, one.item, one.summary) for one in faults_of(environment)]


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("numpy", "numpy"),
        ("numpy=1.26", "numpy=1.26"),
        ("numpy = 1.26", "numpy=1.26"),
        ("numpy=1.26.*", "numpy 1.26.*"),
        ("numpy==1.26.4", "numpy==1.26.4"),
        ("numpy >=1.26, <2", "numpy>=1.26,<2"),
        ("numpy>=1.26|<1", "numpy>=1.26|<1"),
        ("pytorch=2.1.2=cuda118*", "pytorch ==2.1.2 cuda118*"),
        ("pytorch=2.1.*=*cuda*", "pytorch 2.1.* *cuda*"),
        ("_libgcc_mutex", "_libgcc_mutex"),
    ],
)
def test_packages_are_spelled_for_the_solver(text: str, spelling: str) -> None:
    assert faults(text) == []
    assert spelled(text) == spelling


@pytest.mark.parametrize(
    "text",
    [
        "conda-forge::numpy",
        "numpy[build=py311*]",
        "https://me:hunter2@example.com/noarch/a-1-0.conda",
        "./a-1-0.conda",
        "numpy 1.26",
        "numpy=",
        "--channel=x",
        "a\x1b[31m",
        "",
    ],
)
def test_an_entry_that_is_not_a_package_is_refused(text: str) -> None:
    ((key, item, summary),) = faults("six", text)
    assert (key, item, "hunter2" in summary) == ("conda", 1, False)


def test_a_package_given_twice_and_python_are_refused(golden: Any) -> None:
    found = faults("NumPy", "numpy>1", "python=3.11")
    assert [one[:2] for one in found] == [("conda", 1), ("conda", 2)]
    golden(*(summary for *_, summary in found))


@pytest.mark.parametrize(
    "channel", ["conda-forge", "conda-forge/label/rc", FORGE, "http://10.0.0.1:8080/mirror/", "bioconda"]
)
def test_channels_are_names_or_addresses(channel: str) -> None:
    assert faults("six", channels=(channel,)) == []


@pytest.mark.parametrize(
    ("channel", "what"),
    [
        ("https://me:hunter2@example.com/a", "a password or a token"),
        ("https://example.com/t/hunter2/a", "a password or a token"),
        ("file:///srv/channel", "neither a name nor an address"),
        ("../channel", "neither a name nor an address"),
        ("https://example.com/a?x=hunter2", "neither a name nor an address"),
    ],
)
def test_a_wrong_channel_is_refused(channel: str, what: str) -> None:
    ((key, item, summary),) = faults("six", channels=("conda-forge", channel))
    assert (key, item) == ("channels", 1)
    assert what in summary
    assert "hunter2" not in summary


def test_channels_need_packages_and_the_default_channel_is_conda_forge() -> None:
    assert [one[:2] for one in faults(channels=("conda-forge",))] == [("channels", None)]
    assert channels_of(Environment("a", "3.11", conda=("numpy",))) == ("conda-forge",)
    assert channels_of(Environment("a", "3.11", pip=("numpy",))) == ()


def test_a_lock_of_both_kinds_is_read_as_it_was_written() -> None:
    text = locked("3.11", "a" * 64, {"six": ("1.17.0", SHA)}, (GRAPHVIZ, NUMPY))
    lock = parse_lock(text)
    assert lock.conda == (GRAPHVIZ.line, NUMPY.line)
    assert lock.pip == f"six==1.17.0 \\\n    --hash=sha256:{SHA}\n"
    assert lock.packages == (
        Pinned("graphviz", "9.0.0", "conda"),
        Pinned("numpy", "1.26.4", "conda"),
        Pinned("six", "1.17.0"),
    )
    assert text.endswith(lock.text)
    assert parse_lock(locked("3.11", "a" * 64, {}, (NUMPY,))).pip == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"#sha256:{SHA}", ""),
        (f"#sha256:{SHA}", "#sha256:0"),
        ("https://", "file://"),
        ("https://", "https://me:hunter2@"),
        ("numpy-1.26.4-py311h64a7726_0.conda", "numpy.conda"),
        ("numpy-1.26.4-py311h64a7726_0.conda", "../numpy-1-0.conda/"),
        ("https", "six==1 --hash=sha256:" + SHA + "\nhttps"),
    ],
)
def test_a_lock_needs_a_fixed_address_and_hash_of_each_file(before: str, after: str) -> None:
    text = locked("3.11", "a" * 64, {}, (NUMPY,))
    assert before in text
    with pytest.raises(LockError):
        parse_lock(text.replace(before, after))


def test_a_version_with_an_epoch_is_read() -> None:
    assert pinned(f"{FORGE}/noarch/x264-1%21164.3095-h166bdaf_2.tar.bz2#sha256:{SHA}") == Pinned(
        "x264", "1!164.3095", "conda"
    )


def test_the_digest_of_a_lock_covers_its_inputs() -> None:
    def made(conda: tuple[str, ...], channels: tuple[str, ...], cuda: str) -> str:
        return made_of("3.11", ("six",), conda, channels, cuda)

    first = made(("a>=1", "b"), ("x", "y"), "11.7")
    assert made(("b", "a >= 1"), ("x", "y"), "11.7") == first
    others = {
        made(("b",), ("x", "y"), "11.7"),
        made(("a>=1", "b"), ("y", "x"), "11.7"),
        made(("a>=1", "b"), ("x", "y"), "12.4"),
        made_of("3.11", ("six",)),
    }
    assert len({first, *others}) == 5
    # CUDA says nothing to pip: a lock without conda's files fits on every platform.
    assert made((), (), "11.7") == made((), (), "12.4") == made_of("3.11", ("six",))


def test_constraints_of_pip_are_the_python_packages_of_conda() -> None:
    odd = Solved(f"{FORGE}/noarch/tzdata-2024a-h0c530f3_0.conda", SHA, python=True)
    assert list(constraints((NUMPY, GRAPHVIZ, odd))) == ["numpy==1.26.4"]


@pytest.mark.parametrize(
    ("name", "version", "cuda"),
    [
        ("cudatoolkit", "11.8.0", ["11.8"]),
        ("cuda-cudart", "12.4.127", ["12.4"]),
        ("cuda-version", "12.4", []),
        ("cupy-cuda12x", "13.0", []),
    ],
)
def test_the_cuda_of_packages_from_channels(name: str, version: str, cuda: list[str]) -> None:
    assert [found for found, _ in cuda_of([Pinned(name, version, "conda")])] == cuda
