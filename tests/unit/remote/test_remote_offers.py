"""From machine type and region prefix to offers."""

from collections.abc import Callable
from fractions import Fraction
from typing import get_args

import pytest

from modelyard.hardware.instances import by_type, instances, offered, region_names, table
from modelyard.stack import Stack
from modelyard.stack.remote import ProviderKind
from modelyard.workloads.remote import offers

Make = Callable[..., Stack]


def test_the_chosen_offer_is_the_cheapest_known_one(stack: Make) -> None:
    config = stack().config
    found = offers(config, config.resources[0])
    assert [one.region for one in found] == ["us-east-2", "us-west-2", "us-east-1"]
    assert found[0].usd_per_hour == Fraction("21.95764")
    assert found[0].usd_for_limit == 6 * Fraction("21.95764")
    assert (found[0].gpus, found[0].vcpu, found[0].memory_gib, found[0].price_date) == (8, 96, 1152.0, "2026-08-26")


def test_a_price_applies_to_one_region(stack: Make) -> None:
    config = stack(("p4d.24xlarge", "g6.48xlarge")).config
    prices = {one.region: one.usd_per_hour for one in offers(config, config.resources[0])}
    assert prices["us-east-1"] == Fraction("13.3504")
    assert prices["us-west-2"] is None
    assert all(one.usd_for_limit is None for one in offers(config, config.resources[0]) if one.usd_per_hour is None)


def test_a_price_of_the_project_overrides_and_orders(stack: Make) -> None:
    config = stack().config
    own = {("p4d.24xlarge", "us-west-2"): (Fraction(1), "2026-11-01", "contract")}
    first = offers(config, config.resources[0], own)[0]
    assert (first.region, first.usd_per_hour, first.price_source) == ("us-west-2", 1, "contract")


def test_without_a_prefix_every_region_is_offered(stack: Make) -> None:
    config = stack(("        regionPrefix: us-west\n", "")).config
    assert {one.region for one in offers(config, config.resources[1])} == set(region_names("lambda"))


def test_unverified_regions_come_last() -> None:
    found = {one.region: one for one in offered(by_type()["Standard_NC24ads_A100_v4"])}
    assert found["eastus"].known
    assert not found["westeurope"].known
    assert found["westeurope"].usd is None


@pytest.mark.parametrize("row", table(), ids=lambda row: f"{row.cloud} {row.types}")
def test_rows_have_known_regions_and_machines(row: object) -> None:
    from fnmatch import fnmatchcase

    assert row.cloud in get_args(ProviderKind)  # type: ignore[attr-defined]
    names = next(one for one in table() if one.cloud == row.cloud and one.names)  # type: ignore[attr-defined]
    assert set(row.regions) <= set(names.regions)  # type: ignore[attr-defined]
    assert any(one.cloud == row.cloud and fnmatchcase(one.type, row.types) for one in instances())  # type: ignore[attr-defined]
    assert row.source or row.unverified  # type: ignore[attr-defined]


def test_two_price_tables_agree_in_their_common_region() -> None:
    for row in table():
        machine = by_type().get(row.types)
        if machine is not None and row.regions.get(machine.region) is not None:
            assert float(row.regions[machine.region] or 0) == pytest.approx(machine.usd_per_hour, rel=0.01), row.types


def test_the_region_of_a_machine_without_a_price_is_unverified() -> None:
    priced = by_type()["p4d.24xlarge"]._replace(type="no such machine")
    here = priced.region
    assert [(one.region, one.known) for one in offered(priced) if one.usd is not None] == [(here, True)]
    assert all(one.usd is None and not one.known for one in offered(priced._replace(usd_per_hour=None)))
