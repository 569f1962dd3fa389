"""What components register for a plan, without an engine: each resource as the engine would be asked for it."""

from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pulumi
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.rpc import deserialize_properties

from modelyard.catalog import load_library
from modelyard.cluster import load_recorded
from modelyard.hiding import Confidential
from modelyard.kube.state import ClusterState
from modelyard.plan import Plan
from modelyard.plan.build import make_plan
from modelyard.stack import Stack, load

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)
IMAGES = ("model_service", "ray_head", "ray_worker", "celery")
ROUTE = "deployment-api-server"
SERVICE = "deployment-model-service"
HEAD = "deployment-ray-head"
RAY = "deployment-ray-model-training-worker"
CELERY = "deployment-model-training-tasks-gpu"


class Registered(NamedTuple):
    """One request of the program to the engine."""

    type: str
    name: str
    inputs: Mapping[str, Any]
    parent: str
    """Type and name of the component that it belongs to."""
    depends_on: tuple[str, ...]
    """Names of the resources that must be done first."""
    ignores: tuple[str, ...]
    patience: str
    """How long its rollout may take."""
    before: tuple[str, ...] = ()
    """Names of the hooks that run right before it is created or updated."""
    behind: tuple[str, ...] = ()
    """The same for right after."""
    retained: bool = False
    """Whether a delete only drops it from the state."""


class Engine(MockMonitor):
    """Answers every request and keeps it."""

    def __init__(self) -> None:
        super().__init__(Accepting())
        self.registered: list[Registered] = []
        self.outputs: dict[str, Mapping[str, Any]] = {}
        self.hooks: dict[str, pulumi.ResourceHook] = {}

    def register_resource_hook(self, hook: pulumi.ResourceHook) -> None:
        """What the engine's callbacks do, which the library's mocks lack."""
        assert hook.name not in self.hooks
        assert hook.opts is None or not hook.opts.on_dry_run
        self.hooks[hook.name] = hook

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802
        inputs = deserialize_properties(request.object)
        times = request.customTimeouts
        assert times.create == times.update
        assert list(request.hooks.before_create) == list(request.hooks.before_update)
        assert list(request.hooks.after_create) == list(request.hooks.after_update)
        self.registered.append(
            Registered(
                request.type,
                request.name,
                inputs,
                "::".join(request.parent.split("::")[-2:]).rpartition("$")[2],
                tuple(urn.rpartition("::")[2] for urn in request.dependencies),
                tuple(request.ignoreChanges),
                times.create,
                tuple(request.hooks.before_update),
                tuple(request.hooks.after_update),
                request.retainOnDelete,
            )
        )
        return super().RegisterResource(request)

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802
        self.outputs[request.urn.rpartition("::")[2]] = deserialize_properties(request.outputs)
        return super().RegisterResourceOutputs(request)


class Accepting(pulumi.runtime.Mocks):
    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        return f"{args.name}-id", dict(args.inputs)

    def call(self, args: pulumi.runtime.MockCallArgs) -> dict[str, Any]:
        raise AssertionError(f"no component may ask the engine for {args.token}")


Build = Callable[[Plan], Engine]


def existing(name: str, **changes: Any) -> Plan:
    """The plan of a stack against its recorded platform, with other sections of its config."""
    stack, state = site(name)
    return plan_of(stack._replace(config=stack.config._replace(**changes)), state)


def again(name: str, **changes: Any) -> Plan:
    """The plan of a stack on the platform as its first plan leaves it, with other sections of its config."""
    stack, state = site(name)
    objects = {
        **state.objects.reveal(),
        **{target.key: ready(target.after.reveal()) for target in existing(name).targets},
    }
    changed = stack._replace(config=stack.config._replace(**changes))
    return plan_of(changed, state._replace(objects=Confidential(objects)))


def ready(body: dict[str, Any]) -> dict[str, Any]:
    """A Deployment whose pods are all there."""
    pods = body["spec"]["replicas"]
    counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), pods)
    return {**body, "status": {**counts, "observedGeneration": body["metadata"].get("generation", 0)}}


def managed(name: str) -> Plan:
    """The plan of a stack in mode managed, where only the platform's api-server is there."""
    stack, state = site(name)
    config = stack.config
    config = config._replace(platform=config.platform._replace(mode="managed"))
    for section in IMAGES:
        config = config._replace(**{section: getattr(config, section)._replace(image="images.example.com/it:1")})
    there = {
        key: body for key, body in state.objects.reveal().items() if key.name == config.targets.api_server.deployment
    }
    return plan_of(stack._replace(config=config), state._replace(objects=Confidential(there), pods=()))


def site(name: str) -> tuple[Stack, ClusterState]:
    stack, findings = load(ROOT / "stacks" / f"Pulumi.{name}.yaml", f"stacks/Pulumi.{name}.yaml")
    state, problems = load_recorded(ROOT, name)
    assert stack is not None, findings
    assert state is not None, problems
    return stack, state


def plan_of(stack: Stack, state: ClusterState) -> Plan:
    return make_plan(stack, load_library(ROOT), state, today=TODAY)


def objects(engine: Engine) -> list[Registered]:
    return [one for one in engine.registered if one.type.startswith("kubernetes:")]


def by_name(engine: Engine) -> dict[str, Registered]:
    return {one.name: one for one in objects(engine)}


def waits_for(one: Registered) -> tuple[str, ...]:
    """The targets that a target waits for, by their last resource; its own ledger and its cluster are none."""
    names = (name.rpartition("/")[2] for name in one.depends_on)
    return tuple(name for name in names if name not in (one.name, "cluster"))
