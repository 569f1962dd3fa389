"""How large the HTML report of many stacks is, and how soon a reader can work with it.

Takes a preview as ``modelyard preview --json`` writes it, repeats its stacks under other names, and opens the page in
headless Chromium, each time anew. Times are milliseconds from the start of the navigation; they depend on the machine.

    modelyard preview --base main --json > preview.json
    python benchmarks/report.py preview.json --stacks 1000
"""

import argparse
import copy
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from modelyard.report.html.page import html_page
from tests.support.report_pages import FLAGS, chromium

_MEASURE = """async () => {
  const settled = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  await settled();
  const ready = performance.getEntriesByName("modelyard-ready")[0].startTime;
  const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN;
  const begun = performance.now();
  const search = document.querySelector("#filters [name=q]");
  search.value = "0";
  search.dispatchEvent(new Event("input", { bubbles: true }));
  await settled();
  await settled();
  return [paint, ready, performance.now() - begun];
}"""


def repeated(document: dict[str, Any], number: int) -> dict[str, Any]:
    """The document with so many stacks, each with changes of its own."""
    found = copy.deepcopy(document)
    found["stacks"], found["changes"] = [], []
    for at in range(number):
        stack = copy.deepcopy(document["stacks"][at % len(document["stacks"])])
        stack["stack"] = f"{stack['stack']}-{at:04}"
        for target in stack["targets"]:
            change = copy.deepcopy(document["changes"][target["change"]])
            change["stacks"] = [stack["stack"]]
            target["change"] = len(found["changes"])
            found["changes"].append(change)
        found["stacks"].append(stack)
    return found


def opened(browser: Browser, file: Path) -> list[float]:
    """First paint, ready for input, and one search."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    times: list[float] = page.evaluate(_MEASURE)
    context.close()
    return times


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preview", type=Path, help="a preview as JSON")
    parser.add_argument("--stacks", type=int, default=1000, help="stacks that change (default 1000)")
    parser.add_argument("--rounds", type=int, default=5, help="times that the page is opened (default 5)")
    args = parser.parse_args()
    document = repeated(json.loads(args.preview.read_text(encoding="utf-8")), args.stacks)
    started = time.perf_counter()
    text = html_page(document, title="report")
    made = time.perf_counter() - started
    print(f"{len(document['stacks'])} stacks, {len(document['changes'])} changes")
    print(f"page        {len(text.encode()) / 1e6:.1f} MB, made in {made:.1f} s")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "report.html"
        file.write_text(text, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        rounds = [opened(browser, file) for _ in range(args.rounds)]
        browser.close()
    for name, times in zip(("first paint", "ready", "one search"), zip(*rounds, strict=True), strict=True):
        print(f"{name:<11} {statistics.median(times):.0f} ms ({min(times):.0f} to {max(times):.0f})")


if __name__ == "__main__":
    main()
