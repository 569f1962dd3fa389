"""Running the bare engine in another folder of the project than its own."""

import subprocess
from pathlib import Path

from tests.lab.environment import Done, Environment, environment


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


def test_a_second_state_is_found_before_anything_is_changed(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        assert pulumi_in(env, "stacks", "stack", "init", "dev").returncode == 0
        before = {
            target.name: env.deployment(target.name)["metadata"]["resourceVersion"] for target in env.plan().targets
        }
        done = pulumi_in(env, "stacks", "up", "--yes", "--skip-preview", "--stack", "dev")
        assert done.returncode != 0
        said = " ".join((done.stdout + done.stderr).split())
        assert "dev has a state of its own in stacks/.pulumi, because pulumi ran in stacks/" in said
        refused = env.modelyard("apply", "dev", "--yes", check=False)
        assert refused.returncode == 3
        assert "remove stacks/.pulumi if nothing was applied from there" in " ".join(refused.stderr.split())
        after = {name: env.deployment(name)["metadata"]["resourceVersion"] for name in before}
        assert after == before
