"""Remote resources with the machines that are offered for them, as text and as JSON."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import repeat
from typing import Any, NamedTuple

from modelyard.report.json import record
from modelyard.report.style import PLAIN, Style, hanging, safe, table
from modelyard.stack.durations import text as length
from modelyard.stack.jobs import Resource
from modelyard.stack.words import plural
from modelyard.workloads.remote.offers import Offer

SHOWN = 8
"""Offers per resource in the text; JSON has all."""


class RemoteResource(NamedTuple):
    """One remote resource."""

    resource: Resource
    jobs: tuple[str, ...]
    offers: tuple[Offer, ...]
    """The offers, the chosen one first."""
    launcher: str
    """The launcher; empty if nothing is launched."""
    errors: tuple[str, ...] = ()
    """Codes of the errors that keep its jobs from being launched."""


def remote_text(stack: str, resources: Sequence[RemoteResource], style: Style = PLAIN) -> list[str]:
    """Each remote resource with its offers."""
    lines = [f"{safe(stack)}: {plural(len(resources), 'remote resource')}"]
    for one in resources:
        remote = one.resource.remote
        assert remote is not None
        jobs = safe(", ".join(one.jobs)) or "no jobs"
        lines += ["", f"{style.bold(safe(one.resource.name))}  {one.resource.type}  {style.dim(jobs)}"]
        if remote.cluster is not None:
            lines += hanging(f"  on the existing cluster {safe(remote.cluster.controller)}", 4, style.columns)
            continue
        limit = "no limit" if remote.time_limit is None else length(remote.time_limit)
        if one.errors:
            lines.append(f"  {style.error('cannot be launched')}: {', '.join(one.errors)}")
        if not one.offers:
            lines.append("  no offer")
            continue
        head = ("", "PROVIDER", "TYPE", "REGION", "GPUS", "MEMORY", "USD/H", f"USD/{limit}")
        marks = ("" if one.errors else "→", *repeat("", SHOWN - 1))
        lines += table(map(_row, marks, one.offers), head, style, 2)
        if len(one.offers) > SHOWN:
            lines.append(style.dim(f"  … {plural(len(one.offers) - SHOWN, 'more region')}"))
        lines += [
            style.dim(line) for note in _notes(one.offers[:SHOWN]) for line in hanging(f"  {note}", 4, style.columns)
        ]
    return lines


def remote_document(stack: str, file: str, resources: Iterable[RemoteResource]) -> dict[str, Any]:
    """The remote resources as JSON; null is unknown, never zero."""
    return {
        "formatVersion": 1,
        "stack": stack,
        "file": file,
        "resources": [
            {
                "name": one.resource.name,
                "type": one.resource.type,
                "jobs": list(one.jobs),
                "controller": None
                if one.resource.remote is None or one.resource.remote.cluster is None
                else one.resource.remote.cluster.controller,
                "timeLimit": None if one.resource.remote is None else one.resource.remote.time_limit,
                "launcher": one.launcher or None,
                "errors": list(one.errors),
                "offers": [_offer(offer) for offer in one.offers],
            }
            for one in resources
        ],
    }


def _offer(offer: Offer) -> dict[str, Any]:
    made = record(offer)
    return {**made, "usdPerHour": _plain(offer.usd_per_hour), "usdForLimit": _plain(offer.usd_for_limit)}


def _plain(amount: Fraction | None) -> float | None:
    return None if amount is None else round(float(amount), 6)


def _row(mark: str, offer: Offer) -> tuple[str, ...]:
    memory = "unknown" if offer.memory_gib is None else f"{offer.memory_gib:g} GiB"
    gpus = f"{'?' if offer.gpus is None else offer.gpus} × {offer.card}"
    where = offer.region if offer.known else f"{offer.region} ?"
    return (
        mark,
        safe(offer.provider),
        offer.type,
        where,
        gpus,
        memory,
        _usd(offer.usd_per_hour),
        _usd(offer.usd_for_limit),
    )


def _usd(amount: Fraction | None) -> str:
    return "unknown" if amount is None else f"{float(amount):.2f}"


def _notes(offers: Sequence[Offer]) -> list[str]:
    """The dates of the prices, and what is uncertain."""
    priced = sorted({offer.price_date for offer in offers if offer.usd_per_hour is not None})
    notes = []
    if priced:
        notes.append(f"on-demand prices of {', '.join(day or 'an unknown date' for day in priced)}")
    if not all(offer.known for offer in offers):
        notes.append("? availability of the machine in that region is not verified")
    notes += dict.fromkeys(f"unverified: {offer.unverified}" for offer in offers if offer.unverified)
    return notes
