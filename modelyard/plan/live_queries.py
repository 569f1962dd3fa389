"""What a real Prometheus server says to the queries of a plan. Loaded only where somebody names a server."""

from datetime import date

from modelyard.findings import Finding
from modelyard.plan.autoscaling import queries_of
from modelyard.plan.checks.live_queries import check_on_server
from modelyard.plan.trace import place_field
from modelyard.plan.values import Plan
from modelyard.probes.prometheus import Server
from modelyard.stack import apply_waivers
from modelyard.stack.config import Stack

ANSWERS = "AUT02"
"""What the codes of these findings begin with. A plan does not find them, so their waivers are applied here."""


def answers(stack: Stack, plan: Plan, server: Server, today: date) -> tuple[Finding, ...]:
    """Findings from running the queries of a plan's targets on a server now, placed and waived like the plan's own.

    Raises:
        promql.server.ServerError: the server is out of reach.
    """
    queries = queries_of(stack.config, plan.asked)
    found = check_on_server(server, queries, scrape_interval=stack.config.autoscaling.scrape_interval)
    judged = apply_waivers([place_field(finding, stack) for finding in found], stack, today)
    # What is wrong with waivers themselves the plan has told already.
    return tuple(finding for finding in judged if finding.code.startswith(ANSWERS))
