"""The HTML page as text: whole, the same every time, and safe whatever the names in it."""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest

from modelyard.explanations import explanations
from modelyard.findings import Finding, Severity
from modelyard.kube import merge
from modelyard.plan import FieldChange
from modelyard.preview import Preview, StackDiff, TargetDiff, VersionDiff
from modelyard.preview.topology import GpuPlace, Queue, Running, Scene, Topology
from modelyard.preview.values import Revision
from modelyard.report.html.overview import verdict
from modelyard.report.html.page import html_page
from modelyard.report.preview.json import preview_document

MEMORY = merge.Path.parse("spec.template.spec.containers[name=worker].resources.limits.memory")
HOSTILE = "</script><img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """The elements of a page, the text of those that hold no markup, and everything else as text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"style": [], "script": [], "title": []}
        self.text = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in self.raw:
            self._inside = tag
            self.raw[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.raw[self._inside][-1] += data
        else:
            self.text += data

    @property
    def data(self) -> Any:
        """What the scripts know."""
        at = [attributes for tag, attributes in self.elements if tag == "script"]
        return json.loads(next(self.raw["script"][n] for n, one in enumerate(at) if one.get("id") == "data"))


def target(after: Any = "48Gi", **changes: Any) -> TargetDiff:
    fields = (FieldChange(MEMORY, "32Gi", after, "ray-worker@v1"),)
    made = TargetDiff("deployment-worker", "Deployment", "changed", fields, (), 1, (1, 1), (1, 1))
    return made._replace(**changes)


def finding(stack: str = "dev", **changes: Any) -> Finding:
    made = Finding("RES001", Severity.ERROR, "too little memory", stack=stack, file=f"stacks/Pulumi.{stack}.yaml")
    return made._replace(line=3, **changes)


def scene(pods: int) -> Scene:
    workers = Running("deployment-worker", "rayWorker", pods, None, 1, ((0, pods),) if pods else (), 0)
    return Scene((Queue("deployment-head", "ray", "deployment-worker", True),), (workers,))


def stack(name: str = "dev", *targets: TargetDiff, **changes: Any) -> StackDiff:
    picture = Topology((GpuPlace(f"{name}-node", 1, "NVIDIA-A30", 4, 0, False),), scene(0), scene(2))
    made = StackDiff(name, f"stacks/Pulumi.{name}.yaml", "changed", "Ray training", targets, (), (), (), False, False)
    return made._replace(patches=(VersionDiff("ray-worker", "v1", "v1"),), topology=picture)._replace(**changes)


def document(*stacks: StackDiff, unchanged: tuple[str, ...] = ()) -> dict[str, Any]:
    sides = Revision("main", "a" * 40), Revision("feature", "b" * 40)
    return preview_document(Preview(*sides, stacks, unchanged))


def made(*stacks: StackDiff, **changes: Any) -> str:
    return html_page(document(*stacks, **changes), title="modelyard preview")


def test_the_same_preview_gives_the_same_bytes_in_every_process() -> None:
    moves = (VersionDiff("a", "v1", "v2"), VersionDiff("b", None, "v1"))
    stacks = [stack(name, target(versions=moves), new=(finding(name),), patches=moves) for name in ("b", "a")]
    program = (
        "import json, sys; from modelyard.report.html.page import html_page; "
        "sys.stdout.buffer.write(html_page(json.load(sys.stdin), title='modelyard preview').encode())"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(document(*stacks)).encode(),
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert done.stdout.decode() == made(*stacks)


def test_nothing_is_loaded() -> None:
    page = Page(made(stack("dev", target())))
    sources = {
        name: value for _, one in page.elements for name, value in one.items() if name in ("src", "action", "data")
    }
    links = [value or "" for _, one in page.elements for name, value in one.items() if name == "href"]
    assert not sources
    assert all(link.startswith("#") or link == "data:," for link in links)
    assert not [text for text in page.raw["style"] if "url(" in text or "@import" in text]


def test_the_policy_lets_only_the_pages_own_styles_and_scripts_in() -> None:
    text = made(stack("dev", target()))
    page = Page(text)
    policy = next(
        one["content"] or "" for tag, one in page.elements if one.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    runs = [found[1] for found in re.finditer(r"<script>(.*?)</script>", text, re.DOTALL)]
    styles = [found[1] for found in re.finditer(r"<style>(.*?)</style>", text, re.DOTALL)]
    assert [rules.pop(name) for name in ("default-src", "base-uri", "form-action")] == ["'none'"] * 3
    assert rules.pop("img-src") == "data:"
    assert rules.keys() == {"script-src", "style-src"}
    assert rules["script-src"].split() == [digest(one) for one in runs]
    assert rules["style-src"].split() == [digest(one) for one in styles]
    inline = [name for _, one in page.elements for name in one if name.startswith("on") or name == "style"]
    assert not inline


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_names_that_look_like_markup_stay_text() -> None:
    one = stack(HOSTILE, target(HOSTILE), new=(finding(HOSTILE, summary=HOSTILE, remedy=f"`{HOSTILE}`"),))
    page = Page(made(one, unchanged=(HOSTILE,)))
    assert "img" not in {tag for tag, _ in page.elements}
    assert page.text.count(HOSTILE) >= 5
    assert page.data["stacks"][0]["name"] == HOSTILE


def test_invisible_characters_are_shown_as_escapes() -> None:
    text = made(stack("dev\u202e", target("48Gi\x1b[2J\ud800"), headline="Ray\u200e training"))
    assert not re.search("[\u202e\u200e\x1b\ud800]", text)
    assert r"dev\u202e" in text
    assert r"48Gi\x1b[2J\ud800" in text
    assert text.encode()


def test_summary_findings_and_values_need_no_scripts() -> None:
    found = finding(detail="16 GB is the least", remedy="ask for more", target="deployment-worker")
    text = Page(made(stack("dev", target(), new=(found,)), unchanged=("quiet",))).text
    for words in (
        "1 stack cannot be applied",
        "too little memory",
        "16 GB is the least",
        "ask for more",
        "stacks/Pulumi.dev.yaml:3",
        "32Gi",
        "48Gi",
        "ray-worker@v1",
        "quiet",
    ):
        assert words in text


def test_the_page_begins_with_the_sentences_of_the_comment() -> None:
    stacks = (stack("a", target()), stack("b", target()), stack("c", target("64Gi"), new=(finding("c"),)))
    text = " ".join(Page(made(*stacks)).text.split())
    outcomes = document(*stacks)["outcomes"]
    assert [one["stacks"] for one in outcomes] == [["c"], ["a", "b"]]
    assert [one["headline"] for one in outcomes if f"{', '.join(one['stacks'])} {one['headline']}." not in text] == []


def test_a_note_is_called_note() -> None:
    note = finding(severity=Severity.ADVICE)
    text = " ".join(Page(made(stack("dev", target(), new=(note,)))).text.split())
    assert "note RES001" in text
    assert "advice" not in text


def test_an_unknown_cost_is_not_shown_as_nothing() -> None:
    page = Page(made(stack("dev", target())))
    assert re.search(r"Cost in USD.*\s*unknown", page.text)


def test_a_stack_that_cannot_be_planned_has_no_numbers() -> None:
    one = stack("dev", unplanned=True, patches=(), topology=None, new=(finding(),))
    page = Page(made(one))
    assert verdict(document(one))[1] in page.text
    assert re.search(r"not planned\s+unknown\s+unknown\s+unknown", page.text)


def test_a_preview_without_changes_is_one_sentence_and_the_number_of_stacks() -> None:
    text = Page(made(unchanged=("dev", "prod"))).text
    assert "Nothing changes" in text
    assert "2 stacks" in text


def test_no_two_elements_share_an_id() -> None:
    page = Page(made(*(stack(name, target(), new=(finding(name),)) for name in ("dev", "prod"))))
    ids = [one["id"] for _, one in page.elements if "id" in one]
    assert len(ids) == len(set(ids))


def test_links_inside_the_page_lead_to_stacks_and_to_the_reasons_of_its_codes() -> None:
    page = Page(made(stack("dev", target(), new=(finding(code="GPU001"),))))
    ids = {one.get("id") for _, one in page.elements}
    links = {one["href"] or "" for tag, one in page.elements if tag == "a"}
    assert {link.removeprefix("#") for link in links} <= ids
    assert {"#stack-0", "#code-GPU001"} <= links
    reason = re.split(r"[`*\n]", explanations()["GPU001"].body.strip("*"))
    assert max(reason, key=len).strip() in page.text


@pytest.mark.parametrize("changed", [50, 1000])
def test_a_thousand_stacks_stay_small(changed: int) -> None:
    stacks = [
        stack(f"team-{number:04}", target(f"{number}Gi"), still=tuple(finding(summary=f"note {n}") for n in range(25)))
        for number in range(changed)
    ]
    text = made(*stacks, unchanged=tuple(f"quiet-{number:04}" for number in range(1000 - changed)))
    assert len(text.encode()) < 5_000_000


def test_the_library_is_the_one_that_the_table_names() -> None:
    vendor = files("modelyard.report.html") / "vendor"
    library = (vendor / "diff" / "diff.min.js").read_bytes()
    row = next(line for line in (vendor / "README.md").read_text().splitlines() if "jsdiff" in line)
    licence = (vendor / "diff" / "LICENSE").read_text().strip()
    text = made(stack("dev"))
    assert hashlib.sha256(library).hexdigest() in row
    assert f"diff {row.split('|')[2].strip()}\n\n{licence}" in text
    # Nothing in it may end the script it stands in, or begin another.
    assert not re.search(rb"</script|<!--|<script", library, re.IGNORECASE)
