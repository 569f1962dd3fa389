"""Values of a preview, as small as reports need them."""

from typing import Any

from modelyard.findings import Finding, Severity
from modelyard.kube import merge
from modelyard.plan import FieldChange
from modelyard.preview import Preview, StackDiff, TargetDiff
from modelyard.preview.values import Revision

MEMORY = merge.Path.parse("spec.template.spec.containers[name=worker].resources.limits.memory")


def target(name: str = "deployment-worker", after: Any = "48Gi", **changes: Any) -> TargetDiff:
    fields = (FieldChange(MEMORY, "32Gi", after, "ray-worker@v1"),)
    return TargetDiff(name, "Deployment", "changed", fields, (), 1, (1, 1), (1, 1))._replace(**changes)


def stack(name: str, *targets: TargetDiff, **changes: Any) -> StackDiff:
    made = StackDiff(name, f"stacks/Pulumi.{name}.yaml", "changed", "Ray", targets, (), (), (), False, False)
    return made._replace(**changes)


def preview(*stacks: StackDiff, unchanged: tuple[str, ...] = ()) -> Preview:
    return Preview(Revision("main", "a" * 40), Revision("working tree", "b" * 40), stacks, unchanged)


def finding(summary: str = "too little", **changes: Any) -> Finding:
    return Finding("RES001", Severity.ERROR, summary, stack="dev", file="stacks/Pulumi.dev.yaml", line=3)._replace(
        **changes
    )
