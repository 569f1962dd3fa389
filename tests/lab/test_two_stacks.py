"""Two stacks with the same objects: the second is rejected until the first is destroyed or a waiver allows it."""

from datetime import date, timedelta
from pathlib import Path

from tests.lab.support.environment import Environment, environment
from tests.lab.support.platform_snapshot import check_restored, snapshot

WAIVER = (
    "config:\n  modelyard:waivers: [{code: OWN015, reason: the stack was renamed, by: somebody, expires: "
    + (date.today() + timedelta(days=3)).isoformat()
    + "}]\n"
)


def versions(env: Environment) -> dict[str, str]:
    return {name: body["metadata"]["resourceVersion"] for name, body in snapshot(env).items()}


def stack_owners(env: Environment) -> set[str]:
    return {body["metadata"]["annotations"]["modelyard.dev/stack"] for body in snapshot(env).values()}


def test_a_second_stack_takes_objects_only_after_destroy_or_waiver(tmp_path: Path) -> None:
    with environment("dev", tmp_path) as env:
        before = snapshot(env)
        (env.folder / "stacks" / "Pulumi.twin.yaml").write_text(env.stack_file.read_text())
        env.modelyard("apply", "dev", "--yes")
        env.settle()
        assert stack_owners(env) == {"modelyard/dev"}

        then = versions(env)
        planned = env.modelyard("plan", "twin", "--live", check=False)
        assert (planned.returncode, planned.stdout.count("OWN015") > 0) == (1, True)
        assert env.modelyard("apply", "twin", "--yes", check=False).returncode == 1
        env.pulumi("stack", "init", "twin")
        refused = env.pulumi("up", "--yes", "--skip-preview", "--stack", "twin", check=False)
        assert refused.returncode != 0
        assert "is already patched by stack modelyard/dev" in " ".join((refused.stdout + refused.stderr).split())
        assert versions(env) == then

        env.modelyard("destroy", "dev", "--yes")
        env.settle()
        check_restored(env, before)
        env.modelyard("apply", "twin", "--yes")
        env.settle()
        assert stack_owners(env) == {"modelyard/twin"}

        env.edit("config:\n", WAIVER)
        env.modelyard("apply", "dev", "--yes")
        env.settle()
        env.edit(WAIVER, "config:\n")
        assert stack_owners(env) == {"modelyard/dev"}
        env.pulumi("stack", "rm", "twin", "--yes", "--force", "--preserve-config")
        assert "no changes" in env.modelyard("apply", "dev", "--yes").stdout
        env.modelyard("destroy", "dev", "--yes")
        env.settle()
        check_restored(env, before)
