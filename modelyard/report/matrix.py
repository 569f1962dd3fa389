"""The fields in which stacks diverge, as text and as JSON."""

from collections.abc import Iterable
from typing import Any

from modelyard.kube import merge
from modelyard.kube.merge import Path
from modelyard.plan.values import names_its_item
from modelyard.preview.matrix import MatrixRow
from modelyard.report.fields import beginnings, field_names
from modelyard.report.json import without_absent
from modelyard.report.style import PLAIN, Style, hanging, safe, shorten
from modelyard.report.values import fitted, writer
from modelyard.stack.words import few, plural

FORMAT_VERSION = 1


def matrix_text(rows: Iterable[MatrixRow], stacks: int, style: Style = PLAIN) -> list[str]:
    """Each diverging field with its values, and the stacks with each value."""
    rows = _without_keys(rows)
    if not rows:
        planned = plural(stacks, "stack")
        return [f"nothing to compare: {planned} can be planned" if stacks < 2 else f"{planned} ask for the same values"]
    lines: list[str] = []
    for target in dict.fromkeys(row.target for row in rows):
        lines.append(style.bold(safe(target)))
        for paths, row in _together(row for row in rows if row.target == target):
            lines += _row(paths, row, style)
        lines.append("")
    return [*lines, style.bold(f"{plural(stacks, 'stack')} set {plural(len(rows), 'field')} differently")]


def _without_keys(rows: Iterable[MatrixRow]) -> tuple[MatrixRow, ...]:
    """The rows without keys of list items that the path of another row already shows."""
    rows = tuple(rows)
    paths = [Path.parse(row.field) for row in rows]
    shown = {
        (row.target, beginning)
        for row, path in zip(rows, paths, strict=True)
        if not _is_key(path, row)
        for beginning in beginnings(path)
    }
    return tuple(
        row
        for row, path in zip(rows, paths, strict=True)
        if not _is_key(path, row) or (row.target, path.parent) not in shown
    )


def _is_key(path: Path, row: MatrixRow) -> bool:
    return any(names_its_item(path, value) for value, _ in row.values)


def _together(rows: Iterable[MatrixRow]) -> list[tuple[list[Path], MatrixRow]]:
    """The rows with their paths; a limit and a request that are equal in every stack become one row."""
    found: dict[str, tuple[list[Path], MatrixRow]] = {}
    for row in rows:
        path = Path.parse(row.field)
        kind = path[-2] if len(path) > 1 and path[-2] in ("limits", "requests") else ""
        like = f"{path[-1]} {row.values}" if kind else row.field
        found.setdefault(like, ([], row))[0].append(path)
    return list(found.values())


def _row(paths: list[Path], row: MatrixRow, style: Style) -> list[str]:
    named = [path.parent if _is_key(path, row) else path for path in paths]
    name = "; ".join(name for name, _ in field_names(named))
    write = writer(paths[0])
    lines = [f"  {style.link(shorten(name, style.columns - 2))}"]
    texts = [
        ("(not set)" if value is merge.ABSENT else fitted(value, style.columns // 2, write)) for value, _ in row.values
    ]
    width = min(max(map(len, texts)), style.columns // 2)
    for text, (_, stacks) in zip(texts, row.values, strict=True):
        first, *rest = hanging(few(stacks, 8), 0, style.columns - width - 8)
        lines.append(f"    {text:<{width}}  {style.dim(first)}")
        lines += [" " * (width + 6) + style.dim(line) for line in rest]
    return lines


def matrix_document(rows: Iterable[MatrixRow], stacks: Iterable[str]) -> dict[str, Any]:
    """The matrix as JSON; a missing value has no key."""
    return {
        "formatVersion": FORMAT_VERSION,
        "stacks": list(stacks),
        "fields": [
            {
                "target": row.target,
                "field": row.field,
                "values": [{**without_absent(value=value), "stacks": list(names)} for value, names in row.values],
            }
            for row in rows
        ],
    }
