"""How much of the shared pool a team can ever have: its quotas, and what others of its cohort lend."""

from fractions import Fraction

from modelyard import quantity
from modelyard.stack.config import Config
from modelyard.stack.pool import Quota, Team


class Quotas:
    """The quotas of all teams, by cohort, flavor and resource."""

    def __init__(self, config: Config) -> None:
        self._lent: dict[tuple[str, str, str], Fraction] = {}
        for team in config.teams:
            if team.cohort is not None:
                for quota in team.quotas:
                    for resource, amount in _lendable(quota).items():
                        key = (team.cohort, quota.flavor, resource)
                        self._lent[key] = self._lent.get(key, Fraction(0)) + amount

    def most(self, team: Team, flavor: str, resource: str) -> Fraction:
        """What a team can have of a flavor's resource at the most: its own and what it may borrow."""
        quotas = [quota for quota in team.quotas if quota.flavor == flavor]
        own = sum((_amounts(quota).get(resource, Fraction(0)) for quota in quotas), Fraction(0))
        if team.cohort is None:
            return own
        mine = sum((_lendable(quota).get(resource, Fraction(0)) for quota in quotas), Fraction(0))
        others = self._lent.get((team.cohort, flavor, resource), Fraction(0)) - mine
        limits = [quota.borrow for quota in quotas if quota.resource == resource and quota.borrow is not None]
        return own + min([others, *map(Fraction, limits)])


def _amounts(quota: Quota) -> dict[str, Fraction]:
    found = {quota.resource: Fraction(quota.gpus)}
    if quota.cpu is not None and quota.memory is not None:
        found |= {"cpu": quantity.parse(quota.cpu), "memory": quantity.parse(quota.memory)}
    return found


def _lendable(quota: Quota) -> dict[str, Fraction]:
    kept = {} if quota.lend is None else {quota.resource: Fraction(min(quota.gpus, quota.lend))}
    return {**_amounts(quota), **kept}
