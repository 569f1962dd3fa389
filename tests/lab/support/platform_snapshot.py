"""A snapshot of the platform before an apply, and a patch for tests."""

from modelyard.plan.project import library_of
from tests.lab.support.environment import Environment, Object, comparable

HEAD = "deployment-ray-head"


def times(body: Object) -> list[tuple[str, str]]:
    """The last write of each owner, without controllers that write the status."""
    found = [each for each in body["metadata"]["managedFields"] if each.get("subresource") != "status"]
    return sorted((each["manager"], each.get("time") or "") for each in found)


def check_restored(env: Environment, before: dict[str, Object]) -> None:
    for name, body in before.items():
        live = env.deployment(name)
        assert comparable(live) == comparable(body), name
        assert times(live) == times(body), name


def snapshot(env: Environment) -> dict[str, Object]:
    return {target.name: env.deployment(target.name) for target in env.plan().targets}


def write_patch(env: Environment, version: str, spec: str) -> None:
    """Writes a patch for the Ray head into the project."""
    folder = env.folder / "patches" / "zz-mine" / version
    folder.mkdir(parents=True)
    (folder / "meta.yaml").write_text("description: mine\n")
    (folder / "schema.json").write_text("{}")
    head = f"# target: {HEAD}\napiVersion: apps/v1\nkind: Deployment\n"
    (folder / "patch.yaml.j2").write_text(f"{head}spec: {spec}\n")
    library_of.cache_clear()
