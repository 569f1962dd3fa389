"""A plan's patches as files for other tools."""

from collections.abc import Iterable

from modelyard.catalog import Selected, render
from modelyard.cluster import essence
from modelyard.plan import Plan
from modelyard.report.json6902 import json_patch
from modelyard.report.unified import yaml_text


def vendor_files(plan: Plan, chosen: Iterable[Selected]) -> dict[str, str]:
    """One file a document, numbered in the order in which they are applied, each with its ``# target:`` line."""
    rank = {target.name: index for index, target in enumerate(plan.targets)}
    documents = [(one.patch, document) for one in chosen for document in render(one.patch, one.params).documents]
    documents.sort(key=lambda item: rank.get(item[1].target, len(rank)))
    return {
        f"{number:02}-{patch.name}.{patch.version}.{document.target}.yaml": document.text
        for number, (patch, document) in enumerate(documents, 1)
    }


def kustomize_files(plan: Plan) -> dict[str, str]:
    """A base of the objects as they are and one patch a target; ``kubectl kustomize`` builds it to the plan's after.

    The base leaves out what the API server adds by itself: status, versions, times. Patches are JSON Patches, because
    kustomize puts new items of a list first and a cluster puts them last, which would be another pod template. Objects
    that the stack creates are resources of their own, without a patch.
    """
    files: dict[str, str] = {}
    resources, patches = [], []
    for target in plan.targets:
        kind = target.key.kind
        stem = f"{target.name}.yaml" if kind == "Deployment" else f"{kind.lower()}-{target.name}.yaml"
        if target.before is None:
            resources.append(stem)
            files[stem] = yaml_text(essence(target.after))
            continue
        before, after = essence(target.before), essence(target.after)
        resources.append(f"base/{stem}")
        files[f"base/{stem}"] = yaml_text(before)
        operations = json_patch(before, after)
        if operations:
            patches.append({"path": f"patches/{stem}", "target": {"kind": kind, "name": target.name}})
            files[f"patches/{stem}"] = f"# {', '.join(target.patches)}\n" + yaml_text(operations)
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
        "patches": patches,
    }
    files["kustomization.yaml"] = yaml_text({key: value for key, value in kustomization.items() if value})
    return files
