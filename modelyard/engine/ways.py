"""By which contexts the engine reaches what was applied: it first reads by those of the last apply.

A stack file may say another way since, and the kubeconfig may have lost the old one. So a run leads the engine the
stack file's way under the old name, once it is known that both lead to the same cluster.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from modelyard.cluster.context_aliases import also_named, known_contexts
from modelyard.cluster.held import side_of
from modelyard.engine.failure import FORGET_REMOTE, EngineError

_PROVIDER: Final = "pulumi:providers:kubernetes"
_CLUSTER: Final = "/modelyard:Cluster"


def contexts_of(resources: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The contexts in the engine's state, each with the name of its remote cluster, empty for the platform's.

    Args:
        resources: of the exported state. Where one has no context, the kubeconfig's current one counted.
    """
    for one in resources:
        if one["type"] == _PROVIDER:
            kind, _, name = one["urn"].rpartition("::")
            # The platform's is the engine's own default; that of a remote cluster is a child with the cluster's name.
            side, said = name if kind.endswith(f"${_PROVIDER}") else "", one.get("inputs")
        elif one["type"].endswith(_CLUSTER):
            side, said = side_of(one), one.get("outputs")
        else:
            continue
        if context := (said or {}).get("context"):
            yield side, str(context)


def led(resources: Iterable[Mapping[str, Any]], ways: Mapping[str, str | None], folder: Path) -> dict[str, str]:
    """Variables of the engine with which it reaches what was applied the way that the stack file says.

    Args:
        resources: of the exported state.
        ways: the context of each cluster of the stack file, known to lead to the one that the state is of; of the
            platform's under an empty name. None: the current one.
        folder: the run's alone, which goes with it.

    Raises:
        EngineError: nothing leads to a remote cluster that the stack has left.
    """
    found = tuple(contexts_of(resources))
    # A name that leads somewhere today keeps its meaning.
    taken = {*ways.values()} | {context for side, context in found if side not in ways}
    names = {
        context: ways[side]
        for side, context in found
        if side in ways and ways[side] != context and context not in taken
    }
    known = known_contexts()
    for side, context in found:
        if side and side not in ways and known is not None and context not in known:
            raise EngineError(
                f"nothing was changed: remote cluster {side} has left the stack file, what it has is still to be "
                f"deleted there, and the kubeconfig has no context {context}, by which it was applied",
                f"give the kubeconfig a context {context} that leads there, and run again; of a cluster that is gone "
                f"for good: {FORGET_REMOTE}",
            )
    kubeconfig = also_named(names, folder)
    return {"KUBECONFIG": kubeconfig} if kubeconfig else {}
