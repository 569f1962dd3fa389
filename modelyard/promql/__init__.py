"""Autoscaling queries, read with a PromQL parser and judged before anybody asks a server.

Owns what is known of PromQL: the parser's tree with places, how many series an expression gives, windows against the
scrape interval, and what a real server answers (``server``). It does not know plans, stacks or the command line, and
reads no files. Only ``parse`` knows the parser.
"""

from modelyard.promql.check import check_query
from modelyard.promql.problems import Kind, Problem

__all__ = ["Kind", "Problem", "check_query"]
