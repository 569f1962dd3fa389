"""A plan's patches as files for other tools."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from modelyard.catalog import PatchDocument, PatchVersion
from modelyard.findings import Finding
from modelyard.kube.state import essence
from modelyard.plan import Plan
from modelyard.plan.store import finding_to_json
from modelyard.plan.undo.ledger import without_ledger
from modelyard.report.unified import yaml_text


class RenderedRemote(NamedTuple):
    """The place of a remote cluster's files among a stack's files."""

    name: str
    context: str
    """The context by which the plan reaches it."""
    namespace: str
    folder: str
    """The folder, relative to the stack's."""


class RenderedStack(NamedTuple):
    """One stack's files by relative name."""

    name: str
    files: Mapping[str, str]
    findings: tuple[Finding, ...]
    """What to know before another tool applies the files."""
    remotes: tuple[RenderedRemote, ...] = ()


def rendered_remotes(plan: Plan) -> tuple[RenderedRemote, ...]:
    """The remote clusters that have files."""
    return tuple(
        RenderedRemote(one.remote, one.context or "", one.namespace, f"remotes/{one.remote}")
        for one in plan.remotes
        if one.asked
    )


def vendor_files(plan: Plan, documents: Iterable[tuple[PatchVersion, PatchDocument]]) -> dict[str, str]:
    """One file per document, numbered in the order in which they are applied, each with its ``# target:`` line.

    A remote cluster has nothing to patch, so it gets one file per object, whole and numbered in the same way, in
    ``remotes/NAME``.
    """
    rank = {target.name: index for index, target in enumerate(plan.targets)}
    arranged = sorted(documents, key=lambda item: rank.get(item[1].target, len(rank)))
    files = {
        f"{number:02}-{patch.name}.{patch.version}.{document.target}.yaml": document.text.reveal()
        for number, (patch, document) in enumerate(arranged, 1)
    }
    return files | _of_remotes(plan, _whole_files)


def _whole_files(plan: Plan) -> dict[str, str]:
    """The objects as an apply sends them."""
    return {
        f"{number:02}-{target.key.kind.lower()}-{target.key.name}.yaml": (
            f"# {', '.join(target.patches)}\n" + yaml_text(target.applied.reveal())
        )
        for number, target in enumerate(plan.asked, 1)
    }


def _of_remotes(plan: Plan, files: Callable[[Plan], Mapping[str, str]]) -> dict[str, str]:
    """The files of each remote cluster's plan, each in its own folder."""
    folders = {one.name: one.folder for one in rendered_remotes(plan)}
    of_each = ((folders[one.remote], files(one)) for one in plan.remotes if one.remote in folders)
    return {f"{folder}/{name}": text for folder, found in of_each for name, text in found.items()}


def rendered_document(form: str, folder: str | None, stacks: Iterable[RenderedStack]) -> dict[str, Any]:
    """The files as JSON: their folder, none if they were only printed, and the content of each."""
    return {
        "formatVersion": 1,
        "format": form,
        "folder": folder,
        "stacks": [
            {
                "stack": stack.name,
                "files": [{"name": name, "text": text} for name, text in stack.files.items()],
                "findings": [finding_to_json(finding) for finding in stack.findings],
                **({"remotes": [one._asdict() for one in stack.remotes]} if stack.remotes else {}),
            }
            for stack in stacks
        ],
    }


def kustomize_files(plan: Plan) -> dict[str, str]:
    """A base of the current objects and one patch per target; ``kubectl kustomize`` builds the plan's result from them.

    The base leaves out what the API server adds by itself: status, versions, times. Patches are JSON Patches, because
    kustomize puts new items of a list first and a cluster puts them last, which would change the pod template. Objects
    that the stack creates are separate resources, without a patch. Each remote cluster has its own kustomization,
    ``remotes/NAME``.
    """
    files: dict[str, str] = {}
    resources, patches = [], []
    for target in plan.asked:
        kind = target.key.kind
        name = target.key.name
        stem = f"{name}.yaml" if kind == "Deployment" else f"{kind.lower()}-{name}.yaml"
        live, after = target.before.reveal(), without_ledger(essence(target.after.reveal()))
        if live is None:
            resources.append(stem)
            files[stem] = yaml_text(after)
            continue
        before = without_ledger(essence(live))
        resources.append(f"base/{stem}")
        files[f"base/{stem}"] = yaml_text(before)
        operations = json_patch(before, after)
        if operations:
            patches.append({"path": f"patches/{stem}", "target": {"kind": kind, "name": name}})
            files[f"patches/{stem}"] = f"# {', '.join(target.patches)}\n" + yaml_text(operations)
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
        "patches": patches,
    }
    files["kustomization.yaml"] = yaml_text({key: value for key, value in kustomization.items() if value})
    return files | _of_remotes(plan, kustomize_files)


# The difference of two objects as a JSON Patch (RFC 6902), which every tool applies in the same way.
Operation = dict[str, Any]


def json_patch(before: Any, after: Any) -> list[Operation]:
    """Operations that turn ``before`` into exactly ``after``, order of lists included.

    Items are compared by position; a list that lost items or changed their order is replaced as a whole.
    """
    return list(_operations("", before, after))


def _operations(path: str, before: Any, after: Any) -> Iterator[Operation]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in before:
            if name not in after:
                yield {"op": "remove", "path": _below(path, name)}
        for name, value in after.items():
            if name in before:
                yield from _operations(_below(path, name), before[name], value)
            else:
                yield {"op": "add", "path": _below(path, name), "value": value}
    elif isinstance(before, list) and isinstance(after, list) and _grown(before, after):
        for index, value in enumerate(before):
            yield from _operations(f"{path}/{index}", value, after[index])
        for value in after[len(before) :]:
            yield {"op": "add", "path": f"{path}/-", "value": value}
    elif before != after or type(before) is not type(after):
        yield {"op": "replace", "path": path, "value": after}


def _below(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"


def _grown(before: list[Any], after: list[Any]) -> bool:
    """Whether each item keeps its position, whatever changed inside it; named items are identified by their name."""
    if len(after) < len(before):
        return False

    def identity(item: Any) -> Any:
        return item.get("name", item.get("mountPath")) if isinstance(item, Mapping) else item

    return all(identity(old) == identity(new) for old, new in zip(before, after, strict=False))
