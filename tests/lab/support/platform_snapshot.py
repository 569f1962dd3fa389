"""The platform as it was before an apply, and what a patch of a test adds to it."""

from modelyard.plan.project import library_of
from tests.lab.support.environment import Environment, Object, comparable

HEAD = "deployment-ray-head"


def times(body: Object) -> list[tuple[str, str]]:
    """When each owner wrote last, but for controllers that keep a status."""
    found = [each for each in body["metadata"]["managedFields"] if each.get("subresource") != "status"]
    return sorted((each["manager"], each.get("time") or "") for each in found)


def as_it_was(env: Environment, before: dict[str, Object]) -> None:
    for name, body in before.items():
        live = env.deployment(name)
        assert comparable(live) == comparable(body), name
        assert times(live) == times(body), name


def snapshot(env: Environment) -> dict[str, Object]:
    return {target.name: env.deployment(target.name) for target in env.plan().targets}


def write_patch(env: Environment, version: str, spec: str) -> None:
    """A patch of the project's own for the Ray head."""
    folder = env.folder / "patches" / "zz-mine" / version
    folder.mkdir(parents=True)
    (folder / "meta.yaml").write_text("description: mine\n")
    (folder / "schema.json").write_text("{}")
    head = f"# target: {HEAD}\napiVersion: apps/v1\nkind: Deployment\n"
    (folder / "patch.yaml.j2").write_text(f"{head}spec: {spec}\n")
    library_of.cache_clear()
