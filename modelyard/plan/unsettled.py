"""Objects that a plan cannot predict, because one of their patches could not be used.

The current settings of such an object are not what the stack asks for. Checking it would report settings that
no user made, and hide the one error behind its consequences.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from modelyard.catalog import Library, PatchVersion, Selected, left_out
from modelyard.findings import Finding, Severity
from modelyard.patterns import regex
from modelyard.stack import codes
from modelyard.stack.config import Stack
from modelyard.workloads import Facts

_TARGET = regex(r"^#\s*target:\s*(.*?)\s*$", re.MULTILINE)
_PARAM = regex(r"\{\{\s*(\w+)\s*\}\}")
_FOLDER = regex(r"patches/([^/]+)/")


class Unsettled(NamedTuple):
    """The objects that are not checked."""

    names: frozenset[str] = frozenset()
    everything: bool = False
    """Whether the object may be any, because a patch's targets are unknown."""

    def __bool__(self) -> bool:
        return self.everything or bool(self.names)

    def holds(self, name: str) -> bool:
        """Whether the object is one of these."""
        return self.everything or name in self.names

    def judges(self, finding: Finding) -> bool:
        """Whether the finding concerns such an object, or a waiver that may be for one."""
        if finding.code == codes.WAIVER_UNUSED:
            return bool(self)
        return bool(finding.target) and self.holds(finding.target)

    def without(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The findings that do not depend on these objects."""
        return (finding for finding in findings if not self.judges(finding))


def patch_errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The errors in patches: as long as there are any, some objects of the stack are unknown."""
    return tuple(one for one in findings if one.code.startswith("PAT") and one.severity is Severity.ERROR)


def unsettled(
    library: Library, stack: Stack, known: Facts, chosen: Iterable[Selected], findings: Iterable[Finding]
) -> Unsettled:
    """The objects that errors in patches leave undecided.

    Args:
        library: the project's patches.
        stack: the stack of the plan.
        known: the stack's facts.
        chosen: the patches that the stack uses.
        findings: the plan's findings, including those about patches.
    """
    wrong = patch_errors(findings)
    if not wrong:
        return Unsettled()
    names = {finding.target for finding in wrong if finding.target}
    chosen = tuple(chosen)
    failed = [(one.patch, one.params.reveal()) for one in chosen if _fails(one, stack.config.platform.mode)]
    broken = {found[1] for finding in library.findings if (found := _FOLDER.match(finding.file)) is not None}
    broken |= {version.partition("/")[0] for version in library.released}
    if any(name not in library.patches for name in broken):
        return Unsettled(frozenset(names), True)
    for patch, params in (*failed, *left_out(library, stack, known, chosen)):
        about = tuple(_targets(patch, params))
        if not about or None in about:
            return Unsettled(frozenset(names), True)
        names.update(name for name in about if name is not None)
    return Unsettled(frozenset(names))


def _fails(one: Selected, mode: str) -> bool:
    if one.render().findings:
        return True
    whole = one.patch.owns(mode) and None not in one.params.reveal().values()
    return whole and bool(one.render_base().findings)


def _targets(patch: PatchVersion, params: Mapping[str, Any]) -> Iterator[str | None]:
    """The objects that a patch's template names, without rendering it; None for a name that needs rendering."""
    for text in _TARGET.findall(patch.template):
        param = _PARAM.fullmatch(text)
        value = params.get(param[1]) if param is not None else None if "{" in text else text
        yield value if isinstance(value, str) else None
