"""Price files: exact numbers out of good ones, every mistake with its place out of bad ones."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from modelyard.explanations import explanations
from modelyard.files import MAX_YAML_BYTES
from modelyard.plan.cost.file import load_prices, load_text, schema_text
from modelyard.plan.cost.prices import LIST
from modelyard.plan.cost.project import priced
from modelyard.plan.project import Planned

FILE = "stacks/prices.yaml"
GOOD = """\
machines:
  - {type: m, region: here, gpu: A30, usdPerHour: 14.69354, date: 2026-10-01, source: invoice, discount: spot}
  - {type: m, usdPerHour: 0, date: 2026-10-02, source: gift}
cards:
  - {model: NVIDIA A30, usdPerGpuHour: 1e-1, date: 2026-10-03, source: hall}
"""


def refused(text: str | bytes) -> list[tuple[str, str, str]]:
    """Place, code and summary of each finding about a file that gives no prices."""
    prices, findings = load_text(text if isinstance(text, bytes) else text.encode(), FILE)
    assert prices is None
    assert all(finding.blocks and finding.remedy for finding in findings)
    return [(finding.location, finding.code, finding.summary) for finding in findings]


def test_a_good_file_gives_exact_prices() -> None:
    prices, findings = load_text(GOOD.encode(), FILE)
    assert findings == ()
    assert prices is not None
    assert prices.machines == {
        ("m", "here", "a30"): ("machine", "m", Fraction("14.69354"), "here", "2026-10-01", "invoice", False, "spot"),
        ("m", "", ""): ("machine", "m", Fraction(0), "", "2026-10-02", "gift", False, ""),
    }
    assert prices.gpus == {"a30": ("card", "A30", Fraction(1, 10), "", "2026-10-03", "hall", False, "")}


@pytest.mark.parametrize("text", ["machines: []", "cards: []", "{}"])
def test_a_file_without_entries_is_list_prices_alone(text: str) -> None:
    assert load_text(text.encode(), FILE) == (LIST, ())


MISTAKES = (
    ("14.69354", "-3"),
    ("14.69354", "2e6"),
    ("14.69354", '"14.69"'),
    ("14.69354", "14,69"),
    ("14.69354", ".nan"),
    ("14.69354", "yes"),
    ("14.69354", "true"),
    ("14.69354", ""),
    ("2026-10-01", "2026-02-30"),
    (", source: invoice", ""),
    ("discount", "rebate"),
    ("discount: spot", "discount: 120"),
    ("machines:", "machine:"),
    ("invoice", '"a\\u0007b"'),
    ("gpu: A30", "gpu: A300"),
    ("NVIDIA A30", "H100"),
    ("region: here, gpu: A30, ", ""),
)


def test_mistakes_in_a_price_file(golden: Any) -> None:
    found = [refused(GOOD.replace(old, new, 1)) for old, new in MISTAKES]
    golden(*("\n".join(map(" ".join, findings)) for findings in found), "")


def test_a_second_price_of_one_gpu_is_an_error() -> None:
    again = "  - {model: a30, usdPerGpuHour: 2, date: 2026-10-03, source: hall}\n"
    ((place, code, summary),) = refused(GOOD + again)
    assert (place, code) == (f"{FILE}:6:5", "CFG006")
    assert re.search(r"cards\[1\] .* a30, .* line 5$", summary)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"", "CFG007"),
        (b"- m", "CFG007"),
        (b"machines: [", "CFG004"),
        (b"\xff", "CFG002"),
        (b"machines: {}", "CFG010"),
        (b"machines: [m]", "CFG010"),
        (b"machines:\ncards:\n", "CFG010"),
        (b"cards: []\ncards: []", "CFG006"),
        (b"machines: [{type: [m], region: 1, gpu: {}, usdPerHour: []}]", "CFG010"),
    ],
)
def test_text_of_any_shape_is_a_finding(text: bytes, code: str) -> None:
    assert code in [one for _, one, _ in refused(text)]


@pytest.mark.parametrize(("text", "what"), [("", "empty"), ("- m", "mapping")])
def test_a_file_without_sections_is_found_on_its_first_line(text: str, what: str) -> None:
    ((place, code, summary),) = refused(text)
    assert (place, code, summary.split()[-1]) == (f"{FILE}:1:1", "CFG007", what)


def test_a_wrong_card_is_found_behind_a_right_one() -> None:
    text = GOOD + "  - {model: A300, usdPerGpuHour: 1, date: 2026-10-03, source: hall}\n"
    ((place, code, summary),) = refused(text)
    assert (place, code) == (f"{FILE}:6:13", "CFG011")
    assert summary == "cards[1].model: unknown GPU 'A300'"


def test_all_mistakes_come_at_once_with_their_lines() -> None:
    text = GOOD.replace("14.69354", "-1").replace("usdPerHour: 0,", "").replace("1e-1", "cheap")
    assert [(place, code) for place, code, _ in refused(text)] == [
        (f"{FILE}:2:51", "CFG012"),
        (f"{FILE}:3:5", "CFG009"),
        (f"{FILE}:5:40", "CFG010"),
    ]


def test_a_byte_order_mark_is_a_warning() -> None:
    prices, findings = load_text(b"\xef\xbb\xbf" + GOOD.encode(), FILE)
    assert prices is not None
    assert [finding.code for finding in findings] == ["CFG002"]


@pytest.fixture
def planned(dev: Any, tmp_path: Path) -> Any:
    """A plan of a stack that names a price file, in a project of its own."""

    def made(content: str | None) -> Planned:
        if content is not None:
            (tmp_path / "stacks").mkdir()
            (tmp_path / FILE).write_text(content)
        config = dev.stack.config._replace(prices=FILE)
        stack = dev.stack._replace(config=config, positions={**dev.stack.positions, ("prices",): (33, 3)})
        prices, _ = load_prices(tmp_path, FILE, stack)
        return priced(tmp_path, Planned(stack, dev.plan(), (), dev.state, prices=prices))

    return made


def test_a_plan_gets_what_it_costs(planned: Any) -> None:
    result = planned("cards: [{model: A10, usdPerGpuHour: 2, date: 2026-10-01, source: hall}]")
    assert result.findings == ()
    assert result.plan.cost.after.usd == (2, 2)


def test_a_stack_without_a_price_file_has_list_prices(dev: Any, tmp_path: Path) -> None:
    result = priced(tmp_path, Planned(dev.stack, dev.plan(), (), dev.state))
    assert result.plan is not None
    assert result.plan == dev.plan()._replace(cost=dev.cost())


@pytest.mark.parametrize("content", [None, GOOD.replace("14.69354", "-1")], ids=["missing", "wrong"])
def test_a_price_file_with_errors_gives_no_costs(planned: Any, content: str | None) -> None:
    result = planned(content)
    assert result.plan is not None
    assert result.plan.cost is None


def test_a_missing_price_file_is_reported_at_the_line_that_names_it(dev: Any, tmp_path: Path) -> None:
    stack = dev.stack._replace(positions={**dev.stack.positions, ("prices",): (33, 3)})
    _, (finding,) = load_prices(tmp_path, FILE, stack)
    assert (finding.code, finding.location) == ("CFG103", "stacks/Pulumi.dev.yaml:33:3")
    assert FILE in finding.summary


def test_a_folder_or_too_large_a_price_file_is_an_error(dev: Any, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "large").write_bytes(b"#" * (MAX_YAML_BYTES + 1))
    for name, why in (("folder", "a folder, not"), ("large", f"{MAX_YAML_BYTES + 1:,} bytes")):
        prices, (finding,) = load_prices(tmp_path, name, dev.stack)
        assert prices is None
        assert name in finding.summary
        assert why in finding.summary


def test_a_failed_plan_gets_no_prices(dev: Any, tmp_path: Path) -> None:
    nothing = Planned(dev.stack, None, dev.plan().findings)
    assert priced(tmp_path, nothing) == nothing


def test_the_explanations_example_is_the_real_finding(dev: Any, tmp_path: Path) -> None:
    _, (finding,) = load_prices(tmp_path, "stacks/price.yaml", dev.stack)
    body = explanations()[finding.code].body
    shown = re.search(r"```text\n(.*?)\n```", body, re.DOTALL)
    assert shown is not None
    assert shown[1] == finding.summary
    assert [body.count(f"**{part}.**") for part in ("Why", "Example", "Fix")] == [1, 1, 1]


def test_the_schema_is_one_and_describes_every_key() -> None:
    schema = json.loads(schema_text())
    Draft202012Validator.check_schema(schema)
    for section in (schema, schema["$defs"]["machine"], schema["$defs"]["card"]):
        assert section["additionalProperties"] is False
        for key, value in section["properties"].items():
            inner = {**schema["$defs"][value["$ref"].rpartition("/")[2]], **value} if "$ref" in value else value
            assert inner.get("description"), key
            for example in inner.get("examples", []):
                assert Draft202012Validator({**inner, "$defs": schema["$defs"]}).is_valid(example), key
