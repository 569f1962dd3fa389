"""Checks that ``modelyard apply`` and ``pulumi up`` stop before any write."""

from tests.lab.support.environment import Environment, words


def resource_versions(env: Environment) -> dict[str, str]:
    items = env.found("apis/apps/v1/…/deployments")
    return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}


def refused(env: Environment, code: int, *said: str, variables: dict[str, str] | None = None) -> None:
    """Checks that apply and ``pulumi up`` fail without a traceback or a write, and that apply prints ``said``."""
    before = resource_versions(env)
    done = env.modelyard("apply", "dev", "--yes", check=False, env=variables)
    assert done.returncode == code, words(done)
    bare = env.pulumi("up", "--yes", "--skip-preview", "--stack", "dev", check=False, env=variables)
    assert bare.returncode != 0
    for text in said:
        assert text in words(done)
    assert "Traceback" not in words(done) + words(bare)
    assert len(done.stderr.splitlines()) <= 20, done.stderr
    assert resource_versions(env) == before
