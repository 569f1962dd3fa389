"""Findings about a field of a target, placed on the line of the stack file or of the patch that sets it."""

from collections.abc import Iterable, Mapping
from typing import Any

from modelyard.catalog import Library, PatchVersion
from modelyard.catalog.places import line_of, target_line
from modelyard.findings import Finding, Severity
from modelyard.kube import merge
from modelyard.plan.values import TargetPlan
from modelyard.stack.config import Config, Stack
from modelyard.workloads.facts.jobs import places_of_deployments
from modelyard.workloads.facts.notebooks import places_of_servers

_META, _TEMPLATE = "/meta.yaml", "/patch.yaml.j2"


def place_in_stack(finding: Finding, stack: Stack, places: Mapping[str, tuple[str | int, ...]]) -> Finding:
    """The finding with the line of the stack file that has its target, where one line there is what it is made of.

    The target is then what people wrote; the patch is the same for all of them. Notes stay as they are.
    """
    if finding.file or finding.severity is Severity.ADVICE or finding.target not in places:
        return finding
    return stack.place(finding, *places[finding.target])


def places_in_stack(config: Config) -> Mapping[str, tuple[str | int, ...]]:
    """By the name of a target, the entry of a list of the stack file that it is made of."""
    return {**places_of_deployments(config), **places_of_servers(config)}


def place_in_patch(finding: Finding, library: Library, targets: Iterable[TargetPlan]) -> Finding:
    """The finding with the line of the patch's file that it is about, where it names one or a patch sets its field.

    A finding that has a line keeps it. Notes stay with their stack: they are many, and nobody has to go there.
    """
    if finding.line or finding.severity is Severity.ADVICE or not (finding.file or finding.target):
        return finding
    patches = [patch for versions in library.patches.values() for patch in versions.values()]
    if finding.file:
        folder, _, name = finding.file.rpartition("/")
        about = next((patch for patch in patches if patch.file == folder), None)
        return finding if about is None else finding._replace(line=_line(about, f"/{name}", finding))
    patch = _setter(finding, {one.id: one for one in patches}, targets)
    if patch is None:
        return finding
    return finding._replace(file=f"{patch.file}{_TEMPLATE}", line=line_of(patch.template, _path(finding.field)))


def _line(patch: PatchVersion, name: str, finding: Finding) -> int:
    if name == _META:
        return line_of(patch.meta_text, finding.field.split(".")) or line_of(patch.meta_text, ("overrides",)) or 1
    if name != _TEMPLATE:
        return 0
    if finding.field:
        return line_of(patch.template, _path(finding.field))
    kind = line_of(patch.template, ("kind",)) if finding.code == "PAT008" else 0
    return kind or target_line(patch.template, finding.target)


def _setter(
    finding: Finding, patches: Mapping[str, PatchVersion], targets: Iterable[TargetPlan]
) -> PatchVersion | None:
    """The patch that changes the field of the target that a finding is about."""
    for target in targets:
        if target.name == finding.target:
            for change in target.changes:
                if str(change.path) == finding.field:
                    return patches.get(change.patch or "")
    return None


def _path(field: str) -> tuple[Any, ...]:
    try:
        return tuple(merge.Path.parse(field))
    except ValueError:
        return ()
