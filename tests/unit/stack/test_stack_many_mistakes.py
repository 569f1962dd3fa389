"""Files with very many mistakes: the first hundred are shown, and the rest costs little time."""

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from modelyard.catalog import load_library, select
from modelyard.findings import MOST_COUNTED, MOST_SHOWN, Finding, Severity, ordered
from modelyard.plan.cost.file import load_text as load_prices
from modelyard.plan.project import plan_recorded
from modelyard.policy.loading import policies_of
from modelyard.stack import check_project, words
from modelyard.stack.loader import load_text
from modelyard.workloads import stack_facts, workloads
from tests.support.processor_time import takes_at_most

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
MANY = 1000
PATCH_FILES = {"meta": "meta.yaml", "schema": "schema.json", "patch": "patch.yaml.j2"}
BASE = 'config:\n  modelyard:platform: {release: "23.10"}\n  modelyard:gpu: {model: A10}\n'


def stack_file(text: str) -> Callable[[Path], tuple[Finding, ...]]:
    return lambda _: load_text(text, "dev", "stacks/Pulumi.dev.yaml")[1]


def price_file(text: str) -> Callable[[Path], tuple[Finding, ...]]:
    return lambda _: load_prices(text.encode(), "prices.yaml")[1]


def meta_file(text: str) -> Callable[[Path], tuple[Finding, ...]]:
    def load(folder: Path) -> tuple[Finding, ...]:
        version = folder / "patches/mine/v1"
        version.mkdir(parents=True)
        (version / "patch.yaml.j2").write_text("# target: a\n")
        (version / "schema.json").write_text("{}")
        (version / "meta.yaml").write_text(text)
        return load_library(folder).findings

    return load


def patch_files(**files: str) -> Callable[[Path], tuple[Finding, ...]]:
    """What is wrong with a patch's files and with what it renders to, in a stack that passes it a long list."""

    def load(folder: Path) -> tuple[Finding, ...]:
        version = folder / "patches/mine/v1"
        version.mkdir(parents=True)
        texts = {"meta": "when: listed\n", "schema": "{}", "patch": "# target: a\nspec: {}\n", **files}
        for name, text in texts.items():
            (version / PATCH_FILES[name]).write_text(text)
        params = f"  modelyard:patches:\n    - {{name: mine, params: {{a: [{'1, ' * MANY * 20}]}}}}\n"
        found, _ = load_text(BASE + params, "dev", "stacks/Pulumi.dev.yaml")
        assert found is not None
        library = load_library(folder)
        chosen, findings = select(library, found, stack_facts(found, workloads(found.config)))
        rendered = [finding for one in chosen for finding in one.render().findings]
        every = (*library.findings, *findings, *rendered)
        return tuple(finding for finding in every if finding.severity is Severity.ERROR)

    return load


def lock_file(text: str) -> Callable[[Path], tuple[Finding, ...]]:
    def load(folder: Path) -> tuple[Finding, ...]:
        (folder / "patches").mkdir()
        (folder / "patches/patches.lock").write_text(text)
        return load_library(folder).findings

    return load


def assertion_file(**parts: str) -> Callable[[Path], tuple[Finding, ...]]:
    def load(folder: Path) -> tuple[Finding, ...]:
        (folder / "policies/assertions").mkdir(parents=True)
        keys = {"code": "POL901", "title": "a", "why": "a", "example": "a", "fix": "a", "message": "a", **parts}
        keys.setdefault("assert", "[{field: a, operator: exists, value: true}]")
        text = "".join(f"{key}: {value}\n" for key, value in keys.items())
        (folder / "policies/assertions/a.yaml").write_text(text)
        return policies_of(folder).findings

    return load


def policy_file(text: str) -> Callable[[Path], tuple[Finding, ...]]:
    def load(folder: Path) -> tuple[Finding, ...]:
        (folder / "policies").mkdir()
        (folder / "policies/policy.yaml").write_text(text)
        return policies_of(folder).findings

    return load


def assertions_of_one_code(folder: Path) -> tuple[Finding, ...]:
    assertion_file()(folder)
    made = folder / "policies/assertions/a.yaml"
    for number in range(MANY):
        made.with_name(f"a{number}.yaml").write_text(made.read_text())
    policies_of.cache_clear()
    return policies_of(folder).findings


def project_file(text: str) -> Callable[[Path], tuple[Finding, ...]]:
    def load(folder: Path) -> tuple[Finding, ...]:
        (folder / "Pulumi.yaml").write_text(text)
        (folder / "stacks").mkdir()
        return check_project(folder)

    return load


def planned(code: str, text: str) -> Callable[[Path], tuple[Finding, ...]]:
    """The findings of one code in the plan of a stack."""

    def load(folder: Path) -> tuple[Finding, ...]:
        shutil.copytree(ROOT / "stacks", folder / "stacks")
        shutil.copytree(ROOT / "patches", folder / "patches")
        file = folder / "stacks/Pulumi.dev.yaml"
        file.write_text(file.read_text() + text)
        plan = plan_recorded(folder, file, date(2026, 1, 1)).plan
        assert plan is not None
        return tuple(finding for finding in plan.findings if finding.code == code)

    return load


def lines(form: str) -> str:
    return "".join(form.format(number) for number in range(MANY))


FILES: dict[str, Callable[[Path], tuple[Finding, ...]]] = {
    "unknown sections": stack_file(BASE + lines("  modelyard:gqu{}: 1\n")),
    "keys without the prefix": stack_file(BASE + lines("  modelyardgpu{}: 1\n")),
    "keys of a like prefix": stack_file(BASE + lines("  modelyrd:gpu{}: 1\n")),
    "keys beside config": stack_file(BASE + lines("confg{}: 1\n")),
    "keys that Pulumi ignores": stack_file(BASE + lines("zebra{}: 1\n")),
    "unknown keys of a section": stack_file(BASE + "  modelyard:celery:\n" + lines("    repplicas{}: 1\n")),
    "wrong values": stack_file(BASE + "  modelyard:jobs:\n" + lines("    - {{name: 'B {}', team: 5, rows: x}}\n")),
    "duplicate keys": stack_file(BASE + MANY * "  modelyard:celery: {replicas: 1}\n"),
    "prices of unknown cards": price_file("cards:\n" + lines("  - {{model: A10{}0}}\n")),
    "unknown keys of prices": price_file(lines("crads{}: 1\n")),
    "unknown keys of meta.yaml": meta_file(lines("descripton{}: 1\n")),
    "unknown keys of policy.yaml": policy_file(lines("ruls{}: 1\n")),
    "parameters of the wrong type": patch_files(
        schema='{"properties": {"a": {"items": {"type": "string"}}}}',
    ),
    "documents that are none": patch_files(patch="{% for one in a %}---\n- {{ loop.index }}\n{% endfor %}"),
    "documents without a target": patch_files(patch="{% for one in a %}---\na: 1\n{% endfor %}"),
    "duplicate keys of policy.yaml": policy_file(MANY * "rules: {}\n"),
    "duplicate keys of an assertion": assertion_file(level="\n" + MANY * "level: advisory\n"),
    "unknown keys of an assertion": assertion_file(remedy="a\n" + lines("remdy{}: 1\n")),
    "paths of an assertion": assertion_file(
        **{"assert": "\n" + MANY * "  - {field: 'a[', operator: exists, value: true}\n"}
    ),
    "placeholders of an assertion": assertion_file(message="'" + "{x}" * MANY + "'"),
    "facts of an assertion": assertion_file(match="\n  when:\n" + lines("    nofact{}: 1\n")),
    "lines of the lock": lock_file(lines("x {}\n")),
    "patches of the lock that are gone": lock_file(lines(f"gone{{}}/v1 {'a' * 64}\n")),
    "keys of Pulumi.yaml": project_file("runtime: python\n" + MANY * 2 * "name: it\n"),
    "assertions of one code": assertions_of_one_code,
    "jobs on unknown resources": planned(
        "RES201", "  modelyard:jobs:\n" + lines("    - {{name: j{}, type: training, rows: 5, resource: none}}\n")
    ),
    "jobs without a resource": planned(
        "RES203", "  modelyard:jobs:\n" + lines("    - {{name: j{}, type: dataset, rows: 5}}\n")
    ),
    "resources of one name": planned(
        "RES207", "  modelyard:resources:\n" + MANY * 2 * "    - {name: features, type: dataset}\n"
    ),
    "unknown rules of policy.yaml": policy_file("rules:\n" + lines("  POL1{}: {{level: advisory}}\n")),
}


@pytest.mark.parametrize("load", FILES.values(), ids=FILES)
def test_the_first_hundred_mistakes_are_shown_and_at_most_a_thousand_are_compared(
    load: Callable[[Path], tuple[Finding, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    near = words._near

    def counting(word: str, *rest: Any) -> tuple[str, ...]:
        asked.append(word)
        return near(word, *rest)

    monkeypatch.setattr(words, "_near", counting)
    assert (MOST_SHOWN, MOST_COUNTED) == (100, 1000)
    found = load(tmp_path)
    assert MOST_SHOWN <= len(found) <= MOST_SHOWN + 1
    assert any(finding.summary.endswith(f"the first {MOST_SHOWN}") for finding in found)
    assert len(asked) <= 3 * (MOST_COUNTED + 1)


def test_the_first_mistakes_of_a_file_are_those_at_its_start() -> None:
    head = "config:\n  modelyard:platform: {release: '23.10'}\n  modelyard:gpu: {model: A10}\n  modelyard:jobs:\n"
    jobs = (f"    - {{name: j{number}, type: training, rows: 50m}}\n" for number in range(3 * MANY))
    _, found = load_text(head + "".join(jobs), "dev", "stacks/Pulumi.dev.yaml")
    assert [one.line for one in found[:MOST_SHOWN]] == [*range(5, 5 + MOST_SHOWN)]


def test_an_unknown_backend_beside_a_missing_name_is_a_mistake_and_no_exception() -> None:
    text = "config:\n  modelyard:platform: {release: '23.10', without: [null]}\n  modelyard:training: foo\n"
    _, found = load_text(text, "dev", "stacks/Pulumi.dev.yaml")
    assert {one.line for one in found} >= {2, 3}


def test_a_report_keeps_its_exit_code_and_counts_once() -> None:
    made = [Finding("RES201", Severity.ERROR, f"it {n}", file="a.yaml", line=n, waived="known") for n in range(1, 301)]
    made += [one._replace(severity=Severity.WARNING, waived="") for one in made]
    made.append(made[0]._replace(line=999, waived=""))
    made += [one._replace(file="", target=f"t{number}") for number, one in enumerate(made[:150])]
    found = ordered(made)
    assert [finding.line for finding in found if finding.blocks] == [999]
    assert [len([one for one in found if one.severity is severity]) for severity in Severity] == [1 + 101 + 150, 101, 0]
    counts = [one for one in found if "of which these are the first" in one.summary]
    assert [(one.severity, one.waived) for one in counts] == [(Severity.WARNING, ""), (Severity.ERROR, "known")]
    assert all("300 findings" in one.summary for one in counts)
    assert ordered(found) == found
    assert ordered((*found, *made)) == found


@pytest.mark.parametrize("error", ["modelyard:gpu: {model: A10}", "aws:region: eu"])
def test_keys_that_pulumi_ignores_hide_no_error(tmp_path: Path, error: str) -> None:
    text = BASE + "".join(f"zebra{number}: 1\n" for number in range(MOST_COUNTED + 50)) + f"{error}\n"
    assert any(finding.blocks for finding in stack_file(text)(tmp_path))


def test_a_hundred_thousand_keys_beside_config_take_a_moment(tmp_path: Path) -> None:
    text = BASE + "".join(f"{number * 7919 % 100_003:x}zebra: 1\n" for number in range(100_000))
    with takes_at_most(5):  # seconds; some tenths here
        found = stack_file(text)(tmp_path)
    assert not any(finding.blocks for finding in found)
