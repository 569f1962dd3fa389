"""The pool as tables and as JSON."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from modelyard.names import GPU_RESOURCE
from modelyard.report.json import record
from modelyard.report.style import PLAIN, Style, hanging, table
from modelyard.runs.pool import PoolView
from modelyard.runs.pool.usage import METRIC, Usage
from modelyard.runs.pool.values import Idle, NodeUse, PodOwner, ProductUse, QueueUse, QuotaUse, Taker, Waiter
from modelyard.runs.pool.words import age
from modelyard.stack.words import few, plural

MOST_ROWS = 20
"""Rows of a table, unless the user asks for all."""
_ONE_TEAM = "--team T shows only that team's, --json shows all"
_ONE_NODE = "--nodes lists every node, --node NAME shows one"


class RoomRequest(NamedTuple):
    """The user's request, in addition to the pool."""

    stack: str
    now: datetime
    usage: Usage | None
    """None if no server reports what GPUs do."""
    all_nodes: bool = False


def pool_text(view: PoolView, asked: RoomRequest, style: Style = PLAIN) -> list[str]:
    """Products, owners, queues, waiting runs, and nodes; each table has a head, and empty tables are left out."""

    def part(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]], more: str = "") -> list[str]:
        """A table, with at most ``MOST_ROWS`` if ``more`` says how to see the others."""
        shown = rows[:MOST_ROWS] if more else rows
        left = [style.dim(f"and {len(rows) - len(shown)} more: {more}")] if len(shown) < len(rows) else []
        return ["", *([title] if title else []), *table(shown, head, style), *left] if rows else []

    products = ("PRODUCT", "NODES", "GPUS", "TAKEN", "FREE", "IDLE", "UTIL", "QUEUED", "RESOURCE")
    takers = ("TEAM", "WHO", "GPUS", "IDLE", "UTIL", "FOR", "PRODUCT", "NODES")
    quotas = ("TEAM", "FLAVOR", "QUOTA", "USED", "BORROWED", "MAY BORROW", "QUEUED")
    waiters = ("TEAM", "WHO", "GPUS", "FOR", "POSITION", "WAITS FOR")
    nodes = ("NODE", "PRODUCT", "GPUS", "TAKEN", "FREE", "IDLE", "UTIL", "WHO")
    return [
        _summary(view, asked, style),
        *part("", products, _products(view)),
        *part("taken by", takers, _takers(view.takers, asked), _ONE_TEAM),
        *part("quotas", quotas, _queues(view.queues)),
        *part("waiting", waiters, _waiters(view.waiters, asked), _ONE_TEAM),
        *part("nodes", nodes, _nodes(view.nodes), "" if asked.all_nodes else _ONE_NODE),
        *_notes(view, asked, style),
    ]


def _summary(view: PoolView, asked: RoomRequest, style: Style) -> str:
    waits = [f"{view.queued} queued"] if view.queued else []
    whole = [one for one in view.products if not one.slices]
    slices = [one for one in view.products if one.slices]
    parts = [_taken(products, noun) for products, noun in ((whole, "GPU"), (slices, "slice")) if products]
    taken = "; ".join(parts) or "the cluster has no GPU nodes"
    return f"{style.bold(asked.stack)}: {', '.join([taken, *waits])}"


def _taken(products: Sequence[ProductUse], noun: str) -> str:
    """How many of them are taken, free, unreachable and idle."""
    taken = sum(one.taken for one in products)
    closed = sum(one.closed for one in products)
    idle, unknown = sum(one.idle.idle for one in products), sum(one.idle.unknown for one in products)
    parts = [f"{taken} of {plural(sum(one.gpus for one in products), noun)} taken"]
    parts += [f"{sum(one.free for one in products)} free"]
    parts += [f"{closed} on cordoned or unready nodes"] if closed else []
    parts += [f"{idle} idle"] if taken and unknown < taken else []
    return ", ".join(parts)


def _products(view: PoolView) -> list[tuple[str, ...]]:
    return [
        (
            one.product or "-",
            str(one.nodes),
            str(one.gpus),
            str(one.taken),
            str(one.free) + (f" ({one.closed} closed)" if one.closed else ""),
            _idle(one.idle, one.taken),
            _busy(one.idle, one.taken),
            str(one.queued),
            one.resource,
        )
        for one in view.products
    ]


def _takers(takers: Iterable[Taker], asked: RoomRequest) -> list[tuple[str, ...]]:
    return [
        (
            one.owner.team or "-",
            _who(one.owner),
            _amount(one.gpus, one.resource),
            _idle(one.idle, one.gpus),
            _busy(one.idle, one.gpus),
            age(one.since, asked.now),
            one.product or "-",
            few(one.nodes) if one.cluster is None else f"in {one.cluster}",
        )
        for one in takers
    ]


def _queues(queues: Iterable[QueueUse]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for queue in queues:
        for number, quota in enumerate(queue.quotas):
            waits = f"{queue.waiting_gpus} in {plural(queue.waiting, 'workload')}" if queue.waiting else "0"
            rows.append(
                (
                    "" if number else queue.team or queue.name,
                    quota.flavor + ("" if quota.resource == GPU_RESOURCE else f" {quota.resource}"),
                    str(quota.nominal),
                    str(quota.used),
                    str(quota.borrowed),
                    _may_borrow(quota),
                    ("" if number else waits) + (f"; stopped: {queue.stopped}" if queue.stopped and not number else ""),
                )
            )
    return rows


def _may_borrow(quota: QuotaUse) -> str:
    return "what is free" if quota.borrow is None else str(max(0, quota.borrow - quota.borrowed))


def _waiters(waiters: Iterable[Waiter], asked: RoomRequest) -> list[tuple[str, ...]]:
    return [
        (
            one.owner.team or "-",
            _who(one.owner),
            ", ".join(_amount(count, name) for name, count in one.gpus),
            age(one.since, asked.now),
            "-" if one.place is None else str(one.place),
            one.on + (f": {one.reason}" if one.reason else ""),
        )
        for one in waiters
    ]


def _nodes(nodes: Iterable[NodeUse]) -> list[tuple[str, ...]]:
    return [
        (
            one.name,
            one.product or "-",
            _amount(one.gpus, one.resource),
            str(one.taken),
            str(one.free) if one.state == "ready" else one.state,
            _idle(one.idle, one.taken),
            _busy(one.idle, one.taken),
            few([_who(owner) for owner in one.owners]) or "-",
        )
        for one in nodes
    ]


def _notes(view: PoolView, asked: RoomRequest, style: Style) -> list[str]:
    usage, notes = asked.usage, []
    if usage is None:
        notes.append("GPU use is unknown: set a Prometheus server in drain.prometheus or with --metrics URL.")
    elif usage.problem:
        notes.append(f"GPU use is unknown: {usage.problem}.")
    else:
        notes.append(
            f"Idle: taken for {plural(usage.minutes, 'minute')}, and {METRIC} was 0 all the time; util is its average. "
            "Parts of GPUs have no util."
        )
    if not view.kueue and not view.unread:
        notes.append("The cluster has no Kueue, so it has no queues or quotas.")
    if view.unread:
        notes.append(f"These credentials may not read {', '.join(view.unread)}, so queues and teams are incomplete.")
    return ["", *(style.dim(line) for note in notes for line in hanging(note, 0, style.columns))]


def _who(owner: PodOwner) -> str:
    return owner.words if owner.job is not None else f"{owner.namespace}/{owner.name}"


def _amount(count: int, resource: str) -> str:
    return str(count) if resource == GPU_RESOURCE else f"{count} {resource.removeprefix('nvidia.com/')}"


def _idle(idle: Idle, taken: int) -> str:
    if not taken:
        return "0"
    if idle.unknown >= taken:
        return "unknown"
    return f"{idle.idle}, {idle.unknown} unknown" if idle.unknown else str(idle.idle)


def _busy(idle: Idle, taken: int) -> str:
    found = idle.utilisation(taken)
    return "-" if found is None else f"{found}%"


def pool_document(view: PoolView, asked: RoomRequest) -> dict[str, Any]:
    """The pool as JSON; null is unknown, never zero."""
    usage = asked.usage
    return {
        "formatVersion": 1,
        "stack": asked.stack,
        "at": asked.now.isoformat(timespec="seconds"),
        "kueue": view.kueue,
        "unread": list(view.unread),
        "usage": None
        if usage is None
        else {"metric": METRIC, "minutes": usage.minutes, "problem": usage.problem or None},
        "products": [{**record(one), **_used(one.idle, one.taken)} for one in view.products],
        "nodes": [
            {
                **record(one),
                "free": one.free,
                **_used(one.idle, one.taken),
                "owners": [record(owner) for owner in one.owners],
            }
            for one in view.nodes
        ],
        "takers": [
            {
                **record(one),
                "owner": record(one.owner),
                **_used(one.idle, one.gpus),
                "nodes": list(one.nodes),
                "since": one.since or None,
            }
            for one in view.takers
        ],
        "waiting": [
            {**record(one), "owner": record(one.owner), "gpus": dict(one.gpus), "since": one.since or None}
            for one in view.waiters
        ],
        "queues": [{**record(one), "quotas": [record(quota) for quota in one.quotas]} for one in view.queues],
    }


def _used(idle: Idle, taken: int) -> dict[str, int | None]:
    """Idle GPUs, None unless all are known; and the utilisation of the known ones."""
    return {"idle": None if taken and idle.unknown else idle.idle, "utilisation": idle.utilisation(taken)}
