"""Which rules run for a stack, at which level, with which parameters.

A rule's own values come first, then ``policies/policy.yaml`` for the whole project, then ``modelyard:policy`` of the
stack file. Findings of the plan have codes too, and here you can make those stricter, but not weaker: the planner would
refuse the plan all the same, and a waiver records why, until when, and by whom.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from modelyard.findings import MOST_COUNTED, Finding, Severity, first
from modelyard.policy.rules import Level, Params, Rule
from modelyard.policy.shapes import misfits
from modelyard.stack.config import RuleChoice, Stack, StackPath, dotted
from modelyard.stack.words import listed, nearest, plain

Locate = Callable[[Finding, StackPath], Finding]
"""Gives a finding the file and line of a path below ``rules``."""


class RuleSetting(NamedTuple):
    """One rule as it runs."""

    rule: Rule
    level: Level
    params: Params

    def severity(self, own: Severity) -> Severity:
        """The severity of a finding of the rule: the rule's own choice, but at most its level's."""
        return Severity.WARNING if own is Severity.ERROR and self.level == "advisory" else own


class Settings:
    """All rules as they run for a stack, by the kinds that they look at."""

    def __init__(self, settings: Iterable[RuleSetting], raised: Iterable[str] = ()) -> None:
        """Takes every rule, including disabled ones."""
        self.by_code = {setting.rule.code: setting for setting in settings}
        self.raised = frozenset(raised)
        """Codes of the plan whose warnings are errors here."""
        running = [one for one in self.by_code.values() if one.level != "disabled" and can_run(one)]
        self.of_objects = tuple(one for one in running if one.rule.judge_all is not None)
        self._of_one = tuple(one for one in running if one.rule.judge is not None)
        self._by_kind: dict[tuple[str, str], tuple[RuleSetting, ...]] = {}

    def weighed(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Findings of a plan; warnings of a code that is mandatory here become errors."""
        for finding in findings:
            stricter = finding.code in self.raised and finding.severity is Severity.WARNING
            yield finding._replace(severity=Severity.ERROR) if stricter else finding

    def of(self, api_version: str, kind: str) -> tuple[RuleSetting, ...]:
        """The rules that look at one object of a kind."""
        found = self._by_kind.get((api_version, kind))
        if found is None:
            found = tuple(one for one in self._of_one if one.rule.looks_at(api_version, kind))
            self._by_kind[api_version, kind] = found
        return found


def severity_of(level: Level) -> Severity:
    """The severity of a level's findings."""
    return Severity.ERROR if level == "mandatory" else Severity.WARNING


def settings_of(
    rules: Mapping[str, Rule],
    *layers: tuple[Mapping[str, RuleChoice], Locate],
    pending: frozenset[str] = frozenset(),
) -> tuple[Settings, tuple[Finding, ...]]:
    """The rules with what each layer sets, later layers over earlier ones, and the findings about the layers.

    Args:
        rules: by code.
        layers: the settings by code, and the place of their file.
        pending: codes whose rules are about to change: settings that do not fit them are left out without a finding.
    """
    levels: dict[str, Level] = {}
    params: dict[str, dict[str, Any]] = {}
    findings: list[Finding] = []
    raised: set[str] = set()
    for choices, place in layers:
        before = len(findings)
        for code, choice in choices.items():
            if len(findings) - before > MOST_COUNTED:
                break
            wrong = list(_wrong(code, choice, rules))
            if code not in pending:
                findings += [place(finding, path) for finding, path in wrong]
            if wrong:
                continue
            if code not in rules:
                raised.add(code)
                continue
            if choice.level is not None:
                levels[code] = choice.level
            params.setdefault(code, {}).update(choice.params)
        findings[before:] = first(findings[before:])
    settings = (
        RuleSetting(rule, levels.get(code, rule.level), {**rule.defaults, **params.get(code, {})})
        for code, rule in rules.items()
    )
    return Settings(settings, raised), tuple(findings)


def can_run(setting: RuleSetting) -> bool:
    """Whether a rule has all parameters that it compares with."""
    return all(setting.params.get(name) not in (None, [], {}, "") for name in setting.rule.needs)


def _wrong(code: str, choice: RuleChoice, rules: Mapping[str, Rule]) -> Iterator[tuple[Finding, StackPath]]:
    if code in rules:
        if not choice.params:
            return
        try:
            schema = json.dumps({"type": "object", "additionalProperties": False, "properties": rules[code].params})
            found = misfits(dict(choice.params), schema, f"{code}.params")
        except (ValueError, TypeError) as error:
            summary = f"params of {code} are not a JSON Schema: {plain(str(error), 200)}"
            yield _error("POL003", summary, f"correct the rule in {rules[code].file}"), (code, "params")
            return
        for misfit in found:
            yield _error("POL002", misfit.summary, misfit.remedy), (code, "params", *misfit.path)
        return
    from modelyard.explanations import explanations

    known = explanations()
    if code not in known:
        close = nearest(code, [*rules, *known], 0.8)
        remedy = f"did you mean {close}?" if close else "modelyard explain lists all codes"
        yield _error("POL001", f"unknown rule {plain(code)}", remedy), (code,)
    elif code.startswith(("CFG", "PAT", "POL")):
        remedy = "remove it, and correct the file"
        yield _error("POL006", f"{code} is a finding about files, which has no level", remedy), (code,)
    elif choice.level in ("advisory", "disabled"):
        remedy = f"remove it; to accept {code}, write a waiver with a reason, a date and a name"
        summary = f"{code} is a finding of the plan, whose level cannot be lowered to {choice.level}"
        yield _error("POL006", summary, remedy), (code, "level")
    elif choice.params:
        names = listed(sorted(choice.params), "and")
        unknown = "unknown parameter" if len(choice.params) == 1 else "unknown parameters"
        yield _error("POL002", f"{unknown} {plain(names)}: {code} has no parameters", "drop params"), (code, "params")


def _error(code: str, summary: str, remedy: str) -> Finding:
    return Finding(code, Severity.ERROR, summary, remedy=remedy)


class Policies(NamedTuple):
    """All rules of a project, and the project's settings for every stack."""

    rules: Mapping[str, Rule]
    """By code, sorted."""
    settings: Settings
    """For a stack without its own settings."""
    choices: Mapping[str, RuleChoice]
    place: Locate
    findings: tuple[Finding, ...]
    """Findings about the files, and about their differences from the base if the base's Python rules judge."""
    pending: frozenset[str] = frozenset()
    """Codes in changed Python files, if the base's judge: settings for them may fit only the changed files."""
    late: tuple[Finding, ...] = ()
    """The findings among them about assertions that were not read in time."""

    def of_stack(self, stack: Stack) -> tuple[Settings, tuple[Finding, ...]]:
        """The rules as they run for a stack, with its file's settings, and the findings about the settings."""

        def place(finding: Finding, path: StackPath) -> Finding:
            field = dotted(("policy", "rules", *path))
            return stack.place(finding._replace(field=field), "policy", "rules", *path)

        layers = (self.choices, self.place), (stack.config.policy.rules, place)
        return settings_of(self.rules, *layers, pending=self.pending)
