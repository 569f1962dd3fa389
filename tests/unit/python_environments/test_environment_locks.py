"""What a lock file says, and what makes one environment differ from another."""

import pytest

from modelyard.stack.environments import Pinned
from modelyard.workloads.environments.locks import LockError, digest, locked, made_of, parse_lock
from modelyard.workloads.environments.rules import cuda_of

SHA = "0" * 64
TEXT = locked("3.11", "a" * 64, {"NumPy": ("1.26.4", SHA), "aiohttp": ("3.9", "1" * 64)})


def test_a_lock_is_read_as_it_was_written() -> None:
    lock = parse_lock(TEXT)
    assert (lock.python, lock.made_of) == ("3.11", "a" * 64)
    assert lock.packages == (Pinned("aiohttp", "3.9"), Pinned("numpy", "1.26.4"))
    assert TEXT.endswith(lock.text)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("# python 3.11, linux x86_64\n", "", "the list it was made from"),
        (f" \\\n    --hash=sha256:{SHA}", "", "not a package with version and hash"),
        ("numpy==1.26.4", "numpy>=1", "not a package with version and hash"),
        ("numpy==1.26.4", "--index-url https://example.com\nnumpy==1.26.4", "not a package with version and hash"),
        ("numpy==1.26.4", "<<<<<<< HEAD\nnumpy==1.26.4", "not a package with version and hash"),
    ],
)
def test_a_file_that_is_not_a_lock_is_refused(before: str, after: str, said: str) -> None:
    assert before in TEXT
    with pytest.raises(LockError, match=said):
        parse_lock(TEXT.replace(before, after))


def test_an_empty_lock_is_refused() -> None:
    with pytest.raises(LockError, match="no packages"):
        parse_lock(locked("3.11", "a" * 64, {}))


def test_the_digest_ignores_order_and_spaces() -> None:
    assert made_of("3.11", ("a >= 1", "b")) == made_of("3.11", ("b", "a>=1"))
    assert len({made_of("3.11", ("a",)), made_of("3.10", ("a",)), made_of("3.11", ("b",))}) == 3


def test_the_digest_covers_every_part_of_the_build() -> None:
    lock = parse_lock(TEXT)
    other = parse_lock(TEXT.replace("1.26.4", "1.26.5"))
    found = {digest(lock, "image:1"), digest(lock, "image:2"), digest(other, "image:1")}
    assert len({*found, digest(lock._replace(python="3.10"), "image:1")}) == 4
    assert digest(lock._replace(made_of="b" * 64), "image:1") in found


@pytest.mark.parametrize(
    ("name", "version", "cuda"),
    [
        ("torch", "2.0.1+cu118", ["11.8"]),
        ("torch", "2.1.0+cu121.with.pypi.cudnn", ["12.1"]),
        ("nvidia-cuda-runtime-cu12", "12.4.127", ["12.4"]),
        ("nvidia_cuda_runtime", "13.0.48", ["13.0"]),
        ("cupy-cuda11x", "13.0", ["11.0"]),
        ("torch", "2.0.1+cpu", []),
        ("nvidia-cudnn-cu12", "9.1.0.70", []),
        ("numpy", "12.4", []),
    ],
)
def test_the_cuda_of_packages(name: str, version: str, cuda: list[str]) -> None:
    assert [found for found, _ in cuda_of([Pinned(name, version)])] == cuda
