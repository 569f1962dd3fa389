"""Checks windows, steps and offsets against the scrape interval, for an autoscaler that scales to zero.

A result stays above zero until the last sample above zero leaves the window: the window is how long the GPUs stay
allocated after the work ends. It must hold enough samples to give a result at all, and must not reach further back than
the longest job takes or the server keeps samples.
"""

from collections.abc import Iterator
from typing import Final

from modelyard.promql.functions import FUNCTIONS, Series
from modelyard.promql.infer import DEFAULT_STEP
from modelyard.promql.problems import ProblemKind, QueryProblem
from modelyard.promql.syntax import Expression, FunctionCall, Range, Selector, Span, Subquery, children, every

ENOUGH: Final = 2
"""Scrapes that a window must hold. A rate needs two samples, and one of two may be late or fail."""
RETENTION: Final = 15 * 86400.0
"""Default seconds for which a server keeps samples (``--storage.tsdb.retention.time``, 15d)."""
LOOKBACK: Final = 300.0
"""Seconds after which a sample no longer counts as present (``--query.lookback-delta``, 5m)."""
MOST_STEPS: Final = 11_000
"""Steps of one evaluation: the server's own limit per series of a range query."""
LONGEST_JOB: Final = 6 * 3600.0
"""Seconds. GPUs that wait longer than the longest job takes cost more asleep than awake."""


def check_windows(
    tree: Expression, scrape_interval: float | None, longest: float = LONGEST_JOB
) -> Iterator[QueryProblem]:
    """Yields what is wrong with the windows of a query.

    Args:
        tree: the query's tree.
        scrape_interval: seconds between two samples; None if unknown, which skips the checks that need it.
        longest: seconds of the longest window that is accepted.
    """
    yield from _walk(tree, None, 0.0, late=0.0, interval=scrape_interval, longest=longest)


def _walk(
    node: Expression, caller: FunctionCall | None, reach: float, *, late: float, interval: float | None, longest: float
) -> Iterator[QueryProblem]:
    """Yields problems of a node and below it. ``reach`` and ``late``: seconds of the enclosing windows and offsets."""
    match node:
        case Subquery():
            reach, late = reach + node.window, late + node.offset
            yield from _pinned(node)
            yield from _step(node, interval)
            step = node.step or DEFAULT_STEP
            apart = max(step, interval or 0.0)
            yield from _short(node.span, caller, node.window, apart, "step" if apart == step else "scrape interval")
            yield from _late(node.span, node.offset, late)
            if not any(isinstance(inner, Range | Subquery) for inner in every(node.inner)):
                yield from _too_long(node.span, caller, reach, late, longest)
            yield from _walk(node.inner, None, reach, late=late, interval=interval, longest=longest)
        case Range():
            reach, late = reach + node.window, late + node.selector.offset
            if interval is not None:
                yield from _short(node.span, caller, node.window, interval, "scrape interval")
            yield from _late(node.span, node.selector.offset, late)
            yield from _too_long(node.span, caller, reach, late, longest)
            yield from _pinned(node.selector)
        case Selector():
            late += node.offset
            if interval is not None and interval > LOOKBACK:
                yield QueryProblem(
                    ProblemKind.SHORT,
                    node.span[0],
                    f"samples come every {words(interval)}, but each counts for only {words(LOOKBACK)}",
                    detail="between two scrapes the series is missing from the result",
                    remedy=f"use the newest sample of a window: last_over_time(…[{words(ENOUGH * interval)}])",
                )
            yield from _late(node.span, node.offset, late)
            yield from _pinned(node)
        case _:
            called = node if isinstance(node, FunctionCall) else None
            for child in children(node):
                yield from _walk(child, called, reach, late=late, interval=interval, longest=longest)


def _short(span: Span, caller: FunctionCall | None, window: float, apart: float, of: str) -> Iterator[QueryProblem]:
    if window >= ENOUGH * apart:
        return
    name = caller.function if caller is not None else "it"
    needs = FUNCTIONS[name].samples if name in FUNCTIONS else 1
    holds = "holds at most one sample" if window < apart else "may hold only one sample"
    if needs > 1:
        often = "always" if window < apart else "usually" if window == apart else "sometimes"
        result = f"{name} needs {needs} samples, so the result is {often} empty"
    elif name in FUNCTIONS and FUNCTIONS[name].series is Series.ABSENCE:
        result = f"{name} returns 1 between two samples"
    else:
        result = "if a scrape is late or fails, the result is empty"
    yield QueryProblem(
        ProblemKind.SHORT,
        span[0],
        f"the window of {words(window)} is shorter than two {of}s of {words(apart)}",
        detail=f"it {holds}: {result}",
        remedy=f"widen the window to {words(2 * ENOUGH * apart)} or more"
        + (", or set autoscaling.scrapeInterval to the interval of the server" if of == "scrape interval" else ""),
    )


def _too_long(
    span: Span, caller: FunctionCall | None, reach: float, late: float, longest: float
) -> Iterator[QueryProblem]:
    if reach + late > RETENTION:
        yield QueryProblem(
            ProblemKind.LONG,
            span[0],
            f"it looks {words(reach + late)} back, but a server keeps samples for {words(RETENTION)} by default",
            remedy="shorten the window, which is how long GPUs stay allocated after the work has ended",
        )
    elif reach > longest:
        yield QueryProblem(
            ProblemKind.LONG,
            span[0],
            f"the window keeps GPUs allocated for {words(reach)} after the work has ended",
            detail=f"the longest job takes {words(longest)}",
            remedy="shorten it to the time after which new work is no longer likely, such as 30m",
        )
    if caller is not None and caller.function == "min_over_time" and reach > LOOKBACK:
        yield QueryProblem(
            ProblemKind.LONG,
            span[0],
            f"min_over_time is above 0 only after {words(reach)} of work without a pause",
            detail="one sample of 0 in the window keeps the pods stopped",
            remedy="use max_over_time, which starts pods at once and stops them when the whole window is 0",
        )


def _late(span: Span, offset: float, late: float) -> Iterator[QueryProblem]:
    """Checks an offset together with the enclosing offsets."""
    if offset and late > LOOKBACK:
        yield QueryProblem(
            ProblemKind.LONG,
            span[0],
            f"offset {words(late)} delays the autoscaler's reaction to new work",
            remedy="drop the offset; the window alone delays stopping pods",
        )
    elif offset < 0:
        summary = "the offset looks into the future, which has no samples yet"
        yield QueryProblem(ProblemKind.LONG, span[0], summary, remedy="drop the offset")


def _pinned(node: Selector | Subquery) -> Iterator[QueryProblem]:
    if node.pinned:
        yield QueryProblem(
            ProblemKind.AWAKE,
            node.span[0],
            "@ selects one moment in the past, so the result never changes",
            remedy="drop @ and its time",
        )


def _step(node: Subquery, interval: float | None) -> Iterator[QueryProblem]:
    step = node.step or DEFAULT_STEP
    good = words(interval) if interval else "30s"
    steps = node.window / step
    if steps > MOST_STEPS:
        yield QueryProblem(
            ProblemKind.LONG,
            node.span[0],
            f"the subquery is evaluated {round(steps)} times for each result",
            detail=f"{words(node.window)} in steps of {words(step)}",
            remedy="shorten the window, or widen the step: "
            f"[{words(node.window)}:{words(max(step, node.window / 1000))}]",
        )
    if node.step is None:
        yield QueryProblem(
            ProblemKind.STEP,
            node.span[0],
            "the subquery has no step, so the server uses its evaluation interval, 1m by default",
            remedy=f"write the step: [{words(node.window)}:{good}]",
        )
    elif interval is not None and node.step < interval / 2:
        # Half the interval is the widest step that meets every sample, however late one is.
        yield QueryProblem(
            ProblemKind.STEP,
            node.span[0],
            f"the step of {words(node.step)} is finer than the scrape interval of {words(interval)}",
            detail="every sample is evaluated several times",
            remedy=f"write [{words(node.window)}:{good}]",
        )
    elif step > LOOKBACK:
        yield QueryProblem(
            ProblemKind.STEP,
            node.span[0],
            f"the step of {words(step)} can miss shorter work and detects new work up to {words(step)} late",
            remedy=f"write [{words(node.window)}:{good}]",
        )


def words(seconds: float) -> str:
    """Returns a duration as PromQL writes it: ``1h30m``, ``500ms``."""
    milliseconds = round(seconds * 1000)
    text = ""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        number, milliseconds = divmod(milliseconds, size)
        text += f"{number}{unit}" if number else ""
    return text or "0s"
