"""Queries of every kind over ``prometheus_server.METRICS``, in the PromQL of Debian's Prometheus."""

from collections.abc import Callable

from hypothesis import strategies as st

from tests.lab.support.prometheus_server import QUEUE

MATCHERS = (
    'State="RUNNING"', 'State!~"FINISHED|FAILED"', 'State=~".+"', 'State=~"R.*"', 'State=""', 'job="exporter"',
    f'queue="{QUEUE}"', 'queue="mail"', 'queue=~"mail|none"', 'queue!="mail"', 'vhost!~".+"', 'le="1"', 'Name!~"(a|b)"',
)  # fmt: skip
METRICS = (
    "ray_tasks", "rabbitmq_queue_messages_ready", "rabbitmq_queue_messages_unacked", "idle", "broken", "jobs_total",
    "wait_seconds_bucket", "nothing",
)  # fmt: skip
LABELS = ("queue", "State", "instance", "job", "vhost", "le", "none")
WINDOWS = ("1s", "3s", "10s", "5m")
EACH = ("abs", "ceil", "exp", "floor", "ln", "sgn", "sqrt", "round", "sort", "sort_desc", "timestamp", "cos", "hour")
OVER = (
    "rate", "increase", "irate", "delta", "idelta", "deriv", "changes", "resets", "avg_over_time", "max_over_time",
    "min_over_time", "sum_over_time", "count_over_time", "last_over_time", "present_over_time", "stddev_over_time",
    "absent_over_time",
)  # fmt: skip
AGGREGATIONS = ("sum", "avg", "min", "max", "count", "group", "stddev", "stdvar")
ARITHMETIC = ("+", "-", "*", "/", "%", "^", "atan2")
COMPARISONS = ("==", "!=", ">", ">=", "<", "<=")
KINDS = (
    "selector", "number", "each", "over", "quantile", "predict", "aggregate", "top", "values", "clamp", "label",
    "absent", "histogram", "scalar", "minus", "set", "set", "arithmetic", "compare", "between", "between", "group",
)  # fmt: skip
NUMBERS = ("0", "1", "-2", "0.5", "NaN", "+Inf", "time()", "pi()")


class Writer:
    """Writes one query: ``choose`` picks each part, and ``fuel`` limits the depth."""

    def __init__(self, choose: Callable[[tuple[str, ...]], str], fuel: int) -> None:
        self.choose = choose
        self.fuel = fuel

    def some(self, choices: tuple[str, ...]) -> str:
        """Up to two of the choices, joined with commas."""
        return ",".join({self.choose(("", *choices)), self.choose(("", *choices))} - {""})

    def selector(self) -> str:
        return f"{self.choose(METRICS)}{{{self.some(MATCHERS)}}}"

    def scalar(self) -> str:
        if self.choose(("number", "number", "truth")) == "number":
            return self.choose(NUMBERS)
        return f"({self.choose(('0', '1', '2'))} {self.choose(COMPARISONS)} bool {self.choose(('0', '1', '2'))})"

    def grouping(self) -> str:
        word = self.choose(("", "by", "without"))
        return f"{word} ({self.some(LABELS)}) " if word else ""

    def matching(self) -> str:
        word = self.choose(("", "on", "ignoring"))
        return f"{word} ({self.some(LABELS)})" if word else ""

    def window(self) -> str:
        if self.choose(("range", "subquery")) == "range":
            return f"{self.selector()}[{self.choose(WINDOWS)}]"
        return f"({self.vector()})[{self.choose(WINDOWS)}:{self.choose(('1s', '2s'))}]"

    def vector(self) -> str:
        self.fuel -= 1
        if self.fuel < 0:
            return self.selector()
        return self.written(self.choose(KINDS))

    def written(self, kind: str) -> str:
        match kind:
            case "selector":
                return self.selector() + self.choose(("", " offset 1s", " offset 1d"))
            case "number":
                return f"vector({self.scalar()})"
            case "each":
                return f"{self.choose(EACH)}({self.vector()})"
            case "over":
                return f"{self.choose(OVER)}({self.window()})"
            case "quantile":
                return f"quantile_over_time({self.scalar()}, {self.window()})"
            case "predict":
                return f"predict_linear({self.window()}, {self.scalar()})"
            case "aggregate":
                return f"{self.choose(AGGREGATIONS)} {self.grouping()}({self.vector()})"
            case "top":
                number = self.choose(("0", "1", "2", "3"))
                return f"{self.choose(('topk', 'bottomk'))} {self.grouping()}({number}, {self.vector()})"
            case "values":
                return f'count_values {self.grouping()}("{self.choose(("v", "queue"))}", {self.vector()})'
            case "clamp":
                if self.choose(("one", "two")) == "two":
                    return f"clamp({self.vector()}, {self.scalar()}, {self.scalar()})"
                return f"{self.choose(('clamp_min', 'clamp_max'))}({self.vector()}, {self.scalar()})"
            case "label":
                if self.choose(("replace", "join")) == "join":
                    return f'label_join({self.vector()}, "new", "-", "queue", "State")'
                return f'label_replace({self.vector()}, "{self.choose(("queue", "new"))}", "x", "", "")'
            case "absent":
                return f"absent({self.vector()})"
            case "histogram":
                return f"histogram_quantile({self.scalar()}, {self.vector()})"
            case "scalar":
                return f"vector(scalar({self.vector()}))"
            case "minus":
                return f"-({self.vector()})"
            case "set":
                operator = self.choose(("and", "or", "unless"))
                return f"({self.vector()} {operator} {self.matching()} {self.vector()})"
            case "arithmetic":
                return f"({self.vector()} {self.choose(ARITHMETIC)} {self.scalar()})"
            case "compare":
                sides = (self.vector(), self.scalar())
                left, right = sides if self.choose(("as", "turned")) == "as" else sides[::-1]
                return f"({left} {self.choose(COMPARISONS)} {self.choose(('', 'bool'))} {right})"
            case "between":
                operator = self.choose((*ARITHMETIC, *COMPARISONS, *(f"{one} bool" for one in COMPARISONS)))
                return f"({self.vector()} {operator} {self.matching()} {self.vector()})"
            case _:
                matching = f"{self.choose(('on', 'ignoring'))} ({self.some(LABELS)})"
                side = self.choose(("group_left", "group_right"))
                return f"({self.vector()} * {matching} {side} ({self.some(('Name',))}) {self.vector()})"


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A query with a few levels."""
    writer = Writer(lambda choices: draw(st.sampled_from(choices)), draw(st.integers(0, 5)))
    return writer.vector()
