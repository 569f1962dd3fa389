"""Everything that is wrong with one query."""

from collections.abc import Iterator

from modelyard.promql import lexer
from modelyard.promql.answer import check_answer, every
from modelyard.promql.infer import infer
from modelyard.promql.matchers import check_parts
from modelyard.promql.parse import NotValid, parse
from modelyard.promql.problems import Kind, Problem, in_order
from modelyard.promql.syntax import Node
from modelyard.promql.windows import LONGEST_JOB, check_windows

_EXCERPT = 80
"""Characters of a query that are shown around a problem."""


def check_query(
    text: str, *, scrape_interval: float | None, longest_window: float = LONGEST_JOB
) -> tuple[Problem, ...]:
    """What is wrong with a query that an autoscaler asks, by place.

    A good one is valid, gives exactly one number whatever series there are, and looks back a sensible time. Queries
    that are joined with ``&`` are judged one by one. Never raises, whatever the text.

    Args:
        text: as it stands in the annotation.
        scrape_interval: seconds between two samples; None leaves out what depends on it.
        longest_window: seconds for which GPUs may stay awake after the last work.
    """
    parts = lexer.parts(text)
    found = []
    if len(parts) > 1:
        found.append(
            Problem(
                Kind.JOINED,
                parts[1].offset - 1,
                f"{len(parts)} queries are joined with `&`, which is no operator of PromQL",
                "only the platform's own autoscaler splits there; each is judged by itself",
                "for any other autoscaler write one query: (…) + (…)",
                "&",
            )
        )
    for part in parts:
        problems = _part(part.text, scrape_interval, longest_window)
        found.extend(problem._replace(offset=part.offset + problem.offset) for problem in problems)
    return in_order(found)


def _part(text: str, scrape_interval: float | None, longest_window: float) -> Iterator[Problem]:
    if reason := lexer.too_much(text):
        yield Problem(Kind.UNJUDGED, 0, f"it is too long to be judged: {reason}", remedy="split it")
        return
    if word := lexer.endless(text):
        words = f"{word.text} is no duration: it is longer than 300 years"
        yield Problem(Kind.INVALID, word.start, f"not valid PromQL: {words}", excerpt=word.text)
        return
    try:
        tree = parse(text)
    except NotValid as refused:
        from modelyard.promql.mistake import mistake

        wrong = mistake(text, str(refused))
        summary, excerpt = f"not valid PromQL: {wrong.words}", _shortened(text[slice(*wrong.span)])
        yield Problem(Kind.INVALID, wrong.span[0], summary, remedy=wrong.remedy, excerpt=excerpt)
        return
    certain = infer(tree, scraped=False).problems
    told = {problem.offset for problem in certain}
    unlikely = [
        problem._replace(kind=Kind.UNLIKELY, detail=f"a scrape gives each series job and instance; {problem.detail}")
        for problem in infer(tree, scraped=True).problems
        if problem.kind is Kind.NEVER and problem.offset not in told
    ]
    # That an answer never changes is no news where a part of it is always empty.
    answer = [problem for problem in check_answer(text, tree) if not (certain and problem.kind is Kind.AWAKE)]
    windows = check_windows(tree, scrape_interval, longest_window)
    problems = [*certain, *unlikely, *answer, *windows, *check_parts(tree)]
    for problem in problems:
        yield problem if problem.excerpt else problem._replace(excerpt=_around(text, tree, problem.offset))


def _around(text: str, tree: Node, offset: int) -> str:
    """The longest part of a query that starts at a place and can be shown."""
    spans = [node.span for node in every(tree) if node.span[0] == offset]
    ends = sorted((end for _, end in spans if end - offset <= _EXCERPT), reverse=True)
    return _shortened(text[offset : ends[0] if ends else offset + _EXCERPT + 1])


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else f"{line[: _EXCERPT - 1]}…"
