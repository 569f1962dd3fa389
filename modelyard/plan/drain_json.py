"""A wait of a plan as plain JSON values and back."""

from collections.abc import Mapping
from typing import Any

from modelyard.probes import Broker, Dashboard, Drain, HeadService, Numbers, Source, Unnamed

_KINDS: dict[str, type[Source]] = {
    "dashboard": Dashboard,
    "headService": HeadService,
    "broker": Broker,
    "query": Numbers,
    "nobody": Unnamed,
}


def drain_to_json(drain: Drain) -> dict[str, Any]:
    """The wait; ``ask`` says whom, ``of`` with what."""
    kind = next(name for name, made in _KINDS.items() if isinstance(drain.source, made))
    return {
        "side": drain.side,
        "targets": list(drain.targets),
        "limit": drain.limit,
        "quiet": drain.quiet,
        "ask": kind,
        "of": dict(drain.source._asdict()),
    }


def drain_from_json(value: Mapping[str, Any]) -> Drain:
    """The wait that a document holds."""
    source = _KINDS[value["ask"]](**value["of"])
    return Drain(value["side"], tuple(value["targets"]), value["limit"], value["quiet"], source)
