"""Findings from a real server's answers to the queries of a plan's targets. Loaded only when you name a server."""

import json
import math
import re
from collections.abc import Iterable, Iterator
from datetime import date

from modelyard.findings import Finding, Severity, ordered
from modelyard.plan.autoscaling import queries_of
from modelyard.plan.trace import place_field
from modelyard.plan.values import Plan
from modelyard.probes.prometheus import QueryAnswer, Refused, Server, ask, fetch
from modelyard.promql.labels import NAME
from modelyard.promql.lexer import endless, parts, too_much
from modelyard.promql.parse import NotValid, parse
from modelyard.promql.queries import Query
from modelyard.promql.syntax import Expression, Selector, every
from modelyard.promql.windows import words
from modelyard.stack import waive
from modelyard.stack.config import Stack
from modelyard.stack.words import cut

_SHOWN = 3
"""Series of an answer that a finding shows."""
_GLOBAL = re.compile(r"^global:\n(?:  .*\n)*?  scrape_interval: (\S+)$", re.MULTILINE)
_PLAIN_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}


def check_on_server(server: Server, queries: Iterable[Query], *, scrape_interval: float) -> Iterator[Finding]:
    """The findings about a Prometheus server's answers to each query, and to each metric that the query reads.

    Skips a query that neither modelyard's parser nor the server accepts: the findings about its text cover it.
    ``scrape_interval`` is in seconds, from the stack file.

    Raises:
        ServerError: the server is unreachable.
    """
    for query in queries:
        for part in parts(query.text):
            tree = _tree(part.text)
            answer = ask(server, part.text)
            if isinstance(answer, Refused):
                if tree is not None:
                    yield _refused(query, part.text, answer)
                continue
            yield _answered(query, part.text, answer, tree is not None)
            if tree is not None:
                yield from _metrics(server, query, tree)
                yield from _interval(server, query, tree, scrape_interval)


def _tree(text: str) -> Expression | None:
    if too_much(text) or endless(text):
        return None
    try:
        return parse(text)
    except NotValid:
        return None


def _refused(query: Query, text: str, answer: Refused) -> Finding:
    return Finding(
        "AUT020",
        Severity.ERROR,
        f"the server rejects the query: {answer.words}",
        target=query.target,
        field=query.field,
        detail=_shown(text),
        remedy="correct the query, or run the check against the server that the autoscaler uses",
    )


def _answered(query: Query, text: str, answer: QueryAnswer, valid: bool) -> Finding:
    def finding(code: str, severity: Severity, summary: str, detail: str = "", remedy: str = "") -> Finding:
        found = Finding(code, severity, summary, target=query.target, field=query.field, remedy=remedy)
        return found._replace(detail=detail or _shown(text))

    if answer.series is None or answer.series > 1:
        number = "more series than modelyard reads" if answer.series is None else f"{answer.series} series"
        return finding(
            "AUT021",
            Severity.ERROR,
            f"the query returns {number} now, but an autoscaler takes one number",
            "; ".join(_labelled(labels) for labels in answer.labels[:_SHOWN]),
            "aggregate them: sum(…) or vector(0)",
        )
    if answer.series == 0:
        return finding(
            "AUT022",
            Severity.WARNING,
            "the query returns no value now, not 0",
            remedy="end the query with or vector(0), after sum(…) if its series have labels",
        )
    if answer.kind in ("matrix", "string"):
        matrix = answer.kind == "matrix"
        remedy = f"write a query that returns a number{', such as max_over_time of the window' * matrix}"
        return finding("AUT021", Severity.ERROR, f"the query returns a {answer.kind} now, not a number", remedy=remedy)
    (value,) = answer.values
    if math.isnan(value):
        remedy = "check for a division by 0"
        return finding("AUT022", Severity.WARNING, "the query returns NaN now, which is not above 0", remedy=remedy)
    state = "awake" if value > 0 else "asleep"
    known = "" if valid else ", although Prometheus 3 would reject the query"
    return finding("AUT023", Severity.ADVICE, f"the query returns {value:g} now ({state}){known}")


def _labelled(labels: object) -> str:
    return _shown(json.dumps(labels, ensure_ascii=False, sort_keys=True))


def _metrics(server: Server, query: Query, tree: Expression) -> Iterator[Finding]:
    """Selectors that have matched nothing for a day: behind `or vector(0)` a wrong name looks like no work."""
    for text in sorted({selector_text(node) for node in every(tree) if isinstance(node, Selector)}):
        answer = ask(server, f"count({text}) or count(last_over_time({text}[1d]))")
        if isinstance(answer, QueryAnswer) and answer.series == 0:
            yield Finding(
                "AUT024",
                Severity.WARNING,
                f"the server has had no series of {_shown(text)} for a day",
                target=query.target,
                field=query.field,
                detail="with `or vector(0)`, a misspelled name returns 0 forever",
                remedy="compare names and labels with the exporter's metrics and with the server's list of targets",
            )


def _interval(server: Server, query: Query, tree: Expression, scrape_interval: float) -> Iterator[Finding]:
    """A finding if the server's scrape interval for these series differs from the stack's."""
    real = max(intervals(server, tree), default=None)
    if real is None or math.isclose(real, scrape_interval, rel_tol=0.01):
        return
    slower = real > scrape_interval
    yield Finding(
        "AUT025",
        Severity.WARNING if slower else Severity.ADVICE,
        f"the server scrapes every {words(real)}, but the stack file says {words(scrape_interval)}",
        target=query.target,
        field="autoscaling.scrapeInterval",
        detail="modelyard checked windows and steps of the queries with the stack file's interval",
        remedy=f"set autoscaling.scrapeInterval: {words(real)}",
    )


def intervals(server: Server, tree: Expression) -> frozenset[float]:
    """Seconds between two scrapes of the targets whose series a query reads; only of those that the server reports."""
    texts = sorted({selector_text(node) for node in every(tree) if isinstance(node, Selector)})
    answer = ask(server, f"group by (job) ({' or '.join(texts)})") if texts else None
    jobs = {labels.get("job", "") for labels in answer.labels} if isinstance(answer, QueryAnswer) else set()
    if not jobs:
        return frozenset()
    data = fetch(server, "targets", {"state": "active"})
    targets = data.get("activeTargets") if isinstance(data, dict) else None
    found = set()
    for target in targets if isinstance(targets, list) else ():
        labels = target.get("labels") if isinstance(target, dict) else None
        if isinstance(labels, dict) and labels.get("job") in jobs:
            found.add(seconds(target.get("scrapeInterval")))
    return frozenset(one for one in found or {_configured(server)} if one)


def _configured(server: Server) -> float | None:
    """The default scrape interval from the server's configuration."""
    data = fetch(server, "status/config", {})
    text = data.get("yaml") if isinstance(data, dict) else None
    found = _GLOBAL.search(text) if isinstance(text, str) else None
    return seconds(found[1]) if found else None


def seconds(duration: object) -> float | None:
    """A duration in Prometheus notation, in seconds; None if the text is no duration."""
    if not isinstance(duration, str) or not re.fullmatch(r"(?:\d{1,9}(?:ms|[smhdwy]))+", duration):
        return None
    return sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)(ms|[smhdwy])", duration))


def selector_text(selector: Selector) -> str:
    """A selector as PromQL, without its window and offset."""
    name, left = "", list(selector.matchers)
    if left[0].label == NAME and left[0].operator == "=" and _PLAIN_NAME.fullmatch(left[0].value):
        name = left.pop(0).value
    matchers = ",".join(f"{one.label}{one.operator}{json.dumps(one.value, ensure_ascii=False)}" for one in left)
    return f"{name}{{{matchers}}}" if matchers else name


def _shown(text: str) -> str:
    return cut(" ".join(text.split()), 120)


def answers(stack: Stack, plan: Plan, server: Server, today: date) -> tuple[Finding, ...]:
    """Findings from running the queries of a plan's targets on a server now, placed and waived like the plan's own.

    Raises:
        promql.server.ServerError: the server is unreachable.
    """
    queries = queries_of(stack.config, plan.asked)
    found = check_on_server(server, queries, scrape_interval=stack.config.autoscaling.scrape_interval)
    # The plan does not find these, so their waivers are applied here; it has judged the waivers themselves.
    return ordered(waive((place_field(finding, stack) for finding in found), stack, today)[0])
