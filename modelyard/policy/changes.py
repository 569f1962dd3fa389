"""How a change's policies differ from its base's, when the base's Python rules judge the change."""

import ast
import errno
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from modelyard.files import ReadError, read_file
from modelyard.findings import Finding, Severity
from modelyard.names import POLICIES_FOLDER
from modelyard.policy.rules import CODE, Rule
from modelyard.policy.settings import Policies, RuleSetting, can_run
from modelyard.stack.config import Stack
from modelyard.stack.words import listed
from modelyard.stack.yaml.document import parse

_RULES = f"{POLICIES_FOLDER}/rules"
_ASK = "ask the owner of the policies whether this is intended"
_LARGEST = 256 * 1024
"""Bytes of the largest file that is compared by meaning; larger files are compared by content."""


def changed_rules(base: Path, head: Path, findings: list[Finding]) -> tuple[Finding, ...]:
    """A warning for each file of ``policies/rules``, including subfolders, whose meaning differs from the base.

    Args:
        base: the project at the base.
        head: the project with the change.
        findings: receives findings about what cannot be listed.
    """
    files = sorted({*_below(base, findings), *_below(head, findings)})
    return tuple(_changed(file, head) for file in files if meaning(base / file) != meaning(head / file))


def codes_in(root: Path, changed: Iterable[Finding]) -> frozenset[str]:
    """Codes of rules in changed files."""
    found: set[str] = set()
    for finding in changed:
        content = _content(root / finding.file)
        found.update(re.findall(CODE.pattern, content.decode(errors="replace")) if isinstance(content, bytes) else ())
    return frozenset(found)


def weaker(base: Policies, head: Policies) -> Iterator[Finding]:
    """A warning for each rule that the change removes, weakens or gives other parameters, for every stack."""
    after = head.settings.by_code
    for code, before in base.settings.by_code.items():
        if code not in after and head.late:
            continue  # it may be in a file that was not read, which has a finding
        why, file = _weaker(before, after.get(code), head)
        if why:
            yield _warning("POL008", f"{code} {why}", _ASK, file)
    for code in sorted(base.settings.raised - head.settings.raised):
        summary = f"{code} is mandatory at the base, but not in this change"
        yield _warning("POL008", summary, _ASK, f"{POLICIES_FOLDER}/policy.yaml")


def weaker_in(policies: Policies, before: Stack | None, stack: Stack) -> Iterator[Finding]:
    """A warning for each rule that a stack's file makes weaker than it was at the base.

    Args:
        policies: the policies that judge the stack.
        before: the stack at the base, None for a new stack: compares with the settings for every stack.
        stack: the stack with the change.
    """
    now, _ = policies.of_stack(stack)
    then = policies.settings if before is None else policies.of_stack(before)[0]
    for code, setting in then.by_code.items():
        why, _ = _weaker(setting, now.by_code[code], policies)
        if why:
            yield _of_stack(f"{code} {why}", stack, "policy", "rules", code, "level")
    for code in sorted(then.raised - now.raised):
        yield _of_stack(f"{code} is mandatory at the base, but not in this change", stack, "policy", "rules", code)


def waived(before: Stack | None, stack: Stack) -> Iterator[Finding]:
    """A warning for each finding that a stack newly waives, or waives for longer, than at the base."""
    known = before.config.waivers if before is not None else ()
    for index, one in enumerate(stack.config.waivers):
        like = [old.expires for old in known if old.code == one.code and old.target in (None, one.target)]
        if like and max(like) >= one.expires:
            continue
        words = f"{one.code} is waived until {one.expires}{f' for {one.target}' if one.target else ''}"
        was = f"until {max(like)}" if like else "not at all"
        yield _of_stack(f"{words}; the base waives it {was}", stack, "waivers", index)


def _of_stack(summary: str, stack: Stack, *path: str | int) -> Finding:
    return stack.place(_warning("POL008", summary, _ASK, ""), *path)


def _weaker(before: RuleSetting, after: RuleSetting | None, head: Policies) -> tuple[str, str]:
    """How a rule is weaker than before, and the file that makes it weaker; empty if it is not weaker."""
    if before.level == "disabled" or not can_run(before):
        return "", ""
    if after is None:
        return "is removed", before.rule.file
    policy = f"{POLICIES_FOLDER}/policy.yaml" if after.rule.code in head.choices else after.rule.file
    if after.level == "disabled":
        return f"is disabled; the base has it as {before.level}", policy
    if not can_run(after):
        return f"does not run: {listed(before.rule.needs, 'and')} is no longer set", policy
    if (before.level, after.level) == ("mandatory", "advisory"):
        return "is advisory; the base has it as mandatory", policy
    if before.params != after.params:
        return "has other parameters than at the base", policy
    if _says(before.rule) != _says(after.rule):
        return "checks something different than at the base", after.rule.file
    return "", ""


def _says(rule: Rule) -> tuple[object, ...]:
    """What an assertion checks; for a Python rule, which comes from the base in any case, only its kinds and roles."""
    return getattr(rule.judge, "__self__", None), rule.kinds, rule.roles


def meaning(file: Path) -> object:
    """A file's meaning: for Python the syntax tree, for YAML the values, else the bytes; None without a file."""
    content = _content(file)
    if not isinstance(content, bytes) or len(content) > _LARGEST:
        return content
    if file.suffix == ".py":
        try:
            return ast.dump(ast.parse(content))
        except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
            # SystemError: the time ran out inside the parser, in some versions of Python; the timer fires again.
            return content
    if file.suffix in (".yaml", ".yml"):
        document, problems = parse(content)
        if document is None or problems:
            return content
        try:
            return json.dumps(document.value, sort_keys=True, default=repr)
        except TypeError:  # keys that cannot be sorted
            return content
    return content


def _content(file: Path) -> object:
    """A file's bytes; a value that equals nothing if it is too large to compare; else why it has no content."""
    if os.path.islink(file) and not os.path.isfile(file):  # noqa: PTH113, PTH114 (neither raises)
        return "link", os.readlink(file)  # noqa: PTH115 (only compared)
    try:
        return read_file(file)
    except ReadError as error:
        if error.missing:
            return None
        return object() if error.errno == errno.EFBIG else error.reason


def _below(root: Path, findings: list[Finding]) -> Iterator[str]:
    """Everything below ``policies/rules`` except compiled Python, from the project's root."""
    unlisted: list[OSError] = []
    for folder, folders, files in os.walk(root / _RULES, onerror=unlisted.append):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        folders[:] = [name for name in folders if name != "__pycache__"]
        inside = Path(folder).relative_to(root).as_posix()
        yield from (f"{inside}/{name}" for name in (*files, *links) if not name.endswith(".pyc"))
    for error in unlisted:
        # If a folder cannot be listed, its content gets no separate finding, nor the folder itself a second one.
        shown = os.path.relpath(error.filename, root)
        if not isinstance(error, FileNotFoundError) and not {POLICIES_FOLDER, shown} & {
            finding.file for finding in findings
        }:
            why = (error.strerror or type(error).__name__).lower()
            remedy = "make it a folder that can be read"
            findings.append(
                Finding("POL003", Severity.ERROR, f"{shown} cannot be listed: {why}", file=shown, remedy=remedy)
            )


def _changed(file: str, head: Path) -> Finding:
    there = os.path.lexists(head / file)
    summary = f"{file} {'differs from the base' if there else 'is removed'}; the base's rules judge this change"
    return _warning("POL007", summary, "review it as code: it runs once it is merged (--trust-head runs it now)", file)


def _warning(code: str, summary: str, remedy: str, file: str) -> Finding:
    return Finding(code, Severity.WARNING, summary, file=file, remedy=remedy)
