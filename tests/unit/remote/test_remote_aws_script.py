"""The script of a job's machine, run by a real shell; what it calls stands on PATH and notes how it was called."""

import hashlib
import json
import shlex
import shutil
import subprocess
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from modelyard.workloads.remote.aws_job import MOST, Place, RemoteJob, problems, user_data
from modelyard.workloads.remote.script import checksums
from tests.support.remote_stack import JOB

# The programs of a pipe run at the same time, and bash writes line by line.
FAKE = """#!/bin/bash
{ flock 9; printf '%s\\0' "$(basename "$0")" "$@" $'\\n' >&9; } 9>>"$CALLS"
"""
AWS = (
    FAKE
    + 'if [ "$1" = ecr ]; then echo "$TOKEN"; [ -z "$FAIL_ECR" ] || exit 1; fi\n'
    + (
        'if [ "$1" = s3 ]; then for last; do :; done; case "$last" in\n'
        '  s3://*) f="${@: -2:1}"; [ -f "$f" ] && cp "$f" "$UPLOADED/$(basename "$last")"\n'
        '    [ -d "$f" ] && cp -r "$f" "$UPLOADED/tree";;\n'
        '  *) [ -z "$FAIL_S3" ] || exit 9; printf data >"$last/a"; cd "$last"\n'
        '    sha256sum ./a >MANIFEST.sha256; [ -z "$ADDED" ] || printf x >./b\n'
        '    [ -z "$UNSEALED" ] || rm MANIFEST.sha256;;\n'
        "esac; true; fi\n"
    )
)
DOCKER = FAKE + (
    'case "$1" in\n'
    '  login) cat >"$UPLOADED/password";;\n'
    '  run) [ -z "$EMPTY" ] && { cd "$MODELYARD_WORK/model"; mkdir "a b"; printf weights >"a b/w.bin"\n'
    "    printf x >./-n; ln -s /etc/passwd link; }\n"
    '    exit "${RUN_EXIT:-0}";;\n'
    "esac\n"
)


class Ran(NamedTuple):
    calls: list[list[str]]
    uploaded: Path
    code: int

    def named(self, *start: str) -> list[list[str]]:
        return [call for call in self.calls if call[: len(start)] == list(start)]


def run(tmp_path: Path, job: RemoteJob = JOB, **environment: str) -> Ran:
    tools, uploaded, calls = tmp_path / "bin", tmp_path / "uploaded", tmp_path / "calls"
    for folder in (tools, uploaded):
        folder.mkdir()
    for name, text in {"aws": AWS, "docker": DOCKER}.items():
        (tools / name).write_text(text)
    for name in ("shutdown", "systemctl", "poweroff"):
        (tools / name).write_text(FAKE + ('[ -z "$FAIL_SHUTDOWN" ]\n' if name == "shutdown" else ""))
    for tool in tools.iterdir():
        tool.chmod(0o755)
    script = tmp_path / "user-data"
    script.write_text(user_data(job))
    defaults = dict.fromkeys(("FAIL_ECR", "FAIL_S3", "FAIL_SHUTDOWN", "EMPTY", "ADDED", "UNSEALED"), "")
    done = subprocess.run(
        ["bash", str(script)],
        env={
            "PATH": f"{tools}:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "CALLS": str(calls),
            "UPLOADED": str(uploaded),
            "TOKEN": "registry-token",
            "MODELYARD_WORK": str(tmp_path / "work"),
            **defaults,
            **environment,
        },
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    made = [call.split("\0") for call in calls.read_text().split("\0\n\0") if call]
    return Ran(made, uploaded, done.returncode)


def test_the_shutdown_is_scheduled_first(tmp_path: Path) -> None:
    ran = run(tmp_path)
    assert ran.code == 0
    # 3601 seconds are 61 minutes begun.
    assert ran.calls[0][:-1] == ["shutdown", "-P", "+61"]


def test_only_a_serving_job_publishes_a_port_and_only_on_localhost(tmp_path: Path) -> None:
    for name, job in {"serves": JOB._replace(serves=True, port=8000), "trains": JOB}.items():
        (tmp_path / name).mkdir()
        ran = run(tmp_path / name, job)
        assert ran.code == 0
        (call,) = ran.named("docker", "run")
        found = [value for flag, value in pairwise(call) if flag == "--publish"]
        assert found == (["127.0.0.1:8000:8000"] if job.serves else [])
        # What follows the image is the command, as it is.
        assert tuple(call[call.index(job.image) + 1 :]) == job.command


@pytest.mark.parametrize("job", [JOB._replace(port=8000), JOB._replace(serves=True, port=65536)])
def test_only_a_serving_job_has_a_port(job: RemoteJob) -> None:
    assert "port" in [field for field, _ in problems(job)]


def test_a_machine_that_cannot_schedule_its_shutdown_is_powered_off(tmp_path: Path) -> None:
    ran = run(tmp_path, FAIL_SHUTDOWN="1")
    assert [call[0] for call in ran.calls[:2]] == ["shutdown", "poweroff"]


def test_the_model_is_uploaded_with_its_manifest_last(tmp_path: Path) -> None:
    ran = run(tmp_path)
    sealed = (ran.uploaded / "MANIFEST.sha256").read_text()
    sums = dict(reversed(line.split("  ", 1)) for line in sealed.splitlines())
    there = {"./-n": b"x", "./a b/w.bin": b"weights"}
    assert sums == {name: hashlib.sha256(content).hexdigest() for name, content in there.items()}
    # What fetches the model from any machine takes it as it is.
    (ran.uploaded / "tree/MANIFEST.sha256").write_text(sealed)
    checked = subprocess.run(
        ["sh", "-c", f'{checksums()}verify "$1"', "sh", str(ran.uploaded / "tree")], capture_output=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, b"")
    copies = [call[-1] for call in ran.named("aws", "s3", "cp")]
    write = "s3://ml-models/jobs/train-7/"
    assert copies[1:] == [f"{write}model/", f"{write}model/MANIFEST.sha256", f"{write}result.json"]
    assert json.loads((ran.uploaded / "result.json").read_text()) == {"exit": 0, "step": "whole"}
    assert ran.calls[-1][:-1] == ["shutdown", "-P", "now"]
    (upload,) = (call for call in ran.named("aws", "s3", "cp") if call[-1] == f"{write}model/")
    assert "--no-follow-symlinks" in upload


def test_a_job_does_not_start_on_data_with_another_manifest(tmp_path: Path) -> None:
    ran = run(tmp_path, JOB._replace(manifest="0" * 64))
    assert json.loads((ran.uploaded / "result.json").read_text()) == {"exit": 1, "step": "verify"}
    assert ran.named("docker", "run") == []


def test_a_serving_job_uploads_no_model(tmp_path: Path) -> None:
    ran = run(tmp_path, JOB._replace(read=None, serves=True))
    assert [call[-1] for call in ran.named("aws", "s3", "cp")] == ["s3://ml-models/jobs/train-7/result.json"]


def test_the_command_is_unchanged_and_data_is_read_only(tmp_path: Path) -> None:
    (call,) = run(tmp_path).named("docker", "run")
    at = call.index(JOB.image)
    assert tuple(call[at + 1 :]) == JOB.command
    volumes = [after for before, after in pairwise(call) if before == "--volume"]
    work = tmp_path / "work"
    assert volumes == [f"{work}/data:/data:ro", f"{work}/model:/model"]
    assert "--privileged" not in call
    assert not [argument for argument in call if "docker.sock" in argument or argument.startswith("--net")]


def test_the_registry_token_is_passed_by_standard_input_only(tmp_path: Path) -> None:
    ran = run(tmp_path)
    assert (ran.uploaded / "password").read_text().strip() == "registry-token"
    assert not [call for call in ran.calls if "registry-token" in call]
    host = "210987654321.dkr.ecr.eu-central-1.amazonaws.com"
    assert ran.named("docker", "login") == [["docker", "login", "--username", "AWS", "--password-stdin", host]]
    assert ran.named("aws", "ecr") == [["aws", "ecr", "get-login-password", "--region", "eu-central-1"]]


@pytest.mark.parametrize(
    ("broken", "step", "code"),
    [
        ({"FAIL_S3": "1"}, "download", 9),
        ({"ADDED": "1"}, "verify", 1),
        ({"UNSEALED": "1"}, "verify", 1),
        ({"FAIL_ECR": "1"}, "pull", 1),
        ({"RUN_EXIT": "3"}, "run", 3),
        ({"EMPTY": "1"}, "manifest", 1),
    ],
)
def test_a_failed_job_records_the_step_and_powers_off(
    tmp_path: Path, broken: dict[str, str], step: str, code: int
) -> None:
    ran = run(tmp_path, **broken)
    assert json.loads((ran.uploaded / "result.json").read_text()) == {"exit": code, "step": step}
    assert ran.calls[-1] == ["shutdown", "-P", "now", f"{step} ended with {code}"]
    assert not (ran.uploaded / "MANIFEST.sha256").exists()
    assert not (ran.uploaded / "tree").exists()


def test_a_script_that_is_too_long_is_refused() -> None:
    user_data(JOB._replace(command=("x" * 12_000,)))
    with pytest.raises(
        ValueError, match=r"has \d+ bytes, but EC2 accepts at most 16384: move long parts into the image"
    ):
        user_data(JOB._replace(command=("x" * MOST,)))


def test_the_script_has_no_findings_of_shellcheck() -> None:
    """Where there is no shellcheck, the shell's own look at it, which finds what cannot be read at all."""
    checker = shutil.which("shellcheck")
    line = ["bash", "-n"] if checker is None else [checker, "-"]
    script = user_data(JOB._replace(command=("train", "--epochs", "3")))
    checked = subprocess.run(line, input=script, text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_a_good_job_has_no_problems() -> None:
    assert list(problems(JOB)) == []
    assert JOB.repository == "arn:aws:ecr:eu-central-1:210987654321:repository/team/train"
    assert JOB.deadline == JOB.launched + timedelta(seconds=3601 + 900)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "Train_7"}, "name is 'Train_7'"),
        ({"account": "1234"}, "account is '1234'"),
        ({"image": "docker.io/library/python:3"}, "an image in ECR"),
        ({"image": f"{JOB.image}\n"}, "an image in ECR"),
        ({"command": ()}, "command is empty"),
        ({"instance_type": "g5.2xlarg"}, "'g5.2xlarg', which is not an AWS GPU machine: did you mean g5.2xlarge?"),
        ({"region": "eu-west-9"}, "g5.2xlarge, which AWS does not offer in eu-west-9; similar: eu-west-"),
        ({"vpc": "subnet-0a1b"}, "vpc is 'subnet-0a1b': an ID is needed"),
        ({"subnet": "mine"}, "subnet is 'mine': an ID is needed"),
        ({"read": Place("ml-data", "sets")}, "a slash at the end"),
        ({"read": Place("ml-data", "")}, "a slash at the end"),
        ({"read": Place("ml-data", "*/")}, "a slash at the end"),
        ({"write": Place("ml-models", "${aws:username}/")}, "a slash at the end"),
        ({"write": Place("ml-models", "a/../b/")}, "a slash at the end"),
        ({"write": Place("ml-data", "sets/")}, "read and write overlap"),
        ({"write": Place("ml-data", "sets/7/model/")}, "read and write overlap"),
        ({"write": Place("ml_models*", "a/")}, "not a valid bucket name"),
        ({"launched": datetime(2026, 11, 22)}, "no time zone"),
        ({"manifest": "abc"}, "a SHA-256 has 64"),
        ({"limit": 5}, "limit is 5 seconds"),
        ({"limit": 10**9}, "limit is 1000000000 seconds"),
        ({"disk": 8}, "disk is 8 GiB"),
        ({"machine_image": "amazon-linux"}, "an AMI, or the path"),
        ({"key": "*"}, "key is '*': the ARN of a KMS key"),
        ({"key": "arn:aws:kms:eu-west-1:123456789012:key/*"}, "the ARN of a KMS key"),
        ({"key": "arn:aws:kms:eu-west-1:123456789012:alias/data"}, "the ARN of a KMS key"),
        ({"tags": {"modelyard:job": "other"}}, "tags have modelyard:job"),
    ],
)
def test_problems_of_a_job_are_reported(change: dict[str, object], message: str) -> None:
    (found,) = problems(JOB._replace(**change))
    assert message in " ".join(found)


def test_all_problems_are_reported_at_once() -> None:
    assert [field for field, _ in problems(JOB._replace(account="", limit=0, command=()))] == [
        "account",
        "command",
        "limit",
    ]


def test_values_are_quoted_for_the_shell() -> None:
    line = next(
        line for line in user_data(JOB._replace(command=("a b", "c"))).splitlines() if line.startswith("command=")
    )
    assert shlex.split(line.removeprefix("command=(").removesuffix(")")) == ["a b", "c"]
