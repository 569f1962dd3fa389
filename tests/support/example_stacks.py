"""The project's own stacks with their recorded platforms."""

from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from shutil import copytree
from typing import Any, NamedTuple

from modelyard.catalog import Library, load_library
from modelyard.cluster import Ask, load_recorded
from modelyard.hiding import Confidential
from modelyard.kube.merge import MergeSchema
from modelyard.kube.state import ClusterState, Pod, amounts
from modelyard.plan import Plan
from modelyard.plan.build import make_plan
from modelyard.stack import Stack, load
from tests.conformance.steps import update

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)


def environments() -> Mapping[str, tuple[Stack, ClusterState, Library]]:
    """What each of the three asks for, what is there, and the patches that they share."""
    library = load_library(ROOT)
    found = {}
    for name in ("dev", "prod", "staging"):
        stack, findings = load(ROOT / "stacks" / f"Pulumi.{name}.yaml", f"stacks/Pulumi.{name}.yaml")
        state, problems = load_recorded(ROOT, name)
        assert stack is not None, findings
        assert state is not None, problems
        found[name] = (stack, state, library)
    return found


class Site(NamedTuple):
    """One environment: what it asks for, and what is there."""

    stack: Stack
    state: ClusterState
    library: Library

    def plan(self, ask: Ask | None = None, *, waits: bool = True) -> Plan:
        return make_plan(self.stack, self.library, self.state, today=TODAY, ask=ask, waits=waits)

    def asking(self, **changes: Any) -> "Site":
        """With other sections of the stack file."""
        return self._replace(stack=self.stack._replace(config=self.stack.config._replace(**changes)))

    def having(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> "Site":
        """With every object of the platform changed."""
        objects = {key: change(dict(body)) for key, body in self.state.objects.reveal().items()}
        return self._replace(state=self.state._replace(objects=Confidential(objects)))

    def patched(
        self, folder: Path, spec: str, meta: str = "description: mine\n", target: str = "deployment-ray-head"
    ) -> "Site":
        """With one more patch of one Deployment, in a copy of the project's patches."""
        copytree(ROOT / "patches", folder / "patches")
        mine = folder / "patches" / "zz-mine" / "v1"
        mine.mkdir(parents=True)
        (mine / "meta.yaml").write_text(meta)
        (mine / "schema.json").write_text("{}")
        head = f"# target: {target}\napiVersion: apps/v1\nkind: Deployment\n"
        (mine / "patch.yaml.j2").write_text(f"{head}spec: {spec}\n")
        return self._replace(library=load_library(folder))

    def on_nodes(self, *names: str) -> "Site":
        """With only these nodes and what runs on them."""
        nodes = tuple(node for node in self.state.nodes if node.name in names)
        pods = tuple(pod for pod in self.state.pods if pod.node in names)
        return self._replace(state=self.state._replace(nodes=nodes, pods=pods))

    def applied(self) -> "Site":
        """After the plan: its objects, and for every GPU target as many pods as it asks for, on the first nodes."""
        plan = self.plan()
        objects = {**self.state.objects.reveal(), **{target.key: target.after.reveal() for target in plan.targets}}
        deployments = [target for target in plan.targets if target.key.kind == "Deployment"]
        sides = {target.name: target for target in deployments if target.role in ("rayWorker", "celery")}
        pods = [pod for pod in self.state.pods if pod.owner not in sides]
        free = [node for node in self.state.nodes if "nvidia.com/gpu.product" in node.labels]
        specs = {name: target.after.reveal()["spec"] for name, target in sides.items()}
        running = [name for name, spec in specs.items() for _ in range(spec.get("replicas", 1))]
        pods += [
            Pod(free[number % len(free)].name, name, amounts({"nvidia.com/gpu": "1"}))
            for number, name in enumerate(running)
        ]
        return self._replace(state=self.state._replace(objects=Confidential(objects), pods=tuple(pods)))


def overwritten(body: dict[str, Any]) -> dict[str, Any]:
    """With a ledger that somebody wrote over, and owns now."""
    kind = MergeSchema.kubernetes("1.35").of("apps/v1", "Deployment")
    notes = {**body["metadata"].get("annotations", {}), "modelyard.dev/ledger": "{"}
    return update(body, {**body, "metadata": {**body["metadata"], "annotations": notes}}, "somebody", kind)
