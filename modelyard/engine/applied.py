"""What the engine's state says was applied last. No program runs, and nothing is changed."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from modelyard.cluster.engine_state import RECORD, held_in, side_of
from modelyard.engine.failure import EngineError
from modelyard.engine.run import Run
from modelyard.files import parse_json
from modelyard.kube.state import ObjectKey, key_of
from modelyard.plan.drift import FORMAT_VERSION, Applied

CLUSTER = "modelyard:Cluster"
"""Type of ``engine.home.Cluster`` within the provider for Python resources."""


class AppliedStack(NamedTuple):
    """What a stack's last applies left."""

    cluster: str | None
    """Identity of the cluster; None where no apply ever came to its end."""
    targets: tuple[Applied, ...]
    forgotten: tuple[ObjectKey, ...] = ()
    """Whole objects that a refresh did not find and took out of the state: no destroy would delete them."""
    remotes: Mapping[str, "AppliedStack"] = {}
    """The same by name of each remote cluster to which something was applied."""


def applied_stack(root: Path, stack: str) -> AppliedStack:
    """What was applied of a stack.

    Raises:
        NothingAppliedError: the state does not know the stack.
        EngineError: there is no engine, no way to the state, or nobody can read it.
    """
    with Run("apply", lambda _line: None) as run:
        run.select(root, stack, create=False)
    try:
        names = {side_of(one) for one in run.state.get("resources") or ()}
        far = {name: from_state(run.state, name) for name in sorted(names - {""})}
        return from_state(run.state)._replace(remotes=far)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise EngineError(
            f"the state of {stack} is not what an apply writes: it lacks {error}", "apply it again with this modelyard"
        ) from error


def from_state(deployment: Mapping[str, Any], remote: str = "") -> AppliedStack:
    """The same from an exported state, of one of its clusters.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is not one that our program leaves.
    """
    every = deployment.get("resources") or []
    resources = [each for each in every if side_of(each) == remote]
    pending = [each["resource"] for each in deployment.get("pending_operations") or ()]
    pending = [each for each in pending if side_of(each) == remote]
    requests = {key_of(body, ""): body for body in _requests(resources)}
    begun = set(_objects(pending))
    # A refresh drops an object that somebody deleted; what is noted of it stays.
    known = begun | requests.keys() | set(_objects(resources))
    return AppliedStack(
        cluster_of(resources),
        tuple(Applied(key, requests.get(key), key not in begun) for key in sorted(known)),
        tuple(sorted(key for key, held in held_in(resources, remote).items() if held.forgotten and key not in begun)),
    )


def cluster_of(resources: Iterable[Mapping[str, Any]], remote: str = "") -> str | None:
    """The cluster that a state's resources of one side are in; None where nothing was applied.

    The resource of that name counts. The stack's outputs are only asked where there is none, as earlier versions left
    it: the engine keeps the outputs of a run that failed too.
    """
    outputs = {
        each["type"].rpartition("/")[2]: each.get("outputs") or {} for each in resources if side_of(each) == remote
    }
    known = outputs.get(CLUSTER) or outputs.get("pulumi:pulumi:Stack") or {}
    return known.get("cluster")


def _requests(resources: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """What is noted of each object; nothing where no apply of it came to its end."""
    for resource in resources:
        outputs = resource.get("outputs") or {}
        if resource["type"] == RECORD and "request" in outputs:
            if outputs["formatVersion"] != FORMAT_VERSION:
                raise ValueError(f"formatVersion {FORMAT_VERSION}, it has {outputs['formatVersion']}")
            yield parse_json(outputs["request"])


def _objects(resources: Iterable[Mapping[str, Any]]) -> Iterator[ObjectKey]:
    """The Kubernetes objects among resources; not those that are only left to be deleted."""
    for resource in resources:
        if resource["type"].startswith("kubernetes:") and not resource.get("delete"):
            yield key_of(resource["inputs"], "default")
