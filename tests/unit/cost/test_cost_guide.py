"""What the guide shows is what comes out."""

import re
from pathlib import Path
from typing import Any

from modelyard.cost import words
from modelyard.cost.file import load_text

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "cost.md").read_text(encoding="utf-8")


def block(info: str) -> list[str]:
    return re.findall(rf"^```{info}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def test_every_output_in_the_guide_is_real(staging: Any, prod: Any) -> None:
    (file,) = block("yaml file=stacks/prices.yaml")
    prices, findings = load_text(file.encode(), "stacks/prices.yaml")
    assert findings == ()
    assert prices is not None
    _, (negative,) = load_text(file.replace("0.63", "-3").encode(), "stacks/prices.yaml")
    real = [
        *words.stack_cost(staging.cost()),
        words.stack_cost(prod.cost())[0],
        *words.stack_cost(prod._replace(prices=prices).cost()),
        negative.summary,
    ]
    assert "".join(block("text")).splitlines() == real
