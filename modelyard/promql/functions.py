"""How each PromQL function changes the number of series, their labels and their values.

Sources: Prometheus' ``docs/querying/functions.md`` and ``promql/functions.go`` (3.x; except for ``holt_winters``, 2.x
functions behave the same there). A test asks a real server about every function that its version has. A function that
is missing here may return anything.
"""

from enum import Enum
from typing import Final, NamedTuple

from modelyard.promql.values import ANYTHING, AT_LEAST_ONE, NOT_NEGATIVE, ONE, TRUTH, Interval


class Series(Enum):
    """How the series of the answer come from those of the argument."""

    EACH = "each"
    """One for each."""
    SOME = "some"
    """At most one for each: only histograms, or only where the data allows it."""
    ONE = "one"
    """Exactly one, without labels."""
    NUMBER = "number"
    """A scalar: a number without series."""
    WINDOW = "window"
    """One for each that has enough samples in the window."""
    ABSENCE = "absence"
    """One if the argument has none, none if it has some."""
    BUCKETS = "buckets"
    """At most one for each set of buckets: the label ``le`` is dropped."""


class Function(NamedTuple):
    """One function."""

    series: Series
    values: Interval = ANYTHING
    samples: int = 0
    """Samples that a window must hold for an answer."""
    keeps_name: bool = False
    keeps_values: bool = False
    """Whether the values are those of the argument, possibly fewer."""
    experimental: bool = False
    """Whether the server needs ``--enable-feature=promql-experimental-functions``."""


def _of_each(values: Interval = ANYTHING, **rest: bool) -> Function:
    return Function(Series.EACH, values, **rest)


def _window(samples: int, values: Interval = ANYTHING, **rest: bool) -> Function:
    return Function(Series.WINDOW, values, samples, **rest)


_UNIT = Interval(-1.0, 1.0)
_DATES: Final = {
    "day_of_month": (1, 31),
    "day_of_week": (0, 6),
    "day_of_year": (1, 366),
    "days_in_month": (28, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "month": (1, 12),
}
"""Functions of a moment, with their minimum and maximum. Without an argument they use the current time."""

FUNCTIONS: Final[dict[str, Function]] = {
    # Numbers in, numbers out; the metric's name is dropped. NaN stays NaN.
    "abs": _of_each(NOT_NEGATIVE),
    "acos": _of_each(NOT_NEGATIVE),
    "acosh": _of_each(NOT_NEGATIVE),
    "asin": _of_each(),
    "asinh": _of_each(),
    "atan": _of_each(),
    "atanh": _of_each(),
    "ceil": _of_each(),
    "clamp": _of_each(),  # none if the minimum exceeds the maximum: see ``calls``
    "clamp_max": _of_each(),
    "clamp_min": _of_each(),
    "cos": _of_each(_UNIT),
    "cosh": _of_each(Interval(1.0, ANYTHING.high)),
    "deg": _of_each(),
    "exp": _of_each(NOT_NEGATIVE),
    "floor": _of_each(),
    "ln": _of_each(),
    "log10": _of_each(),
    "log2": _of_each(),
    "rad": _of_each(),
    "round": _of_each(),
    "sgn": _of_each(_UNIT),
    "sin": _of_each(_UNIT),
    "sinh": _of_each(),
    "sqrt": _of_each(NOT_NEGATIVE),
    "tan": _of_each(),
    "tanh": _of_each(_UNIT),
    "timestamp": _of_each(NOT_NEGATIVE),
    "year": _of_each(),
    **{name: _of_each(Interval(float(low), float(high))) for name, (low, high) in _DATES.items()},
    # The input series in another order, or with other labels (``calls`` knows which).
    "sort": _of_each(keeps_name=True, keeps_values=True),
    "sort_desc": _of_each(keeps_name=True, keeps_values=True),
    "sort_by_label": _of_each(keeps_name=True, keeps_values=True, experimental=True),
    "sort_by_label_desc": _of_each(keeps_name=True, keeps_values=True, experimental=True),
    "label_join": _of_each(keeps_name=True, keeps_values=True),
    "label_replace": _of_each(keeps_name=True, keeps_values=True),
    # With a second argument, a series without a matching info metric is left out.
    "info": Function(Series.SOME, keeps_name=True, keeps_values=True, experimental=True),
    # Windows. Rates and slopes need two samples.
    "avg_over_time": _window(1, keeps_values=True),
    "changes": _window(1, NOT_NEGATIVE),
    "count_over_time": _window(1, AT_LEAST_ONE),
    "delta": _window(2),
    "deriv": _window(2),
    "double_exponential_smoothing": _window(2, experimental=True),
    "first_over_time": _window(1, keeps_name=True, keeps_values=True, experimental=True),
    "idelta": _window(2),
    "increase": _window(2, NOT_NEGATIVE),
    "irate": _window(2, NOT_NEGATIVE),
    "last_over_time": _window(1, keeps_name=True, keeps_values=True),
    "mad_over_time": _window(1, NOT_NEGATIVE, experimental=True),
    "max_over_time": _window(1, keeps_values=True),
    "min_over_time": _window(1, keeps_values=True),
    "predict_linear": _window(2),
    "present_over_time": _window(1, ONE),
    "quantile_over_time": _window(1),
    "rate": _window(2, NOT_NEGATIVE),
    "resets": _window(1, NOT_NEGATIVE),
    "stddev_over_time": _window(1, NOT_NEGATIVE),
    "stdvar_over_time": _window(1, NOT_NEGATIVE),
    "sum_over_time": _window(1),
    "ts_of_first_over_time": _window(1, NOT_NEGATIVE, experimental=True),
    "ts_of_last_over_time": _window(1, NOT_NEGATIVE, experimental=True),
    "ts_of_max_over_time": _window(1, NOT_NEGATIVE, experimental=True),
    "ts_of_min_over_time": _window(1, NOT_NEGATIVE, experimental=True),
    # Whether series exist.
    "absent": Function(Series.ABSENCE, ONE),
    "absent_over_time": Function(Series.ABSENCE, ONE),
    # Histograms. Native ones hold their own buckets; other samples are left out.
    "histogram_avg": Function(Series.SOME),
    "histogram_count": Function(Series.SOME, NOT_NEGATIVE),
    "histogram_fraction": Function(Series.BUCKETS, TRUTH._replace(maybe_nan=True)),
    "histogram_quantile": Function(Series.BUCKETS),
    "histogram_quantiles": Function(Series.BUCKETS, experimental=True),
    "histogram_stddev": Function(Series.SOME, NOT_NEGATIVE),
    "histogram_stdvar": Function(Series.SOME, NOT_NEGATIVE),
    "histogram_sum": Function(Series.SOME),
    "start_timestamp": Function(Series.SOME, NOT_NEGATIVE, experimental=True),
    # Between numbers and series. ``vector`` keeps its number.
    "vector": Function(Series.ONE, keeps_values=True),
    "scalar": Function(Series.NUMBER),
    # Numbers of the current moment.
    "end": Function(Series.NUMBER, experimental=True),
    "max_of": Function(Series.NUMBER, experimental=True),
    "min_of": Function(Series.NUMBER, experimental=True),
    "pi": Function(Series.NUMBER, Interval(3.0, 4.0, False)),
    "range": Function(Series.NUMBER, NOT_NEGATIVE, experimental=True),
    "start": Function(Series.NUMBER, experimental=True),
    "step": Function(Series.NUMBER, NOT_NEGATIVE, experimental=True),
    "time": Function(Series.NUMBER, Interval(1.0, ANYTHING.high, False)),
}

UNKNOWN: Final = Function(Series.SOME)
"""Stands for a function that is missing in the table."""

EXPERIMENTAL_AGGREGATIONS: Final = frozenset({"limitk", "limit_ratio"})
"""Aggregations that need the feature flag too."""
AGGREGATIONS: Final = (
    *("sum", "avg", "min", "max", "count", "group", "stddev", "stdvar", "topk", "bottomk", "count_values", "quantile"),
    *sorted(EXPERIMENTAL_AGGREGATIONS),
)
"""All aggregations of PromQL."""
