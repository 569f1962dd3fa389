"""Text that could control a terminal or a CI system is shown escaped, wherever it comes from."""

import json
import re
import unicodedata
from typing import Any

import pytest

from modelyard.report.json import json_text
from modelyard.report.style import PLAIN, Style, hanging, safe, shorten, table, wrapped
from tests.support.hostile_text import EVIL, harmless

IGNORED = {
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)),
    *range(0xE0000, 0xE1000),
}
"""Letters and marks that are invisible: fillers, selectors of variants, tags (Unicode's property
Default_Ignorable_Code_Point), and the empty pattern of Braille."""


def test_every_kind_of_escape_is_visible() -> None:
    assert safe("a\x1b[2J") == r"a\x1b[2J"
    assert safe("a\nb\tc\r") == r"a\nb\tc\r"
    assert safe("\u202e\x9b\ufeff\udc80") == r"\u202e\x9b\ufeff\udc80"
    assert safe("::error::x ::warning::y") == r"\x3a:error::x \x3a:warning::y"
    assert safe("##[group]x ##vso[task]y") == r"\x23#[group]x \x23#vso[task]y"


def test_invisible_characters_are_escaped_in_every_format(project: Any, run: Any) -> None:
    unseen = "".join(
        chr(number)
        for number in range(0x7F, 0x110000)
        if number in IGNORED or unicodedata.category(chr(number)) in ("Cc", "Cf", "Zl", "Zp", "Zs")
    )
    assert not set(unseen) & set(safe(unseen))
    assert not set(unseen) & set(json_text({"a": unseen, unseen: 1}))
    assert json.loads(json_text({"a": unseen})) == {"a": unseen}
    # One of each block: a reason has a maximum length.
    few = "".join(unseen[at] for at in range(0, len(unseen), 97)) + "\u200b\u00ad\ufe0f\u3164\U000e0041\u202e"
    text = '"' + "".join(f"\\U{ord(character):08x}" for character in few) + '"'
    project.add(f"modelyard:waivers:\n  - {{code: RES102, reason: {text}, expires: 2036-01-01}}")
    head = "# target: deployment-ray-head\napiVersion: apps/v1\nkind: Deployment\n"
    project.patch(
        "mine", f"{head}metadata: {{annotations: {{note: {text}}}}}\n", "description: mine\noverrides: [ray-head]\n"
    )
    project.add("modelyard:patches: [{name: mine}]")
    verbs = (("plan", "dev"), ("plan", "dev", "--json"), ("diff", "dev"), ("fmt", "--diff"))
    shown = [run(*words).text for words in verbs]
    shown += [run("check", "dev", "--format", form).text for form in ("text", "json", "sarif", "junit", "github")]
    shown += [run("blame", "dev", "ray-head", "metadata", *form).text for form in ((), ("--json",))]
    assert sum("e0041" in form.lower() or "\\udb40\\udc41" in form for form in shown) > 4
    for form in shown:
        assert not set(unseen) & set(form)


@pytest.mark.parametrize("text", ["fd00::1", "::1", "std::vector", "## heading", "a·b → c…", "ray-worker@v1", "12Gi"])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert safe(text) == text


def test_every_text_layout_is_safe() -> None:
    harmless("\n".join(wrapped(EVIL, 4, 100)))
    harmless("\n".join(hanging(EVIL, 2, 60)))
    harmless(shorten(EVIL, 40))
    harmless("\n".join(table([(EVIL, EVIL)], ("A", "B"), PLAIN)))
    harmless(json_text({"a": EVIL, EVIL: [EVIL]}))
    assert json.loads(json_text({"a": EVIL})) == {"a": EVIL}


def test_a_command_after_an_added_line_break_is_escaped() -> None:
    harmless("\n".join(wrapped("x " * 60 + "::error::y", 0, 60)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "lines",
    [
        f"modelyard:waivers:\n  - {{code: RES102, reason: {json.dumps(EVIL)}, expires: 2036-01-01}}",
        f"modelyard:patches:\n  - {{name: {json.dumps(EVIL)}}}",
        f"modelyard:patches:\n  - {{name: ray-head, version: {json.dumps(EVIL)}}}",
        f"modelyard:patches:\n  - {{name: ray-head, params: {{memory: {json.dumps(EVIL)}}}}}",
        f"modelyard:patches:\n  - {{name: ray-head, params: {{{json.dumps(EVIL)}: 1}}}}",
        f"modelyard:targets:\n  rayHead: {{deployment: {json.dumps(EVIL)}}}",
        f"modelyard:targets:\n  rayHead: {{container: {json.dumps(EVIL)}}}",
        f"modelyard:{json.dumps(EVIL)[1:-1]}: 1",
        f"{json.dumps('modelyard:' + EVIL)}: 1",
    ],
)
@pytest.mark.parametrize("verb", ["plan", "check", "show", "diff"])
def test_hostile_text_in_a_stack_file(project: Any, run: Any, lines: str, verb: str) -> None:
    project.add(lines)
    for options in ((), ("--json",), ("--colour", "never")):
        result = run(verb, "dev", *options)
        assert "internal error" not in result.text
        harmless(result.text)


def recorded(project: Any, name: str) -> Any:
    return project.root / "stacks/recorded/dev" / name


def test_hostile_text_in_a_recorded_platform(project: Any, run: Any) -> None:
    """Names of managers, annotations, taints and labels come from the cluster."""
    path = recorded(project, "deployment.ml-platform.deployment-ray-head.json")
    body = json.loads(path.read_text())
    for entry in body["metadata"]["managedFields"]:
        entry["manager"] = EVIL
    body["metadata"]["annotations"]["note"] = EVIL
    body["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "RAY_OVERRIDE_RESOURCES", "value": EVIL}]
    path.write_text(json.dumps(body))
    path = recorded(project, "cluster.json")
    cluster = json.loads(path.read_text())
    cluster["version"] = cluster["identity"] = EVIL
    for node in cluster["nodes"]:
        node["metadata"]["name"] = EVIL
        node["spec"]["taints"] = [{"key": EVIL, "effect": "NoSchedule"}]
    path.write_text(json.dumps(cluster))
    words = [
        ("plan", "dev", "--notes"),
        ("check", "dev", "--notes"),
        ("diff", "dev"),
        ("blame", "dev", "ray-head", "resources.limits.memory"),
        ("blame", "dev", "ray-head", "env[name=RAY_OVERRIDE_RESOURCES].value"),
        ("blame", "dev", "ray-head", "containers"),
        ("blame", "dev", "ray-head", "metadata"),
    ]
    for line in words:
        for options in ((), ("--json",)):
            result = run(*line, *options)
            assert result.code in (0, 1), result.text
            harmless(result.text)
    assert r"\x1b[31mred" in run("plan", "dev", "--notes").out


def test_hostile_text_in_patches_and_their_names(project: Any, run: Any) -> None:
    meta = f"description: {json.dumps(EVIL)}\n"
    project.patch("mine", "# target: deployment-api-server\nspec: {{ missing }}\n", meta)
    (project.patches / "evil\x1b[31m\u202e").mkdir()
    (project.patches / "evil\x1b[31m\u202e" / "v1").mkdir()
    for line in (("patches",), ("patches", "mine"), ("plan", "dev"), ("check", "dev"), ("patches", "\x1b[31m")):
        for options in ((), ("--json",)):
            result = run(*line, *options)
            assert result.code in (1, 2)
            harmless(result.text)


def test_hostile_text_in_a_plan_file_with_a_good_seal(project: Any, run: Any) -> None:
    from modelyard.plan.store import seal

    assert run("plan", "dev", "--out", "plan.json").code == 0
    path = project.root / "plan.json"
    document = json.loads(path.read_text())
    for key in ("stack", "file", "headline", "namespace", "context"):
        document[key] = EVIL
    for key in ("identity", "version"):
        document["cluster"][key] = EVIL
    target = document["targets"][1]
    target.update(name=EVIL, kind=EVIL, patches=[f"{EVIL}@v1"])
    for change in target["changes"]:
        change.update(patch=f"{EVIL}@v1", before=EVIL, after={EVIL: [EVIL]})
        for owner in change["owners"]:
            owner["manager"] = EVIL
    document["steps"][1].update(target=EVIL, why=EVIL)
    said = dict.fromkeys(("summary", "file", "target"), EVIL)
    document["findings"] = [{"code": "PAT001", "severity": "error", **said}]
    document["sha256"] = seal(document)
    path.write_text(json.dumps(document))
    for options in ((), ("--json",)):
        result = run("show", "plan.json", *options)
        assert result.code == 0
        harmless(result.text)
    coloured = run("show", "plan.json", "--colour", "always").out
    harmless(re.sub(r"\x1b\[[0-9;]*m", "", coloured))
    assert "\x1b[31mred" not in coloured


def test_hostile_words_on_the_command_line(run: Any) -> None:
    for words in ((EVIL,), ("plan", EVIL), ("-C", EVIL, "plan"), ("show", EVIL), ("explain", EVIL), ("gpus", EVIL)):
        result = run(*words)
        assert result.code == 2
        harmless(result.text)


def test_styles_are_the_only_escape_sequences() -> None:
    assert Style(True).bold("x") == "\x1b[1mx\x1b[0m"
    assert Style(False).bold("x") == "x"
