"""Files with very many mistakes: the first hundred are shown, and nobody works on the others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modelyard.catalog import load_library
from modelyard.cost.file import load_text as load_prices
from modelyard.findings import Finding
from modelyard.policy.loading import policies_of
from modelyard.stack import words
from modelyard.stack.loader import load_text
from modelyard.stack.mistakes import MOST_COUNTED, MOST_SHOWN

MANY = 1000
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


def policy_file(text: str) -> Callable[[Path], tuple[Finding, ...]]:
    def load(folder: Path) -> tuple[Finding, ...]:
        (folder / "policies").mkdir()
        (folder / "policies/policy.yaml").write_text(text)
        return policies_of(folder).findings

    return load


def lines(form: str) -> str:
    return "".join(form.format(number) for number in range(MANY))


FILES: dict[str, Callable[[Path], tuple[Finding, ...]]] = {
    "unknown sections": stack_file(BASE + lines("  modelyard:gqu{}: 1\n")),
    "keys without the prefix": stack_file(BASE + lines("  modelyardgpu{}: 1\n")),
    "keys of a like prefix": stack_file(BASE + lines("  modelyrd:gpu{}: 1\n")),
    "keys beside config": stack_file(BASE + lines("confg{}: 1\n")),
    "unknown keys of a section": stack_file(BASE + "  modelyard:celery:\n" + lines("    repplicas{}: 1\n")),
    "wrong values": stack_file(BASE + "  modelyard:jobs:\n" + lines("    - {{name: 'B {}', team: 5, rows: x}}\n")),
    "duplicate keys": stack_file(BASE + MANY * "  modelyard:celery: {replicas: 1}\n"),
    "prices of unknown cards": price_file("cards:\n" + lines("  - {{model: A10{}0}}\n")),
    "unknown keys of prices": price_file(lines("crads{}: 1\n")),
    "unknown keys of meta.yaml": meta_file(lines("descripton{}: 1\n")),
    "unknown keys of policy.yaml": policy_file(lines("ruls{}: 1\n")),
    "unknown rules of policy.yaml": policy_file("rules:\n" + lines("  POL1{}: {{level: advisory}}\n")),
}


@pytest.mark.parametrize("load", FILES.values(), ids=FILES)
def test_the_first_hundred_mistakes_are_shown_and_what_is_behind_a_thousand_costs_nothing(
    load: Callable[[Path], tuple[Finding, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    near = words._near

    def counting(word: str, *rest: Any) -> tuple[str, ...]:
        asked.append(word)
        return near(word, *rest)

    monkeypatch.setattr(words, "_near", counting)
    found = load(tmp_path)
    assert MOST_SHOWN <= len(found) <= MOST_SHOWN + 1
    assert any(f"mistakes, of which these are the first {MOST_SHOWN}" in finding.summary for finding in found)
    assert len(asked) <= 3 * (MOST_COUNTED + 1)
