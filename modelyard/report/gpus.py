"""The table of GPUs as text and as JSON."""

from collections.abc import Iterable, Sequence
from typing import Any

from modelyard.hardware.table import JudgedGpu
from modelyard.names import HARDWARE_FILE
from modelyard.report.json import record
from modelyard.report.style import PLAIN, Style, facts_text, hanging, safe, table

_MARKED = "? unverified or from a weak source. modelyard gpus GPU shows which, and the full reason."


_SPARE = ((110, ("NAME",)), (76, ("NVLINK", "COMPUTE")))
"""Columns that narrower text leaves out: the GPU's id shows its name, and each GPU's own page shows all."""


def gpus_text(rows: Sequence[JudgedGpu], style: Style = PLAIN) -> list[str]:
    """One line per GPU, with its dense FP16 tensor throughput. A ``?`` marks an unverified number."""
    spare = {name for least, names in _SPARE if style.columns < least for name in names}
    cells = [{name: cell for name, cell in _cells(row).items() if name not in spare} for row in rows]
    head = tuple(name for name in _cells(rows[0]) if name not in spare) if rows else ("OK?", "GPU")
    lines = table((one.values() for one in cells), head, style)
    marked = [lines[0], *(_paint(line, row, style) for line, row in zip(lines[1:], rows, strict=True))]
    return [*marked, "", *map(style.dim, hanging(_MARKED, 0, style.columns))]


def _cells(row: JudgedGpu) -> dict[str, str]:
    return {
        "OK?": row.supported,
        "GPU": row.id,
        "NAME": row.name.removeprefix("NVIDIA ").partition(" (")[0],
        "TFLOPS": _number(row) + ("?" if row.tflops_mark else ""),
        "MEMORY": f"{row.memory_gb} GB" + ("?" if row.memory_mark else ""),
        "NVLINK": row.nvlink + ("?" if row.nvlink_mark else ""),
        "COMPUTE": row.compute + ("?" if row.compute_mark else ""),
        "WHY": row.brief + (f" ({HARDWARE_FILE})" if row.source else ""),
    }


def gpu_text(rows: Iterable[JudgedGpu], style: Style = PLAIN) -> list[str]:
    """All data of single GPUs."""
    from modelyard.plan.cost.prices import gpu_prices
    from modelyard.plan.cost.words import price_range

    prices = gpu_prices()
    lines: list[str] = []
    for row in rows:
        lines.append(style.bold(f"{row.id}  {row.name}"))
        facts = (
            ("supported", row.supported),
            ("why", row.why),
            ("FP16 tensor", f"{_number(row)} dense TFLOPS{_mark(row.tflops_mark)}"),
            ("memory", f"{row.memory_gb} GB{_mark(row.memory_mark)}"),
            ("NVLink", row.nvlink + _mark(row.nvlink_mark)),
            ("compute", row.compute + _mark(row.compute_mark) + (f", {row.arch}" if row.arch else "")),
            ("price", price_range(prices.get(row.id))),
            ("node labels", ", ".join(row.products) or "none known"),
            ("note", row.note),
            ("source", f"{HARDWARE_FILE} of this project: {safe(row.source)}" if row.source else ""),
        )
        lines += [*facts_text(facts, 16, style), ""]
    return lines[:-1]


def gpus_document(rows: Iterable[JudgedGpu]) -> dict[str, Any]:
    """The table as JSON; null is unknown, never zero."""
    return {"formatVersion": 1, "cards": [{**record(row), "products": list(row.products)} for row in rows]}


def _number(row: JudgedGpu) -> str:
    return "unknown" if row.tflops is None else f"{row.tflops:g}"


def _mark(mark: str) -> str:
    return f" ({mark})" if mark else ""


def _paint(line: str, row: JudgedGpu, style: Style) -> str:
    paint = {"yes": style.added, "no": style.removed}.get(row.supported, style.changed)
    return paint(line[:3]) + line[3:]
