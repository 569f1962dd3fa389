"""What patches may ask of the GPU pool: flavors, teams with their quotas, priorities."""

from collections.abc import Mapping
from typing import Any, Final

from modelyard.hardware import products, resolve
from modelyard.stack.config import Config
from modelyard.stack.pool import Flavor, Quota, Reclaim, Team, Within

PRODUCT: Final = "nvidia.com/gpu.product"
"""The label by which nodes say which card they have."""
_RECLAIM: Final[Mapping[Reclaim | Within, str]] = {"any": "Any", "lower": "LowerPriority", "never": "Never"}


def pool_facts(config: Config) -> dict[str, Any]:
    """The facts, as plain JSON-like values; names of settings are Kueue's own."""
    return {
        "pool": {"shared": bool(config.teams)},
        "flavors": [
            {
                "name": flavor.name,
                "labels": node_labels(flavor),
                "tolerations": [
                    {key: value for key, value in one._asdict().items() if value is not None}
                    for one in flavor.tolerations
                ],
            }
            for flavor in config.flavors
        ],
        "teams": [_team(team) for team in config.teams],
        "priorities": [one._asdict() for one in config.priorities],
    }


def node_labels(flavor: Flavor) -> dict[str, str]:
    """The labels of a flavor's nodes. A card that nodes call by several names has to be named in ``labels``."""
    card = resolve(flavor.gpu) if flavor.gpu is not None else None
    names = products(card) if card is not None else ()
    told = {PRODUCT: names[0]} if len(names) == 1 else {}
    return {**told, **flavor.labels}


def namespace_of(team: Team) -> str:
    """Where a team's jobs run."""
    return team.namespace or team.name


def _team(team: Team) -> dict[str, Any]:
    return {
        "name": team.name,
        "namespace": namespace_of(team),
        "cohort": team.cohort,
        "reclaim": _RECLAIM[team.reclaim],
        "within": _RECLAIM[team.within],
        "quotas": [_quota(one) for one in team.quotas],
    }


def _quota(quota: Quota) -> dict[str, Any]:
    return dict(quota._asdict())
