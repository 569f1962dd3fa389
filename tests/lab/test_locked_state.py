"""Applies that share a state in a bucket, as in CI: an S3-compatible server and the engine's locks."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

from lab import Lab
from modelyard.engine.failure import failure
from tests.lab.support.cli_process import cli_process, send_signal
from tests.lab.support.environment import Environment, environment, words
from tests.lab.support.stuck_rollout import HEAD, hold, release

REGION = "eu-west-1"
KEYS = {"AWS_ACCESS_KEY_ID": "mock", "AWS_SECRET_ACCESS_KEY": "mock", "AWS_REGION": REGION}
LOCKED = failure("dev", ["locked by"], "")
RELEASED = failure("dev", [".pulumi/locks/dev.json) (code=NotFound)"], "")
"""The error if the other lock goes between the two requests that look for it and read it."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Host and port of the S3-compatible server."""
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    try:
        yield ":".join(map(str, server.get_host_and_port()))
    finally:
        server.stop()


@pytest.fixture
def bucket(server: str, tmp_path: Path) -> str:
    """The address of a new bucket in Pulumi's form."""
    name = tmp_path.name.replace("_", "-")
    keys = {name.lower(): key for name, key in KEYS.items() if name != "AWS_REGION"}
    client = boto3.client("s3", REGION, endpoint_url=f"http://{server}", **keys)
    client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
    return f"s3://{name}?region={REGION}&endpoint={server}&disableSSL=true&s3ForcePathStyle=true"


@pytest.fixture
def dev(tmp_path: Path, bucket: str) -> Iterator[Environment]:
    with environment("dev", tmp_path / "dev") as env:
        env.env |= {**KEYS, "PULUMI_BACKEND_URL": bucket}
        yield env


def test_a_locked_state_rejects_applies_until_the_lock_is_removed(dev: Environment, bucket: str) -> None:
    checks = json.loads(dev.modelyard("doctor", "dev", "--json").stdout)["checks"]
    (backend,) = (check for check in checks if check["name"] == "state backend")
    assert (backend["state"], backend["found"].split("&")[0]) == ("ok", bucket.split("&")[0])

    dev.modelyard("apply", "dev", "--yes")
    hold(dev)
    dev.edit("    cpu: 2\n", "    cpu: 3\n")
    with cli_process(dev, "apply", "dev", "--yes") as run:
        run.until(f"patching Deployment {HEAD}")
        (engine,) = (pid for pid, command in run.running().items() if command.startswith("pulumi "))
        for verb in ("apply", "destroy"):
            refused = dev.modelyard(verb, "dev", "--yes", check=False)
            assert refused.returncode == 3
            assert f"{LOCKED.summary}: " in words(refused)
            assert f"(pid {engine}) since " in words(refused)
        assert "deployment-ray-head" not in dev.modelyard("plan", "dev", "--live").stdout
        (drift,) = json.loads(dev.modelyard("drift", "dev", "--json", check=False).stdout)["stacks"]
        assert [one["name"] for one in drift["targets"] if one["state"] == "unfinished"] == [HEAD]
        verify = dev.modelyard("verify", "dev", "--timeout", "0s", check=False)
        assert (verify.returncode, f"{HEAD}: 0 of 1 pods available" in verify.stdout) == (1, True)
        # The whole machine is lost: no process is left to release the lock.
        send_signal(run.running(), signal.SIGKILL)
        run.process.wait()

    refused = dev.modelyard("apply", "dev", "--yes", check=False)
    assert refused.returncode == 3
    assert f"(pid {engine}) since " in words(refused)
    assert LOCKED.remedy in words(refused)
    dev.pulumi("cancel", "--stack", "dev", "--yes")
    release(dev)
    dev.finish()


def test_two_applies_at_the_same_time_do_not_interfere(dev: Environment) -> None:
    with cli_process(dev, "apply", "dev", "--yes") as one, cli_process(dev, "apply", "dev", "--yes") as other:
        ends = [run.end() for run in (one, other)]
    # If both start at the same moment, each finds the other's lock, and neither changes anything.
    for code, _, said in ends:
        refused = any(text in " ".join(said.split()) for text in (f"{LOCKED.summary}: ", RELEASED.summary))
        assert code in (0, 3), said
        assert refused == (code == 3), said
    dev.finish()


def test_stacks_with_one_backend_are_applied_in_parallel(dev: Environment, tmp_path: Path, bucket: str) -> None:
    with Lab.start(tmp_path / "prod", context="prod") as lab:
        lab.install_platform("prod")
        prod = Environment("prod", lab, tmp_path / "project")
        prod.env |= {**KEYS, "PULUMI_BACKEND_URL": bucket}
        hold(dev)
        with cli_process(dev, "apply", "dev", "--yes") as run:
            run.until(f"patching Deployment {HEAD}")
            prod.modelyard("apply", "prod", "--yes")
            assert run.process.poll() is None
            release(dev)
            code, _, said = run.end()
        assert code == 0, said
        prod.finish()
        dev.finish()
