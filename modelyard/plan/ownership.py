"""The owner of a field, and whether a takeover is safe.

An installer writes a field once, and again only when a person runs the installer. A controller writes a field all the
time, and would overwrite a value that a stack sets. Managers are distinguished by the names that Kubernetes and its
ecosystem use.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

from modelyard.cluster import Claim
from modelyard.findings import Finding, Severity
from modelyard.hiding import hidden
from modelyard.kube.merge import Owner
from modelyard.kube.merge.managed import ownership
from modelyard.kube.state import ClusterState, annotations_of
from modelyard.names import FIELD_MANAGER, STACK_NOTE
from modelyard.plan.values import FieldChange
from modelyard.stack.words import listed

PATCHES_ANNOTATION = "modelyard.dev/patches"
MODE_ANNOTATION = "modelyard.dev/mode"
TAKEN = "OWN001"
"""Code of the finding that a plan takes a field from an installer."""
CONTESTED = "OWN002"
"""Code of the finding that a program writes a field all the time."""
SYNCED = "OWN003"
"""Code of the finding that a GitOps tool writes a field again."""
ENGINE_ANNOTATIONS = {"pulumi.com/patchFieldManager": FIELD_MANAGER, "pulumi.com/patchForce": "true"}
"""The annotations that Pulumi's provider reads on an object: modelyard's field manager name, and permission to take
fields over. The provider sends them as part of the request. Force applies to the whole request; findings report every
field that the request takes."""

Nature = Literal["installer", "controller", "program"]
"""``program``: the default name of a library, used by a controller or by a script that a person runs."""

CONTROLLERS = ("keda", "vpa-", "karpenter", "kueue", "kuberay", "prometheus-adapter")
"""Prefixes of managers that write by themselves."""
WORDS = ("controller", "operator", "autoscaler")
"""Words in the names of other managers that write by themselves."""
MANAGER = "manager"
"""The default program name of operator frameworks: the field manager of an operator that sets no other."""
PROGRAMS = (
    "openapi-generator",
    "swagger-codegen",
    "python-requests",
    "python-httpx",
    "python-urllib3",
    "node-fetch",
    "axios",
    "okhttp",
    "fabric8",
    "kubernetes-client",
    "go-http-client",
)
"""Prefixes of the names that client libraries use where the program sets no name."""

GITOPS = (
    "argocd",
    "argo-cd",
    "kustomize-controller",
    "helm-controller",
    "fluxcd",
    "flux",
    "kapp-controller",
    "fleetagent",
    "configsync",
)
"""Prefixes of installers that run again by themselves: a takeover lasts until their next run."""
INSTALLERS = ("kubectl", "helm", "pulumi", "terraform", *GITOPS)
"""Prefixes of installers; kubectl also scales when a person runs it."""


_NATURES: tuple[Nature, ...] = ("controller", "program")


def stacks_on(state: ClusterState) -> frozenset[str]:
    """The full names of the stacks that have patched objects of a cluster."""
    notes = (annotations_of(body).get(STACK_NOTE) for body in state.objects.reveal().values())
    return frozenset(str(note) for note in notes if note)


def nature(owner: Owner, installers: Collection[str] = ()) -> Nature:
    """Whether an owner writes by itself; ``installers`` are managers that do not, although their names suggest it.

    A manager that uses the scale subresource and is not in ``installers`` is an autoscaler.
    """
    name = owner.manager.lower()
    if owner.manager in installers or (name.startswith(INSTALLERS) and "operator" not in name):
        return "installer"
    if owner.subresource == "scale" or name == MANAGER or name.startswith(CONTROLLERS):
        return "controller"
    if any(word in name for word in WORDS):
        return "controller"
    return "program" if name.startswith(PROGRAMS) else "installer"


def take_over(target: str, change: FieldChange, installers: Collection[str] = ()) -> Iterator[Finding]:
    """The findings for one field that a plan would take from its current owners."""
    owners = tuple(owner for owner in change.owners if owner.manager != FIELD_MANAGER)
    yield _taken(target, str(change.path), owners, installers)
    lost = _lost(change)
    if lost:
        names = " and ".join(sorted({owner.manager for owner in owners})) or "its owner"
        yield Finding(
            "OWN007",
            Severity.WARNING,
            f"{change.path} is a single value for the API server: the values from {names} are lost",
            target=target,
            field=str(change.path),
            detail=f"lost: {lost}",
            remedy="repeat in the patch what must stay, or drop the field from the patch",
        )


def taken_unchanged(
    target: str, live: Mapping[str, Any], claims: Iterable[Claim], installers: Collection[str] = ()
) -> Iterator[Finding]:
    """The findings for fields that a request takes from others without changing them, such as the list item around
    a new field.
    """
    wanted: dict[str, list[Owner]] = {}
    for claim in claims:
        wanted.setdefault(claim.field, []).append(Owner(claim.manager, claim.operation, claim.subresource))
    if not wanted:
        return
    paths = {path.server_text: str(path) for managed in ownership(live) for path in managed.paths()}
    fields = {paths.get(field, field.removeprefix(".")): owners for field, owners in wanted.items()}
    for field, owners in fields.items():
        yield _taken(target, field, owners, installers)


def _lost(change: FieldChange) -> str:
    """What an atomic list or map loses when it is taken over; empty if nothing is lost."""
    before, after = change.before, change.after
    # Findings end up in files and comments. Values are hidden first: the argument before shows which is a secret.
    shown = hidden(before)
    if isinstance(before, list):
        kept = after if isinstance(after, list) else ()
        gone = [text for item, text in zip(before, shown, strict=True) if item not in kept]
    elif isinstance(before, dict):
        names = after if isinstance(after, dict) else ()
        gone = [{name: shown[name]} for name in before if name not in names]
    else:
        return ""
    return json.dumps(gone, ensure_ascii=False)[1:-1]


def _taken(target: str, field: str, owners: Iterable[Owner], installers: Collection[str]) -> Finding:
    owners = tuple(owners)
    who = sorted({owner.manager for owner in owners})
    names = listed(who, "and") if who else ""
    natures = {kind: sorted({one.manager for one in owners if nature(one, installers) == kind}) for kind in _NATURES}
    if controllers := natures["controller"]:
        writers = listed(controllers, "and")
        one = writers if len(controllers) == 1 else "one of them"
        return Finding(
            CONTESTED,
            Severity.ERROR,
            f"{writers} keeps writing {field}" if len(controllers) == 1 else f"{writers} keep writing {field}",
            target=target,
            field=field,
            detail=f"{listed(('modelyard', *controllers), 'and')} would keep overwriting each other",
            remedy=f"drop the patch or its parameter; if {one} is an installer, or a controller that you have "
            "removed, list it under platform.installers",
        )
    if programs := natures["program"]:
        single = len(programs) == 1
        return Finding(
            CONTESTED,
            Severity.WARNING,
            f"{listed(programs, 'and')} may keep writing {field}",
            target=target,
            field=field,
            detail=f"{'a default name' if single else 'default names'} of libraries, perhaps used by a controller, "
            "which would overwrite modelyard's values",
            remedy="if it is a controller, drop the patch or its parameter; if it is a script, list it under "
            "platform.installers"
            if single
            else "if one is a controller, drop the patch or its parameter; list scripts under platform.installers",
        )
    if tools := [name for name in who if name.lower().startswith(GITOPS)]:
        return Finding(
            SYNCED,
            Severity.WARNING,
            f"{listed(tools, 'and')} {'owns' if len(tools) == 1 else 'own'} {field} and will write it again at "
            f"{'its' if len(tools) == 1 else 'their'} next sync",
            target=target,
            field=field,
            remedy=f"configure {listed(tools, 'and')} to ignore the fields that modelyard sets, or change them at "
            "the source",
        )
    return Finding(
        TAKEN,
        Severity.ADVICE,
        f"{_taking(field)}{names}",
        target=target,
        field=field,
        remedy=f"no action needed; a later write by {names} conflicts or resets the value",
    )


def taken_from(finding: Finding) -> str:
    """The owners in a finding ``TAKEN``."""
    return finding.summary.removeprefix(_taking(finding.field))


def _taking(field: str) -> str:
    return f"takes ownership of {field} from "


def other_stack(target: str, live: Mapping[str, Any], stack: str) -> Finding | None:
    """The finding if another stack than ``stack`` has applied the object."""
    holder = annotations_of(live).get(STACK_NOTE)
    # A copy of an object has the annotation too, but none of our fields.
    if holder in (None, stack) or not any(owner.owner.manager == FIELD_MANAGER for owner in ownership(live)):
        return None
    return Finding(
        "OWN015",
        Severity.ERROR,
        f"{target} is already patched by stack {holder}",
        target=target,
        detail=f"stack {stack} and stack {holder} would keep overwriting each other's fields",
        remedy=f"destroy {holder} first, or take the object over with a waiver (modelyard explain OWN015)",
    )


def other_mode(live: Mapping[str, Any], managed: bool) -> bool:
    """Whether an object was applied in the other mode, or has other owners and would be taken over as a whole."""
    mode = annotations_of(live).get(MODE_ANNOTATION)
    return mode != "managed" if managed else mode not in (None, "existing")


def mode_switch(target: str, live: Mapping[str, Any], managed: bool) -> Finding:
    """The finding about an object in the home cluster for which :func:`other_mode` is true."""
    mode = annotations_of(live).get(MODE_ANNOTATION)
    if managed and mode is None:
        mode, summary = (
            "existing",
            f"mode managed would take over every field of {target}, which modelyard did not create",
        )
    else:
        wanted = "managed" if managed else "existing"
        summary = f"mode {wanted} would replace what runs as {target}, applied in mode {mode}"
    return Finding(
        "OWN004",
        Severity.ERROR,
        summary,
        target=target,
        field="platform.mode",
        remedy=f"set platform.mode to {mode}; modelyard explain OWN004 describes how to change the mode",
    )
