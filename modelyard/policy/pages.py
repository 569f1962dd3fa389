"""The page of every rule, made from its docstring or assertion: for ``explain`` and for the documentation."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from modelyard.explanations import Explanation
from modelyard.policy.loading import policies_of
from modelyard.policy.rules import Rule
from modelyard.policy.settings import Setting


def explained(root: Path, base: Path | None = None) -> Mapping[str, Explanation]:
    """The pages of a project's rules by code, sorted, with the project's level and parameters for them.

    Args:
        root: the project.
        base: the project whose Python rules count, None for the project's own.
    """
    settings = policies_of(root, base).settings.by_code
    return {
        code: Explanation(code, setting.rule.title, "\n".join((setting.rule.page, "", *_facts(setting))))
        for code, setting in settings.items()
    }


def _facts(setting: Setting) -> Iterator[str]:
    rule = setting.rule
    yield f"**Level.** `{setting.level}`. Checks {_checks(rule)}. Defined in `{rule.file}`."
    if not rule.params:
        return
    yield ""
    yield "**Parameters.**"
    yield ""
    for name, schema in rule.params.items():
        value = setting.params.get(name)
        now = "not set: the rule does not run" if value is None and name in rule.needs else f"`{_json(value)}`"
        yield f"- `{name}` ({schema.get('type', 'any')}): {_meaning(schema)} In this project: {now}."


def _checks(rule: Rule) -> str:
    if rule.judge_all is not None:
        return "all objects together"
    kinds = ", ".join(sorted(rule.kinds)) or "every object"
    return f"{kinds} of {', '.join(sorted(rule.roles))}" if rule.roles else kinds


def _meaning(schema: Mapping[str, Any]) -> str:
    return str(schema.get("description", "")).rstrip(".") + "."


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
