"""What can go wrong between a plan and an autoscaler."""

from collections.abc import Iterable, Iterator

from modelyard.findings import Finding, Severity
from modelyard.plan.values import TargetPlan
from modelyard.stack.config import Config


def check_autoscaling(config: Config, targets: Iterable[TargetPlan]) -> Iterator[Finding]:
    """Findings about queries and about replicas that are given up."""
    if config.autoscaling.mode == "none":
        return
    if config.autoscaling.queries == "vendor":
        yield Finding(
            "AUT001",
            Severity.WARNING,
            "the vendor's autoscaling queries are not valid PromQL",
            field="autoscaling.queries",
            detail="sum(…)[15s] takes a range of an aggregation without a subquery step, and `&` is no operator: "
            "only an autoscaler that splits at `&` can use it; where there is no such queue each half is empty, not 0",
            remedy="set queries: valid, unless the autoscaler is the vendor's own",
        )
    for target in targets:
        spec = target.applied.get("spec", {})
        if target.replicas[1] is None and "replicas" in spec:
            yield Finding(
                "AUT002",
                Severity.ADVICE,
                f"modelyard holds spec.replicas of {target.name} at {spec['replicas']} until an autoscaler sets it",
                target=target.name,
                field="spec.replicas",
                detail="a field that its last owner drops takes the API server's default, which here is a GPU pod that "
                "nobody asked for",
                remedy="nothing to do: the first plan after the autoscaler (or kubectl scale) has set it lets go",
            )
