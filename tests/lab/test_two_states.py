"""Runs with another state or another cluster than the last one."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from lab import Lab
from modelyard.engine.failure import other_cluster
from tests.lab.support.environment import Done, Environment, environment, identity
from tests.lab.support.managed_mode import clear, manage


def pulumi_in(env: Environment, folder: str, *arguments: str) -> Done:
    return subprocess.run(
        [str(env.lab.tools.bin / "pulumi"), *arguments, "--non-interactive"],
        cwd=env.folder / folder,
        env=env.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_second_state_stops_an_apply_before_any_change(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        assert pulumi_in(env, "stacks", "stack", "init", "dev").returncode == 0
        before = {
            target.name: env.deployment(target.name)["metadata"]["resourceVersion"] for target in env.plan().targets
        }
        done = pulumi_in(env, "stacks", "up", "--yes", "--skip-preview", "--stack", "dev")
        assert done.returncode != 0
        said = " ".join((done.stdout + done.stderr).split())
        assert "dev has a separate state in stacks/.pulumi, because pulumi ran in stacks/" in said
        refused = env.modelyard("apply", "dev", "--yes", check=False)
        assert refused.returncode == 3
        assert "remove stacks/.pulumi if nothing was applied from there" in " ".join(refused.stderr.split())
        after = {name: env.deployment(name)["metadata"]["resourceVersion"] for name in before}
        assert after == before


@pytest.mark.parametrize("mode", ["existing", "managed"])
def test_an_apply_to_another_cluster_stops_before_any_change(mode: str, tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env, Lab.start(tmp_path / "other", context="dev") as other:
        other.install_platform("dev")
        if mode == "managed":
            manage(env)
            clear(other)
        env.modelyard("apply", "dev", "--yes")
        here, there = deployments(env.lab), deployments(other)
        elsewhere = {"KUBECONFIG": str(other.kubeconfig)}

        refused = env.modelyard("apply", "dev", "--yes", check=False, env=elsewhere)
        assert refused.returncode == 4, refused.stdout + refused.stderr
        said = " ".join(refused.stderr.split())
        error = other_cluster("dev", remote="", context="dev", applied_to=identity(env.lab), points_to=identity(other))
        assert error.summary in said
        assert error.remedy in said
        for arguments in (("up", "--yes", "--skip-preview"), ("preview",), ("refresh", "--yes", "--skip-preview")):
            done = env.pulumi(*arguments, "--stack", "dev", check=False, env=elsewhere)
            assert done.returncode != 0
            assert error.summary in " ".join((done.stdout + done.stderr).split())
        assert (deployments(env.lab), deployments(other)) == (here, there)

        env.modelyard("record", "dev")
        planned = env.modelyard("plan", "dev", "--live", check=False, env=elsewhere)
        assert (planned.returncode, "OWN005" in planned.stdout) == (1, True)

        # In the stack's own cluster, the next apply has no changes. The engine may have removed objects from its state
        # that it did not find in the other cluster.
        assert "no changes against the live cluster" in env.modelyard("apply", "dev", "--yes").stdout
        assert deployments(env.lab) == here
        env.modelyard("drift", "dev")
        env.modelyard("destroy", "dev", "--yes")
        left = set(here) if mode == "existing" else {"deployment-api-server"}
        assert set(deployments(env.lab)) & set(here) == left


def test_objects_missing_from_the_state_are_recovered(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env, Lab.start(tmp_path / "other", context="dev") as other:
        other.install_platform("dev")
        manage(env)
        clear(other)
        env.modelyard("apply", "dev", "--yes")
        here = deployments(env.lab)
        (head,) = [urn for urn in urns(env) if urn.endswith("apps/v1:Deployment::deployment-ray-head")]
        refresh = ("refresh", "--yes", "--skip-preview", "--stack", "dev", "--target", head)
        env.pulumi(*refresh, env={"KUBECONFIG": str(other.kubeconfig)})
        assert head not in urns(env)

        refused = env.modelyard("destroy", "dev", "--yes", check=False)
        assert refused.returncode == 4
        assert "Pulumi's state lacks deployment-ray-head, which dev created" in " ".join(refused.stderr.split())
        assert deployments(env.lab) == here
        dropped = env.stack_file.read_text()
        document = yaml.safe_load(dropped)
        document["config"].setdefault("modelyard:patches", []).append({"name": "ray-head", "enabled": False})
        env.stack_file.write_text(yaml.safe_dump(document, sort_keys=False))
        (lost,) = [target for target in env.plan().targets if target.name == "deployment-ray-head"]
        assert lost.action == "delete"
        env.stack_file.write_text(dropped)

        assert "no changes against the live cluster" in env.modelyard("apply", "dev", "--yes").stdout
        assert deployments(env.lab) == here
        env.modelyard("destroy", "dev", "--yes")
        assert set(deployments(env.lab)) & set(here) == {"deployment-api-server"}


def urns(env: Environment) -> list[str]:
    state = json.loads(env.pulumi("stack", "export", "--stack", "dev").stdout)
    return [resource["urn"] for resource in state["deployment"]["resources"]]


def deployments(lab: Lab) -> dict[str, str]:
    items = lab.request("GET", "/apis/apps/v1/deployments").body["items"]
    return {item["metadata"]["name"]: json.dumps(item["spec"], sort_keys=True) for item in items}
