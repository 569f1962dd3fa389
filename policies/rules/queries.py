"""Queries that autoscalers ask."""

from collections.abc import Iterable

from modelyard.policy import Finding, Params, Subject, mapping, rule


@rule(
    "POL111",
    kinds=("ScaledObject", "ScaledJob"),
    params={
        "scrapeInterval": {
            "type": "number",
            "exclusiveMinimum": 0,
            "default": 15,
            "description": "Seconds between two samples in Prometheus, for objects without a stack file.",
        }
    },
)
def keda_queries_are_valid(subject: Subject, params: Params) -> Iterable[Finding]:
    """Queries of KEDA give one number.

    **Why.** KEDA needs one number from Prometheus. With a query that Prometheus rejects, or that returns several series
    or none, KEDA scales to zero or not at all, without a visible error: an empty answer counts as 0, and the trigger as
    ready. A query that fails on every server is an error, one that fails on some servers a warning. The plan itself
    checks the queries of its objects too, with the codes from AUT010 on; what it reports is not reported again.

    **Example.**

    ```yaml
    apiVersion: keda.sh/v1alpha1
    kind: ScaledObject
    metadata: {name: ray-training}
    spec:
      scaleTargetRef: {name: deployment-ray-model-training-worker}
      maxReplicaCount: 2
      triggers:
        - {type: prometheus, metadata: {query: "sum(ray_tasks)[15s]", threshold: "1"}}
    ```

    ```text
    query of ray-training: not valid PromQL: ranges only allowed for vector selectors
    ```

    **Fix.** Write, for example, `max_over_time(sum(ray_tasks)[30m:15s]) or vector(0)`: the subquery has a step, and `or
    vector(0)` is the answer if no series exists.
    """
    from modelyard.promql.queries import Query, check_queries

    # As the plan, which has the same findings about its own objects.
    interval = mapping(subject.facts.get("autoscaling")).get("scrapeInterval")
    triggers = subject.spec.get("triggers")
    for index, trigger in enumerate(triggers if isinstance(triggers, list | tuple) else ()):
        query = mapping(mapping(trigger).get("metadata")).get("query")
        if mapping(trigger).get("type") != "prometheus" or not isinstance(query, str):
            continue
        field = f"spec.triggers[{index}].metadata.query"
        queries = [Query(subject.name, query, field)]
        for found in check_queries(queries, scrape_interval=interval or params["scrapeInterval"]):
            summary = found.summary.replace("query:", f"query of {subject.name}:", 1)
            if interval is None:
                found = found._replace(
                    remedy=found.remedy.replace("autoscaling.scrapeInterval", "scrapeInterval of POL111")
                )
            yield found._replace(summary=summary)
