"""Autoscaling queries: parses PromQL and finds what is wrong before a server is asked.

Owns the positions in a query, what an expression can return, and the findings about it. Does not query a server
(``probes.prometheus`` does), does not read files, and does not know plans.
"""

from modelyard.promql.problems import ProblemKind, QueryProblem
from modelyard.promql.queries import check_query

__all__ = ["ProblemKind", "QueryProblem", "check_query"]
