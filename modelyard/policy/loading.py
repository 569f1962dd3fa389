"""The policies of a project: ``policies/rules/*.py``, ``policies/assertions/*.yaml`` and ``policies/policy.yaml``.

A rule's file is Python and runs as such: its author may do what ``modelyard`` may do. Assertions are data.
So the Python may come from another commit than the data: from a reviewed one.

Each rule has a page, made from its docstring or assertion: for ``explain`` and for the documentation.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

from modelyard.explanations import Explanation
from modelyard.files import ReadError, list_folder, read_file
from modelyard.findings import MOST_COUNTED, Finding, Severity, first
from modelyard.names import POLICIES_FOLDER
from modelyard.policy.assertions import load_assertion
from modelyard.policy.changes import changed_rules, codes_in, weaker
from modelyard.policy.judging import BUDGET, SECONDS, kept_apart, time_up
from modelyard.policy.rules import (
    CODE,
    LEVELS,
    PARTS,
    Declared,
    Rule,
    declared_by,
    line_of,
    missing_parts,
    unknown_kind,
)
from modelyard.policy.settings import Locate, Policies, RuleSetting, settings_of
from modelyard.policy.shapes import RULES_SCHEMA, misfits_of_file
from modelyard.stack.config import ROLES, RuleChoice, nearest_place
from modelyard.stack.words import did_you_mean, listed, plain
from modelyard.stack.yaml.document import parse
from modelyard.timelimit import TimeUp

RULES, ASSERTIONS, POLICY = "rules", "assertions", "policy.yaml"
MAX_FILE = 256 * 1024
"""Bytes of the largest file that is read."""


@lru_cache(maxsize=4)
def policies_of(root: Path, base: Path | None = None) -> Policies:
    """The project's policies, read once. A project without the folder has none.

    Args:
        root: the project.
        base: the project at the commit whose Python rules judge; None: the project's own rules judge. With a base, no
            code of the project runs; assertions and ``policy.yaml`` are the project's in any case.
    """
    folder = root / POLICIES_FOLDER
    findings: list[Finding] = []
    rules: dict[str, Rule] = {}
    python = tuple(_python((base or root) / POLICIES_FOLDER, findings))
    changed: tuple[Finding, ...] = ()
    assertions: list[Rule] = []
    late: tuple[Finding, ...] = ()
    at = [f"{POLICIES_FOLDER}/{ASSERTIONS}"]
    try:
        # These files may come from an untrusted author. Each file has its limits, and all together have this one.
        with BUDGET.limit(SECONDS):
            _assertions(folder, assertions, findings, at)
            at.append(f"{POLICIES_FOLDER}/{RULES}")
            changed = changed_rules(base, root, findings) if base is not None else ()
    except TimeUp:
        late = (_late(at[-1]),)
    twice = []
    for rule in (*python, *assertions):
        if rule.code in rules:
            other = rules[rule.code]
            remedy = f"give one of them another code; the other is in {other.file}:{other.line}"
            twice.append(_error(f"two rules have the code {rule.code}", remedy, rule.file, rule.line))
        else:
            rules[rule.code] = rule
    findings += first(twice, what=f"the folder {POLICIES_FOLDER}")
    rules = dict(sorted(rules.items()))
    unlisted = any(finding.file == POLICIES_FOLDER for finding in findings)
    choices, place = _choices(None if unlisted else folder / POLICY, f"{POLICIES_FOLDER}/{POLICY}", findings)
    pending = codes_in(root, changed)
    settings, wrong = settings_of(rules, (choices, place), pending=pending)
    found = Policies(
        rules=rules,
        settings=settings,
        choices=choices,
        place=place,
        findings=(*findings, *late, *wrong),
        pending=pending,
        late=late,
    )
    if base is None:
        return found
    before = policies_of(base)
    # If assertions of the base were not read in time, it is unknown whether they are weaker now.
    unknown = (one._replace(summary=f"at the base, {one.summary}") for one in before.late)
    news = (*changed, *unknown, *weaker(before, found))
    return found._replace(findings=(*found.findings, *news))


def _python(folder: Path, findings: list[Finding]) -> Iterator[Rule]:
    # Rules import their shared code, which must be a file as well.
    every = _files(folder, RULES, ".py", findings)
    readable = [path for path in every if _read(path, f"{POLICIES_FOLDER}/{RULES}/{path.name}", findings) is not None]
    files = [path for path in readable if not path.name.startswith("_")]
    if not files:
        return
    package = ModuleType(f"modelyard_rules_{sha256(str(folder).encode()).hexdigest()[:8]}")
    package.__path__ = [str(folder / RULES)]
    sys.modules[package.__name__] = package
    # Reading a project leaves no trace in it.
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        for path in files:
            shown = f"{POLICIES_FOLDER}/{RULES}/{path.name}"
            module = _module(path, shown, package.__name__, findings)
            if module is None:
                continue
            for value in vars(module).values():
                # A function imported from another file is a rule of that file.
                if getattr(value, "__module__", None) == module.__name__ and declared_by(value) is not None:
                    yield from _rule(value, shown, findings)
    finally:
        sys.dont_write_bytecode = before


def _module(path: Path, shown: str, package: str, findings: list[Finding]) -> ModuleType | None:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(f"{package}.{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        with kept_apart(), BUDGET.limit(SECONDS):
            spec.loader.exec_module(module)
    except TimeUp:
        findings.append(_error(f"{path.name} was still loading {time_up()}", "look for an endless loop", shown))
        return None
    except (Exception, SystemExit) as error:
        line = error.lineno or 0 if isinstance(error, SyntaxError) else line_of(error, path)
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        summary = f"{path.name} cannot be loaded: {type(error).__name__}: {plain(what, 200)}"
        findings.append(_error(summary, "correct the Python of the rule", shown, line))
        return None
    return module


def _rule(function: Any, shown: str, findings: list[Finding]) -> Iterator[Rule]:
    declared = declared_by(function)
    assert declared is not None
    line = function.__code__.co_firstlineno
    summary, _, rest = (function.__doc__ or "").expandtabs().partition("\n")
    page = f"{summary.lstrip()}\n{dedent(rest)}".strip("\n")
    title, _, body = page.partition("\n")
    lacking = missing_parts(body)
    summary, remedy = _misdeclared(declared)
    if not summary and (not title or lacking):
        parts = listed([f"**{part}.**" for part in lacking or PARTS], "and")
        summary = f"the docstring of {declared.code} ({function.__name__}) lacks {'a title and ' * (not title)}{parts}"
        remedy = "write the title on its first line, then the parts in the order Why, Example, Fix"
    if summary:
        findings.append(_error(summary, remedy, shown, line))
        return
    yield Rule(
        code=declared.code,
        title=title.rstrip("."),
        page=body.strip(),
        level=declared.level,
        judge=None if declared.every else function,
        judge_all=function if declared.every else None,
        kinds=declared.kinds,
        roles=declared.roles,
        whole=declared.whole,
        params=declared.params,
        needs=declared.needs,
        file=shown,
        line=line,
    )


def _misdeclared(declared: Declared) -> tuple[str, str]:
    """What is wrong with a decorator's arguments, and what to do; empty if nothing is."""
    code = plain(str(declared.code))
    if not CODE.fullmatch(str(declared.code)):
        return f"{code} is not a valid rule code", "use a code from POL900 to POL999"
    if declared.level not in LEVELS:
        return f"{code} has the unknown level {plain(str(declared.level))}", f"write {listed(LEVELS)}"
    for role in sorted(declared.roles):
        if role not in ROLES:
            remedy = did_you_mean(role, ROLES) or f"write {listed(ROLES)}"
            return f"{code} looks at {plain(role)}, which is not a workload", remedy
    kind, remedy = unknown_kind(declared.kinds)
    if kind:
        return f"{code} looks at {plain(kind)}, which is not a known kind", remedy
    if not isinstance(declared.params, Mapping) or not all(
        isinstance(one, Mapping) for one in declared.params.values()
    ):
        return f"params of {code} does not map each name to a JSON Schema", 'write params={"most": {"type": "integer"}}'
    unknown = sorted(set(declared.needs) - declared.params.keys())
    if unknown:
        return f"{code} needs {plain(unknown[0])}, which is not in its params", "add its schema to params"
    return "", ""


def _assertions(folder: Path, found: list[Rule], findings: list[Finding], at: list[str]) -> None:
    """Adds the project's assertions; appends the path of each to ``at`` before it is read."""
    _misnamed(folder, findings)
    for path in _files(folder, ASSERTIONS, ".yaml", findings):
        shown = f"{POLICIES_FOLDER}/{ASSERTIONS}/{path.name}"
        at.append(shown)
        content = _read(path, shown, findings)
        if content is None:
            continue
        rule, wrong = load_assertion(content, shown)
        findings.extend(wrong)
        if rule is not None:
            found.append(rule)


def _misnamed(folder: Path, findings: list[Finding]) -> None:
    """Adds an error for each file that looks like a policy and that nothing reads under its name."""
    for name, ending, endings in ((ASSERTIONS, ".yaml", (".yaml", ".yml")), (RULES, ".py", (".py",))):
        for path in entries(folder, name, findings):
            shown = f"{POLICIES_FOLDER}/{name}/{path.name}"
            if path.suffix != ending and path.name.casefold().endswith(endings):
                summary = f"{path.name} is ignored: {name} end in {ending}"
                findings.append(_error(summary, f"rename it to {path.stem}{ending}", shown))
            elif name == ASSERTIONS and path.is_dir() and (path.is_symlink() or _has(path, endings)):
                summary = f"{path.name} is a folder, and assertions in it are ignored"
                findings.append(_error(summary, f"move its files to {POLICIES_FOLDER}/{name}", shown))
    findings += [
        _error(f"{path.name} is ignored", f"rename it to {POLICY}", f"{POLICIES_FOLDER}/{path.name}")
        for path in entries(folder, "", findings)
        if path.name != POLICY and path.name.casefold() in (POLICY, "policy.yml")
    ]


def _has(folder: Path, endings: tuple[str, ...]) -> bool:
    return any(name.casefold().endswith(endings) for _, _, names in os.walk(folder) for name in names)


def _late(shown: str) -> Finding:
    """The finding when the time for reading policies is up."""
    return _error(
        f"{shown} was still being read {time_up()}; later files were not read",
        "remove policies, or use shorter patterns with fewer repetitions in assertions",
        shown,
    )


def _choices(path: Path | None, shown: str, findings: list[Finding]) -> tuple[Mapping[str, RuleChoice], Locate]:
    content = _read(path, shown, findings) if path is not None else None
    document, problems = parse(content) if content is not None else (None, ())
    findings += first(
        Finding("POL002", Severity.ERROR, one.message, file=shown, line=one.line, column=one.column, remedy=one.remedy)
        for one in problems
        if not one.harmless
    )

    def placed(finding: Finding, found: tuple[str | int, ...]) -> Finding:
        line, column = nearest_place(document.keys if document is not None else {}, found)
        return finding._replace(file=shown, line=line, column=column)

    def place(finding: Finding, at: tuple[str | int, ...]) -> Finding:
        return placed(finding, ("rules", *at))

    value = document.value if document is not None and document.value is not None else {}
    wrong = misfits_of_file(value, RULES_SCHEMA)
    findings += first(
        placed(Finding("POL002", Severity.ERROR, one.summary, remedy=one.remedy), one.path) for one in wrong
    )
    # What fits counts meanwhile, unless the search for misfits ended early.
    misplaced = {one.path for one in wrong}
    if len(wrong) > MOST_COUNTED or not misplaced.isdisjoint(((), ("rules",))):
        return {}, place
    chosen = {}
    for code, entry in value.get("rules", {}).items():
        if ("rules", code) not in misplaced:
            fitting = {key: one for key, one in entry.items() if ("rules", code, key) not in misplaced}
            chosen[code] = RuleChoice(fitting.get("level"), fitting.get("params", {}))
    return chosen, place


def _files(policies: Path, name: str, suffix: str, findings: list[Finding]) -> list[Path]:
    """The files of a folder of the policies, sorted; none without the folder."""
    return [path for path in entries(policies, name, findings) if path.suffix == suffix]


def entries(policies: Path, name: str, findings: list[Finding]) -> list[Path]:
    """The entries of a folder of the policies, sorted; a folder that cannot be listed is a finding, not an empty
    folder.
    """
    for folder, shown in ((policies, POLICIES_FOLDER), (policies / name, f"{POLICIES_FOLDER}/{name}")):
        try:
            found = list_folder(folder, policies.parent)
        except ReadError as error:
            remedy = f"{error.remedy}: until then its rules are not checked"
            finding = _error(f"{shown} cannot be listed: {error.reason}", remedy, shown)
            if finding not in findings:
                findings.append(finding)
            return []
    return found


def _read(path: Path, shown: str, findings: list[Finding]) -> bytes | None:
    """The content of a file; None if it does not exist, or cannot be read, which is a finding."""
    try:
        # ``shown`` is relative to the project's folder.
        return read_file(path, limit=MAX_FILE, within=path.parents[shown.count("/")])
    except ReadError as error:
        if error.missing:
            return None
        findings.append(_error(f"{path.name} cannot be read: {error.reason}", error.remedy, shown))
        return None


def _error(summary: str, remedy: str, file: str, line: int = 0) -> Finding:
    return Finding("POL003", Severity.ERROR, summary, file=file, line=line, remedy=remedy)


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


def _facts(setting: RuleSetting) -> Iterator[str]:
    rule = setting.rule
    yield f"**Level.** `{setting.level}`. Checks {_checks(rule)}. Defined in `{rule.file}`."
    if not rule.params:
        return
    yield ""
    yield "**Parameters.**"
    yield ""
    for name, schema in rule.params.items():
        value = setting.params.get(name)
        unset = value is None and name in rule.needs
        shown = f"`{json.dumps(value, ensure_ascii=False)}`"
        now = "not set, so the rule runs only in stacks that set it" if unset else shown
        yield f"- `{name}` ({schema.get('type', 'any')}): {_meaning(schema)} In this project: {now}."


def _checks(rule: Rule) -> str:
    if rule.judge_all is not None:
        return "all objects together"
    every = "objects of the `kinds` below" if "kinds" in rule.params else "every object"
    kinds = ", ".join(sorted(rule.kinds)) or every
    return f"{kinds} of {', '.join(sorted(rule.roles))}" if rule.roles else kinds


def _meaning(schema: Mapping[str, Any]) -> str:
    return str(schema.get("description", "")).rstrip(".") + "."
