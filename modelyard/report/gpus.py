"""The table of cards as text and as JSON."""

from collections.abc import Iterable
from typing import Any

from modelyard.hardware.table import Row
from modelyard.report.json import record
from modelyard.report.style import PLAIN, Style, table, wrapped


def gpus_text(rows: Iterable[Row], style: Style = PLAIN) -> list[str]:
    """One line a card, with its dense FP16 tensor throughput. A ``?`` marks a number nobody verified."""
    shown = list(rows)
    lines = table(
        (
            (
                row.supported,
                row.id,
                row.name.removeprefix("NVIDIA ").partition(" (")[0],
                _number(row) + ("?" if row.tflops_mark else ""),
                f"{row.memory_gb} GB" + ("?" if row.memory_mark else ""),
                row.nvlink + ("?" if row.nvlink_mark else ""),
                row.compute + ("?" if row.compute_mark else ""),
                row.rule,
            )
            for row in shown
        ),
        ("OK?", "CARD", "NAME", "TFLOPS", "MEMORY", "NVLINK", "SM", "DECIDED BY"),
        style,
    )
    marked = [lines[0], *(_paint(line, row, style) for line, row in zip(lines[1:], shown, strict=True))]
    return [*marked, "", style.dim("? unverified or from a weak source. modelyard gpus CARD tells why and from where.")]


def card_text(rows: Iterable[Row], style: Style = PLAIN) -> list[str]:
    """Everything about single cards."""
    lines: list[str] = []
    for row in rows:
        lines.append(style.bold(f"{row.id}  {row.name}"))
        facts = (
            ("supported", row.supported + f" ({row.rule})"),
            ("why", row.why),
            ("FP16 tensor", f"{_number(row)} dense TFLOPS{_mark(row.tflops_mark)}"),
            ("memory", f"{row.memory_gb} GB{_mark(row.memory_mark)}"),
            ("NVLink", row.nvlink + _mark(row.nvlink_mark)),
            ("compute", row.compute + _mark(row.compute_mark) + f", {row.arch}"),
            ("node labels", ", ".join(row.products) or "none known"),
            ("note", row.note),
        )
        for name, value in facts:
            if value:
                lines.extend(wrapped(value, 16, first=f"  {name}"))
        lines.append("")
    return lines[:-1]


def gpus_document(rows: Iterable[Row]) -> dict[str, Any]:
    """The table for machines; null is unknown, never zero."""
    return {"formatVersion": 1, "cards": [{**record(row), "products": list(row.products)} for row in rows]}


def _number(row: Row) -> str:
    return "unknown" if row.tflops is None else f"{row.tflops:g}"


def _mark(mark: str) -> str:
    return f" ({mark})" if mark else ""


def _paint(line: str, row: Row, style: Style) -> str:
    paint = {"yes": style.added, "no": style.removed}.get(row.supported, style.changed)
    return paint(line[:3]) + line[3:]
