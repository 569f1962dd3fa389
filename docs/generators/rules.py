"""Findings: a page for each code, and the table that links to them.

A page is ``rules/<CODE>.md``, so that its address never changes. ``SOURCES`` lists the functions that find rules; for a
new kind of rule, add a function there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from generators.markdown import anchor, page, table
from generators.paths import ROOT
from generators.severities import severities

FOLDER = "rules"


class RulePage(NamedTuple):
    """The text and data of one code."""

    code: str
    title: str
    """One line without a full stop: what is wrong, or what must hold."""
    body: str
    """Markdown: why, an example, the fix."""
    severities: tuple[str, ...]
    """Most severe first."""

    @property
    def family(self) -> str:
        """The first letters of the code."""
        return self.code[:3]


def from_explanations() -> Iterator[RulePage]:
    """The codes that ``modelyard/explanations`` explains.

    Raises:
        ValueError: the source gives a code no severity.
    """
    from modelyard.explanations import explanations
    from modelyard.findings import Severity

    found = severities()
    for code, known in explanations().items():
        if not found.get(code):
            raise ValueError(f"no severity stands beside {code} in the source: see docs/generators/severities.py")
        yield RulePage(code, known.title, known.body, tuple(Severity(one).word for one in found[code]))


def from_policies() -> Iterator[RulePage]:
    """The project's own rules over objects: docstrings and assertions, with the levels of ``policies/policy.yaml``."""
    from modelyard.policy.loading import explained, policies_of

    levels = {"mandatory": "error", "advisory": "warning"}
    settings = policies_of(ROOT).settings.by_code
    for code, known in explained(ROOT).items():
        level = settings[code].level
        yield RulePage(code, known.title, known.body, (levels.get(level, level),))


SOURCES: tuple[Callable[[], Iterable[RulePage]], ...] = (from_explanations, from_policies)


@cache
def known_rules() -> tuple[RulePage, ...]:
    """Every rule, sorted by code."""
    return tuple(sorted(rule for source in SOURCES for rule in source()))


@cache
def families() -> Mapping[str, tuple[str, str]]:
    """Title and introduction of each family, sorted by its letters."""
    from modelyard import explanations

    pages = ROOT / "modelyard" / "explanations"
    texts = {one: (pages / f"{one}.md").read_text(encoding="utf-8") for one in explanations.families()}
    return {
        one: (words, texts[one].partition("\n")[2].partition("\n## ")[0].strip())
        for one, words in explanations.families().items()
    }


def rule_pages() -> dict[str, str]:
    """The pages by path below docs/."""
    return {f"{FOLDER}/{rule.code}.md": _rule_page(rule) for rule in known_rules()}


def _rule_page(rule: RulePage) -> str:
    from modelyard.stack.waivers import UNWAIVABLE
    from modelyard.stack.words import listed

    words = families()[rule.family][0]
    facts = [
        f"**{listed(rule.severities).capitalize()}**",
        f"[{rule.family}: {words}](../reference/findings.md#{anchor(f'{rule.family}: {words}')})",
        "cannot be waived" if rule.code.startswith(UNWAIVABLE) else "[can be waived](../guides/stack-files.md#waivers)",
        f"`modelyard explain {rule.code}`",
    ]
    return page(f"{rule.code} {rule.title}", " · ".join(facts), rule.body)


def findings() -> str:
    """The page that lists every code by family."""
    rules = known_rules()
    parts: list[str] = []
    for family, (words, introduction) in families().items():
        rows = [
            (f"[{rule.code}](../{FOLDER}/{rule.code}.md)", ", ".join(rule.severities), rule.title)
            for rule in rules
            if rule.family == family
        ]
        parts += [f"## {family}: {words}", "", introduction, "", *table(("code", "severity", "title"), rows), ""]
    return page(
        "Findings",
        "A finding has a code, a severity, an address and a remedy. Errors stop an apply and set the exit code to 1, "
        "or to 2 if a stack cannot be planned; warnings and notes do not. An error about values that no patch of the "
        "stack changes is shown as a warning. Each code has a page with the reason, an example and the fix; `modelyard "
        "explain CODE` prints the same. You can accept many findings with a "
        "[waiver](../guides/stack-files.md#waivers); the page of a code shows whether you can.",
        "Codes are never reused, so the address of a page is permanent: `rules/CODE.html` on the site.",
        parts,
    )
