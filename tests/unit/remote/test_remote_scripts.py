"""The scripts around a remote job, run for real: storage is a folder, and everything else is what runs on a machine."""

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from modelyard.stack.remote import Bucket
from modelyard.workloads.remote.script import (
    BucketFolder,
    checksums,
    export_script,
    import_script,
    job_script,
    secrets_of,
)
from tests.support.remote_storage import AWS, tree

LAKE = BucketFolder(Bucket("lake", "s3://acme-lake", ()), "datasets/churn")
MODELS = BucketFolder(Bucket("lake", "s3://acme-lake", ()), "models/churn")


def sh(text: str, *words: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    whole = {"PATH": os.environ["PATH"], **(env or {})}
    command = ["sh", "-c", text, "sh", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=whole, timeout=60, check=False)


def seal(folder: Path) -> None:
    assert sh(f'set -eu\n{checksums()}\nseal "$1"', folder).returncode == 0


def verify(folder: Path, announced: str = "") -> subprocess.CompletedProcess[str]:
    return sh(f'set -eu\n{checksums()}\nverify "$1" "$2"', folder, announced)


def test_a_folder_matches_its_manifest(tmp_path: Path) -> None:
    seal(tree(tmp_path))
    assert verify(tmp_path).returncode == 0
    lines = (tmp_path / "MANIFEST.sha256").read_text().splitlines()
    assert len(lines) == 5
    digest = hashlib.sha256(b"3\n").hexdigest()
    assert f"{digest}  ./deep/b c.csv" in lines


def flip(folder: Path) -> None:
    path = folder / "deep" / "b c.csv"
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (flip, "deep/b c.csv"),
        (
            lambda folder: (folder / "empty").unlink(),
            "< e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ),
        (lambda folder: (folder / "deep" / "more").write_text("z"), "./deep/more"),
        (lambda folder: (folder / "a.csv").rename(folder / "b.csv"), "./b.csv"),
        (lambda folder: (folder / "MANIFEST.sha256").unlink(), "has no manifest"),
        (lambda folder: (folder / "link").symlink_to("/etc/passwd"), "links or devices"),
    ],
    ids=["flipped byte", "missing file", "extra file", "renamed file", "no manifest", "link"],
)
def test_damage_is_found(tmp_path: Path, damage: Callable[[Path], object], words: str) -> None:
    seal(tree(tmp_path))
    damage(tmp_path)
    result = verify(tmp_path)
    assert result.returncode != 0
    assert words in result.stderr


def test_a_replaced_manifest_is_found_by_its_checksum(tmp_path: Path) -> None:
    seal(tree(tmp_path))
    announced = hashlib.sha256((tmp_path / "MANIFEST.sha256").read_bytes()).hexdigest()
    assert verify(tmp_path, announced).returncode == 0
    flip(tmp_path)
    seal(tmp_path)
    assert verify(tmp_path).returncode == 0
    assert "expected SHA-256" in verify(tmp_path, announced).stderr


def test_an_empty_folder_is_not_a_dataset(tmp_path: Path) -> None:
    assert "no files" in sh(f'set -eu\n{checksums()}\nseal "$1"', tmp_path).stderr


@pytest.fixture
def store(tmp_path: Path) -> dict[str, str]:
    """The environment in which ``aws`` copies folders."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "store").mkdir()
    aws = tmp_path / "bin" / "aws"
    aws.write_text(AWS)
    aws.chmod(0o755)
    given = {name: f"{name}-value" for name in secrets_of(LAKE, MODELS)}
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    return {"PATH": path, "STORE": str(tmp_path / "store"), "MODELYARD_WORK": str(tmp_path / "work"), **given}


def exported(tmp_path: Path, store: dict[str, str]) -> str:
    result = sh(export_script(LAKE), tree(tmp_path / "dataset"), env={**store, "AWS_ACCESS_KEY_ID": "platform"})
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_a_job_reads_exported_data_and_its_model_is_imported(tmp_path: Path, store: dict[str, str]) -> None:
    digest = exported(tmp_path, store)
    see = (
        'cp "$MODELYARD_DATA/a.csv" "$MODELYARD_MODEL/weights"; env >"$MODELYARD_MODEL/env"; touch "$MODELYARD_DATA/x"'
    )
    text = job_script(("sh", "-c", f"{see} || true"), 30, LAKE, MODELS, False)
    result = sh(text, env={**store, "MODELYARD_DATA_MANIFEST": digest})
    assert result.returncode == 0, result.stderr
    assert "-value" not in (tmp_path / "store/acme-lake/models/churn/env").read_text()
    back = sh(import_script(MODELS), tmp_path / "model", env={**store, "AWS_ACCESS_KEY_ID": "platform"})
    assert back.returncode == 0, back.stderr
    assert (tmp_path / "model/weights").read_text() == "1,2\n"
    calls = (tmp_path / "store/calls").read_text().split("\n")
    assert calls[3:7] == [
        "READ_ACCESS_KEY_ID-value sync",
        "WRITE_ACCESS_KEY_ID-value rm",
        "WRITE_ACCESS_KEY_ID-value sync",
        "WRITE_ACCESS_KEY_ID-value cp",
    ]


def test_an_export_replaces_an_earlier_one_of_the_same_size(tmp_path: Path, store: dict[str, str]) -> None:
    exported(tmp_path, store)
    older = tmp_path / "dataset/a.csv"
    older.write_text("9,9\n")
    os.utime(older, (1, 1))
    (tmp_path / "dataset/empty").unlink()
    env = {**store, "AWS_ACCESS_KEY_ID": "platform"}
    assert sh(export_script(LAKE), tmp_path / "dataset", env=env).returncode == 0
    assert verify(tmp_path / "store/acme-lake/datasets/churn").returncode == 0
    assert (tmp_path / "store/acme-lake/datasets/churn/a.csv").read_text() == "9,9\n"


def test_a_job_does_not_start_on_damaged_data(tmp_path: Path, store: dict[str, str]) -> None:
    exported(tmp_path, store)
    flip(tmp_path / "store/acme-lake/datasets/churn")
    result = sh(job_script(("touch", str(tmp_path / "started")), 30, LAKE, MODELS, False), env=store)
    assert result.returncode != 0
    assert not (tmp_path / "started").exists()
    assert not (tmp_path / "store/acme-lake/models").exists()


def test_a_changed_model_is_not_imported(tmp_path: Path, store: dict[str, str]) -> None:
    exported(tmp_path, store)
    assert (
        sh(job_script(("sh", "-c", 'echo 1 >"$MODELYARD_MODEL/w"'), 30, LAKE, MODELS, False), env=store).returncode == 0
    )
    (tmp_path / "store/acme-lake/models/churn/w").write_text("2\n")
    (tmp_path / "models").mkdir()
    back = sh(import_script(MODELS), tmp_path / "models/churn/", env={**store, "AWS_ACCESS_KEY_ID": "platform"})
    assert back.returncode != 0
    assert "its manifest" in back.stderr
    # Neither under its name, nor beside it.
    assert list((tmp_path / "models").iterdir()) == []


def test_an_import_replaces_only_an_empty_folder(tmp_path: Path, store: dict[str, str]) -> None:
    env = {**store, "AWS_ACCESS_KEY_ID": "platform"}
    seal(tree(tmp_path / "store/acme-lake/models/churn"))
    models = tmp_path / "models"
    (models / "empty").mkdir(parents=True)
    (models / "full").mkdir()
    (models / "full/mine").touch()
    (models / "file").touch()
    for name, works in (("empty/", True), ("new/deep", True), ("full", False), ("file", False)):
        done = sh(import_script(MODELS), models / name.rstrip("/"), env=env)
        assert (done.returncode == 0) == works, (name, done.stderr)
        assert ("empty folder" in done.stderr) != works
    assert [verify(models / name).returncode for name in ("empty", "new/deep")] == [0, 0]
    assert (models / "empty").stat().st_mode & 0o777 == (models / "full").stat().st_mode & 0o777
    assert [path.name for path in (models / "full").iterdir()] == ["mine"]
    assert sorted(path.name for path in models.iterdir()) == ["empty", "file", "full", "new"]


def test_a_job_that_fails_writes_no_model(tmp_path: Path, store: dict[str, str]) -> None:
    exported(tmp_path, store)
    assert sh(job_script(("sh", "-c", "exit 7"), 30, LAKE, MODELS, False), env=store).returncode == 7
    assert not (tmp_path / "store/acme-lake/models").exists()


def test_the_time_limit_ends_the_job_on_the_machine(tmp_path: Path, store: dict[str, str]) -> None:
    exported(tmp_path, store)
    result = sh(job_script(("sleep", "50"), 1, LAKE, MODELS, False), env=store)
    assert result.returncode == 124
    assert not (tmp_path / "store/acme-lake/models").exists()


def test_arguments_of_the_command_are_unchanged(tmp_path: Path) -> None:
    word = 'it\'s $HOME `id` "x" \\'
    result = sh(job_script(("printf", "%s", word), 10, None, None, True), env={"MODELYARD_WORK": str(tmp_path)})
    assert result.stdout == word


@pytest.mark.parametrize(("script", "usage"), [(export_script, "export.sh DIR"), (import_script, "import.sh DIR")])
def test_a_script_without_its_folder_prints_its_usage(
    store: dict[str, str], script: Callable[[BucketFolder], str], usage: str
) -> None:
    result = sh(script(MODELS), env=store)
    assert result.returncode != 0
    assert f"is missing: sh {usage}" in result.stderr
    assert not Path(store["STORE"], "calls").exists()
