"""Turns a machine type and a region prefix into offers, best first."""

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from modelyard.hardware.instances import Instance, begins, machine_of, offered, provider_of, region_names
from modelyard.stack.config import Config
from modelyard.stack.jobs import Resource
from modelyard.stack.words import near

HOUR = 3600
Own = Mapping[tuple[str, str], tuple[Fraction, str, str]]
"""The project's prices by machine type and region (empty: every region): USD per hour, date, source."""


class Offer(NamedTuple):
    """One machine type in one region of a provider."""

    provider: str
    cloud: str
    type: str
    region: str
    card: str
    """Id in the GPU table."""
    gpus: int | None
    gpu_memory_gb: float | None
    """Memory of one GPU."""
    vcpu: int | None
    memory_gib: float | None
    usd_per_hour: Fraction | None
    """None: unknown; never zero."""
    usd_for_limit: Fraction | None
    """Price for the whole time limit; None if the price or the limit is unknown."""
    price_date: str
    price_source: str
    known: bool
    """Whether the machine is known to be offered in this region; otherwise this was not checked."""
    unverified: str


def offers(config: Config, resource: Resource, own: Own | None = None) -> tuple[Offer, ...]:
    """Returns the offers for a resource, the chosen one first.

    Regions where the account names a network come first. Then regions with a known offer come before unchecked ones, a
    known price before an unknown one, the lower price, and the region's name. Empty if the provider or the machine is
    unknown, or no region has the prefix. The project's own prices override list prices.
    """
    provider, machine = provider_of(config, resource), machine_of(config, resource)
    remote = resource.remote
    if provider is None or machine is None or remote is None:
        return ()
    prices = own or {}
    found = []
    for place in offered(machine):
        if not begins(place.region, remote.region_prefix or ""):
            continue
        usd, date, source = place.usd, place.date, place.source if place.usd is not None else ""
        for key in ((machine.type, ""), (machine.type, place.region)):
            usd, date, source = prices.get(key, (usd, date, source))
        limit = None if usd is None or remote.time_limit is None else usd * remote.time_limit / HOUR
        found.append(
            Offer(
                provider=provider.name,
                cloud=provider.kind,
                type=machine.type,
                region=place.region,
                card=machine.gpu_id,
                gpus=machine.gpus,
                gpu_memory_gb=machine.gpu_memory_gb,
                vcpu=machine.vcpu,
                memory_gib=machine.memory_gib,
                usd_per_hour=usd,
                usd_for_limit=limit,
                price_date=date,
                price_source=source,
                known=place.known,
                unverified=place.unverified,
            )
        )
    places = () if provider.aws is None else tuple(one.region for one in provider.aws.networks)
    return tuple(sorted(found, key=lambda offer: (bool(places) and offer.region not in places, *_rank(offer))))


def near_regions(cloud: str, prefix: str, machine: Instance | None = None) -> tuple[str, ...]:
    """Returns regions that you may have meant by a prefix: those that begin most like it.

    Of the cloud's regions, or with ``machine`` of those that may offer it.
    """
    names = region_names(cloud) if machine is None else tuple(one.region for one in offered(machine))
    shared = {name: _shared(name, prefix) for name in names}
    most = max(shared.values(), default=0)
    if most == 0:
        return tuple(near(prefix, names, 3, 0.4)) or names[:3]
    return tuple(name for name in names if shared[name] == most)[:3]


def _shared(name: str, prefix: str) -> int:
    """Returns the length of the common prefix."""
    same = [a == b for a, b in zip(name, prefix, strict=False)]
    return same.index(False) if False in same else len(same)


def _rank(offer: Offer) -> tuple[bool, bool, Fraction, str]:
    usd = offer.usd_per_hour
    return not offer.known, usd is None, usd or Fraction(0), offer.region
