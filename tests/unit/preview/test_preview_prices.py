"""Price files are inputs of a preview, wherever in the project they lie."""

from fractions import Fraction
from typing import Any

import pytest

from modelyard.preview import Preview, StackDiff

pytestmark = pytest.mark.slow

PRICES = """\
machines:
  - {{type: bare-metal, usdPerHour: {usd}, date: 2026-10-01, source: contract}}
"""
"""Of the machines that prod's pods may run on."""


@pytest.fixture(params=["finance/prices.yaml", "stacks/prices.yaml", "./finance/[a]*/prices.yaml"])
def priced(repository: Any, request: Any) -> Any:
    """The stack prod with prices of its own on main."""
    repository.price_file = request.param.removeprefix("./")

    def price(usd: str) -> None:
        path = repository.root / repository.price_file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PRICES.format(usd=usd))

    repository.price = price
    repository.edit("stacks/Pulumi.prod.yaml", "config:\n", f"config:\n  modelyard:prices: {request.param}\n")
    repository.price("10")
    repository.git("checkout", "--quiet", "main")
    repository.commit()
    repository.git("checkout", "--quiet", "-B", "feature")
    return repository


def only(found: Preview) -> StackDiff:
    (stack,) = found.stacks
    return stack


def test_a_head_is_priced_as_the_same_working_tree_is(priced: Any) -> None:
    priced.edit("stacks/Pulumi.prod.yaml", "replicas: 3", "replicas: 4")
    in_tree = only(priced.preview())
    assert in_tree.cost is not None
    assert in_tree.cost.delta.usd is not None
    priced.commit()
    assert only(priced.preview("feature")) == in_tree


def test_a_deleted_price_file_is_a_finding_of_the_stack(priced: Any) -> None:
    (priced.root / priced.price_file).unlink()
    for head in (None, "feature"):
        stack = only(priced.preview(head))
        assert [one.code for one in stack.new] == ["CFG103"]
        assert stack.blocked
        assert stack.cost is None
        if head is None:
            priced.commit()


def test_a_change_of_prices_alone_is_a_change_of_cost(priced: Any) -> None:
    priced.price("12.5")
    priced.commit()
    stack = only(priced.preview("feature"))
    assert (stack.stack, stack.targets, stack.new, stack.fixed) == ("prod", (), (), ())
    assert stack.cost is not None
    before, after, delta = stack.cost.before.usd, stack.cost.after.usd, stack.cost.delta.usd
    assert before is not None and after is not None and delta is not None
    assert before.low < after.low
    assert delta.low == delta.high == after.high - before.high > Fraction(0)


def test_a_new_date_of_a_price_changes_nothing(priced: Any) -> None:
    priced.edit(priced.price_file, "2026-10-01", "2026-11-01")
    assert priced.preview().stacks == ()


def test_a_price_file_that_no_stack_names_changes_nothing(priced: Any) -> None:
    (priced.root / "finance").mkdir(exist_ok=True)
    (priced.root / "finance" / "other.yaml").write_text("machines: no\n")
    assert priced.preview().stacks == ()


def test_earlier_mistakes_in_prices_are_not_news(priced: Any) -> None:
    priced.git("checkout", "--quiet", "main")
    priced.edit(priced.price_file, "usdPerHour: 10", "usdPerHour: much")
    priced.commit()
    priced.git("checkout", "--quiet", "-B", "feature")
    priced.edit("stacks/Pulumi.prod.yaml", "replicas: 3", "replicas: 4")
    stack = only(priced.preview())
    assert stack.new == ()
    assert [one.code for one in stack.still if one.blocks] == ["CFG010"]
    priced.price("10")
    assert [one.code for one in only(priced.preview()).fixed if one.blocks] == ["CFG010"]
