"""What a GPU costs by the hour, from the table of machine types."""

from fractions import Fraction

from modelyard.hardware.instances import Instance
from modelyard.plan.cost import words
from modelyard.plan.cost.prices import gpu_prices
from modelyard.plan.cost.values import Money


def machine(kind: str, usd: float | None, gpus: int | None = 1, whole: str = "yes", unverified: str = "") -> Instance:
    return Instance("c", kind, "a10", gpus, whole, 24, 8, 32, usd, "here", "2026-10-01", "", unverified, "s")


def test_the_a30_is_on_no_list_and_the_a10g_is_on_amazons() -> None:
    """g5.xlarge: 1 GPU for 1.006; g5.16xlarge: 1 GPU for 4.096; four GPUs of g5.12xlarge cost 1.418 each."""
    found = gpu_prices()
    assert "a30" not in found
    assert words.price_range(found.get("a30")) == "unknown"
    assert found["a10g"].usd == Money(Fraction("1.006"), Fraction("4.096"))
    assert words.price_range(found["a10g"]) == "USD 1.01–4.10 a GPU-hour, list prices 2026-07-20"


def test_the_price_of_a_machine_is_divided_by_its_gpus() -> None:
    (found,) = gpu_prices([machine("four", 6.0, 4), machine("one", 2.0)]).values()
    assert found.usd == Money(Fraction("1.5"), Fraction(2))
    assert [price.usd for price in found.prices] == [6, 2]


def test_machines_without_a_price_or_whole_gpus_do_not_count() -> None:
    assert (
        gpu_prices(
            [
                machine("unpriced", None),
                machine("uncounted", 1.0, None),
                machine("none", 1.0, 0),
                machine("slices", 1.0, whole="no"),
                machine("doubtful", 1.0, whole="unknown"),
                machine("GPU alone", 1.0)._replace(vcpu=None),
            ]
        )
        == {}
    )


def test_a_bound_from_an_unverified_number_of_gpus_is_marked() -> None:
    sure, unsure = machine("sure", 1.0), machine("unsure", 4.0, 2, unverified="gpu_count vcpu")
    (found,) = gpu_prices([sure, unsure]).values()
    assert found.unverified
    assert words.price_range(found) == "USD 1.00–2.00 a GPU-hour (unverified), list prices 2026-10-01"
    (between,) = gpu_prices([sure, unsure, machine("dear", 9.0)]).values()
    assert not between.unverified
