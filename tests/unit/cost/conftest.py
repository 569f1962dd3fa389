"""Plans of the project's own stacks, with what they cost."""

from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from modelyard.catalog import Library
from modelyard.hiding import Confidential
from modelyard.kube.state import ClusterState
from modelyard.plan import Plan
from modelyard.plan.build import make_plan
from modelyard.plan.cost.file import load_text
from modelyard.plan.cost.prices import LIST, Prices
from modelyard.plan.cost.project import cost_of
from modelyard.plan.cost.values import Price, StackCost, TargetCost
from modelyard.stack import Stack
from tests.support.example_stacks import environments

TODAY = date(2026, 11, 21)
WORKER = "deployment-ray-model-training-worker"
TASKS = "deployment-model-training-tasks-gpu"
SERVICE = "deployment-model-service"


class Site(NamedTuple):
    """One environment: what it asks for, what is there, and what things cost."""

    stack: Stack
    state: ClusterState
    library: Library
    prices: Prices = LIST

    def plan(self) -> Plan:
        return make_plan(self.stack, self.library, self.state, today=TODAY)

    def cost(self) -> StackCost:
        return cost_of(self.plan(), self.state, self.prices)

    def of(self, target: str) -> TargetCost:
        return next(one for one in self.cost().targets if one.name == target)

    def asking(self, **changes: Any) -> "Site":
        """With other sections of the stack file."""
        return self._replace(stack=self.stack._replace(config=self.stack.config._replace(**changes)))

    def paying(self, *lines: str) -> "Site":
        """With a price file of these lines; each entry gets a date and a source."""
        text = "\n".join(line.replace("}", ", date: 2026-10-01, source: hall costs}") for line in lines)
        prices, findings = load_text(text.encode(), "stacks/prices.yaml")
        assert prices is not None, findings
        return self._replace(prices=prices)

    def labelled(self, labels: Mapping[str, str | None], only: str = "") -> "Site":
        """With other labels on the nodes whose name has ``only`` in it; None takes a label away."""
        nodes = []
        for node in self.state.nodes:
            if only in node.name:
                changed = {key: value for key, value in {**node.labels, **labels}.items() if value is not None}
                node = node._replace(labels=changed)
            nodes.append(node)
        return self._replace(state=self.state._replace(nodes=tuple(nodes)))

    def without_nodes(self, part: str) -> "Site":
        """Without the nodes whose name has that part."""
        nodes = tuple(node for node in self.state.nodes if part not in node.name)
        return self._replace(state=self.state._replace(nodes=nodes))

    def having(self, target: str, change: Callable[[dict[str, Any]], None]) -> "Site":
        """With one object of the platform changed in place."""
        from copy import deepcopy

        objects = {key: deepcopy(dict(body)) for key, body in self.state.objects.reveal().items()}
        for key, body in objects.items():
            if key.name == target:
                change(body)
        return self._replace(state=self.state._replace(objects=Confidential(objects)))

    def applied(self) -> "Site":
        """After the plan: its objects."""
        objects = {
            **self.state.objects.reveal(),
            **{target.key: target.after.reveal() for target in self.plan().targets},
        }
        return self._replace(state=self.state._replace(objects=Confidential(objects)))


@pytest.fixture(scope="session")
def sites() -> Mapping[str, Site]:
    """The three environments, at list prices."""
    return {name: Site(*parts) for name, parts in environments().items()}


@pytest.fixture(scope="session")
def price() -> Callable[..., Price]:
    """A price with sensible parts."""

    def made(usd: str = "1", *, day: str = "2026-10-01", listed: bool = False, discount: str = "") -> Price:
        return Price("machine", "m", Fraction(usd), "", day, "hall costs", listed, discount)

    return made
