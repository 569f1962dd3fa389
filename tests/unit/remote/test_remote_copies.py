"""Jobs of the platform that copy a dataset out and a model in: what they ask for, and their containers run for real."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml

from modelyard.stack import Stack, load_text
from modelyard.workloads.remote import check_remote
from modelyard.workloads.remote.copies import copy_jobs
from modelyard.workloads.remote.launch import launch_files, launches
from tests.support.remote_storage import AWS, tree

EXPORT = "exportFrom: {claim: datasets, path: raw/churn, secret: pond-write}"
IMPORT = "importTo: {claim: models, path: remote, secret: pond-read, image: registry.example/copier:2}"
ON_S3 = ("gs://acme-pond", "s3://acme-pond")
LAST = "        model: {bucket: pond, prefix: models}\n"
BOTH = (LAST, f"{LAST}        {EXPORT}\n        {IMPORT}\n")
Made = Callable[..., Stack]


def jobs(stack: Stack) -> Mapping[str, Any]:
    """The Jobs of the job ``own``, by name of their file."""
    (away,) = [one for one in stack.config.resources if one.name == "away"]
    (launch,) = launches(stack, away)
    files = {name.partition("/")[2]: text for name, text in launch_files(launch).items()}
    return {name: yaml.safe_load(text) for name, text in copy_jobs(stack, away, "own", files).items()}


def pod(job: Any) -> Any:
    return job["spec"]["template"]["spec"]


def test_without_a_folder_there_are_no_copy_jobs(stack: Made) -> None:
    assert jobs(stack()) == {}


def test_copy_jobs_have_a_volume_a_secret_and_no_token(stack: Made) -> None:
    made = jobs(stack(ON_S3, BOTH))
    assert set(made) == {"export.yaml", "import.yaml"}
    for job, claim, secret, reads, image in (
        (made["export.yaml"], "datasets", "pond-write", True, "registry.example/trainer:3"),
        (made["import.yaml"], "models", "pond-read", False, "registry.example/copier:2"),
    ):
        assert job["metadata"]["namespace"] == "ml"
        (container,) = pod(job)["containers"]
        (volume,) = pod(job)["volumes"]
        assert volume["persistentVolumeClaim"] == {"claimName": claim, "readOnly": reads}
        assert container["volumeMounts"] == [{"name": volume["name"], "mountPath": "/copied", "readOnly": reads}]
        assert container["envFrom"] == [{"secretRef": {"name": secret}}]
        assert container["image"] == image
        assert pod(job)["automountServiceAccountToken"] is False


def ran(job: Any, volume: Path, store: Path, bin_: Path) -> subprocess.CompletedProcess[str]:
    """The container of a Job as a node would run it, with its volume in a folder."""
    (container,) = pod(job)["containers"]
    *command, folder = [word.replace("$$", "$") for word in container["command"]]
    assert folder.startswith("/copied/")
    env = {"PATH": f"{bin_}:{os.environ['PATH']}", "STORE": str(store), "AWS_ACCESS_KEY_ID": "platform"}
    here = [*command, str(volume) + folder.removeprefix("/copied")]
    return subprocess.run(here, capture_output=True, text=True, env=env, timeout=60, check=False)


def test_exported_and_imported_data_is_complete(stack: Made, tmp_path: Path) -> None:
    made = jobs(stack(ON_S3, BOTH))
    store, volume, bin_ = (tmp_path / name for name in ("store", "volume", "bin"))
    for folder in (store, volume, bin_):
        folder.mkdir()
    (bin_ / "aws").write_text(AWS)
    (bin_ / "aws").chmod(0o755)
    tree(volume / "raw" / "churn")
    done = ran(made["export.yaml"], volume, store, bin_)
    assert done.returncode == 0, done.stderr
    exported = store / "acme-pond" / "out"
    assert (exported / "deep" / "b c.csv").read_text() == "3\n"
    sealed = subprocess.run(["sha256sum", exported / "MANIFEST.sha256"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [sealed.stdout.split()[0]]
    # What comes back: here the same files, as if they were the model.
    copytree(exported, store / "acme-pond" / "models" / "own")
    done = ran(made["import.yaml"], volume, store, bin_)
    assert done.returncode == 0, done.stderr
    assert (volume / "remote" / "own" / "a.csv").read_text() == "1,2\n"
    again = ran(made["import.yaml"], volume, store, bin_)
    assert again.returncode != 0
    assert "not an empty folder" in again.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "        data: {shared: {bucket: lake, prefix: datasets/churn}}\n",
            f"        data: {{shared: {{bucket: lake, prefix: datasets/churn}}}}\n        {EXPORT}\n",
            "cannot have remote.exportFrom: its data is not exported",
        ),
        (
            "        model: {bucket: lake, prefix: models}\n",
            f"        {IMPORT}\n",
            "cannot have remote.importTo: it writes no model",
        ),
    ],
)
def test_a_folder_without_use_is_an_error(stack: Made, old: str, new: str, said: str) -> None:
    found = [one for one in check_remote(stack((old, new))) if one.code == "REM016"]
    assert [said in one.summary for one in found] == [True]
    assert found[0].line


def test_the_command_quotes_the_context(stack: Made) -> None:
    named = stack(ON_S3, BOTH)._replace(context="the platform")
    (away,) = [one for one in named.config.resources if one.name == "away"]
    text = copy_jobs(named, away, "own", {"export.sh": "true\n"})["export.yaml"]
    assert "# kubectl --context 'the platform' create -f export.yaml\n" in text


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("path: raw/churn", "path: ../x", 'exportFrom.path is "../x", which leaves its volume'),
        ("path: raw/churn", "path: raw/../../x", "leaves its volume"),
        ("path: raw/churn", "path: /raw", 'exportFrom.path is "/raw", not a folder of the volume'),
        ("prefix: out", "prefix: ../out", 'prefix is "../out", which leaves its bucket'),
    ],
)
def test_a_path_outside_its_volume_or_bucket_is_refused(text: str, before: str, after: str, words: str) -> None:
    whole = text.replace("        data: {transfer", f"        {EXPORT}\n        data: {{transfer")
    assert before in whole
    loaded, (finding,) = load_text(whole.replace(before, after), "dev", "stacks/Pulumi.dev.yaml")
    assert (loaded, finding.severity.value, finding.line > 1) == (None, "error", True)
    assert words in finding.summary
