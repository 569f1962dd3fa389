"""Pages of a preview, and the browser that opens them."""

import copy
import os
import shutil
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from modelyard.plan.cost.values import Count, Money, TargetCost, cost_to_json, stack_cost
from modelyard.report.html.page import html_page

Opened = Callable[..., Page]
"""Opens a page: the file, what stands behind its #, and options of the browser context."""
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str:
    """The browser's program. A machine without one fails these tests: they are not skipped over."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    assert found, "no Chromium on PATH: apt-get install chromium, or set CHROMIUM to its path"
    return found


def priced(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same preview with a cost in two stacks, one of them a range."""
    found = copy.deepcopy(dict(document))
    for stack, most in ((0, 0), (1, 5)):
        amounts = [Money(Fraction(low), Fraction(low + most)) for low in (1, 3, 2)]
        pods = Count(1, 1 + most)
        target = TargetCost(
            "Deployment", "worker", (pods, pods), (pods, pods), (amounts[0], amounts[1]), amounts[2], (), ""
        )
        found["stacks"][stack]["cost"] = cost_to_json(stack_cost([target]))
    return found


def written(document: Mapping[str, Any], folder: Path) -> Path:
    file = folder / "report.html"
    file.write_text(html_page(document, title="modelyard preview: working tree against main"), encoding="utf-8")
    return file
