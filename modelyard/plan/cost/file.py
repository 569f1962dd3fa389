"""A project's price file: from YAML to ``Prices``, or to all findings about it.

Reads the file with the same care as a stack file: limits, positions, all errors at once. The schema is
``prices.schema.json``.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from modelyard.files import MAX_YAML_BYTES, ReadError, read_file
from modelyard.findings import Finding, Severity, first, in_order, ordered
from modelyard.hardware import near_gpus, not_one_gpu, resolve
from modelyard.hardware.gpu_models import GpuModel, by_id, own_gpus, using
from modelyard.plan.cost.prices import NO_GPU, Prices
from modelyard.plan.cost.values import Price
from modelyard.stack import codes
from modelyard.stack.config import Stack, StackPath
from modelyard.stack.entries import entries, parse_entries
from modelyard.stack.mistakes import Mistake, name
from modelyard.stack.words import plain
from modelyard.stack.yaml.document import Document

LoadedPrices = tuple[Prices | None, tuple[Finding, ...]]
SCHEMA = Path(__file__).with_name("prices.schema.json")


@cache
def schema_text() -> str:
    """The schema of price files: JSON Schema 2020-12."""
    return SCHEMA.read_text(encoding="utf-8")


def load_prices(root: Path, shown: str, stack: Stack) -> LoadedPrices:
    """The prices of a file, with all findings about it; no prices if a finding is an error.

    An unreadable file is also a finding: nothing is raised. ``shown`` is its path from ``root``, the project's folder.
    """
    try:
        content = read_file(root / shown, limit=MAX_YAML_BYTES, within=root)
    except ReadError as error:
        what = "does not exist" if error.missing else f"cannot be read: {error.reason}"
        summary = f"the price file {plain(shown, 200)} {what}"
        remedy = "correct the path, or write the file (its schema: modelyard schema prices)"
        return None, (stack.finding("CFG103", Severity.ERROR, ("prices",), summary, remedy),)
    prices, findings = load_text(content, shown, own_gpus())
    return prices, tuple(finding._replace(stack=stack.name) for finding in findings)


@lru_cache(maxsize=4)
def load_text(content: bytes, shown: str, own: tuple[GpuModel, ...] = ()) -> LoadedPrices:
    """The prices from a file's content, with all findings about it; no prices if a finding is an error.

    ``shown`` is the file's path in findings, and ``own`` are the GPUs that its project defines.
    """
    with using(own):
        return _loaded(content, shown)


def _loaded(content: bytes, shown: str) -> LoadedPrices:
    start = "`machines:` or `cards:`"
    document, findings = parse_entries(content, shown, "price file", start=start, schema=schema_text(), checks=_checks)
    if document is None:
        return None, tuple(first(in_order(findings)))
    return Prices(_machines(document), _gpus(document)), ordered(findings)


def _checks(document: Document) -> tuple[Iterator[Mistake], ...]:
    repeated = (_repeated(document, "machines", _machine_key), _repeated(document, "cards", _gpu_key))
    return (*repeated, _unknown_gpus(document))


def _machine_key(item: Mapping[str, Any]) -> tuple[str, ...]:
    """Type, region, GPU; empty where the entry does not identify one machine."""
    kind, region, gpu = item.get("type"), item.get("region", ""), item.get("gpu", "")
    if not (isinstance(kind, str) and isinstance(region, str) and isinstance(gpu, str)):
        return ()
    model = resolve(gpu)
    return kind, region, model.id if model is not None else gpu


def _gpu_key(item: Mapping[str, Any]) -> tuple[str, ...]:
    gpu = resolve(item["model"]) if isinstance(item.get("model"), str) else None
    return () if gpu is None else (gpu.id,)


def _repeated(
    document: Document, section: str, key_of: Callable[[Mapping[str, Any]], tuple[str, ...]]
) -> Iterator[Mistake]:
    """The findings about entries for the same thing, because it is unclear which one counts."""
    first: dict[tuple[str, ...], int] = {}
    for index, item in entries(document, section):
        key = key_of(item)
        if key and first.setdefault(key, index) != index:
            line = document.keys[(section, first[key])][0]
            again = ", ".join(plain(part) for part in key if part)
            summary = f"{section}[{index}] is a second price of {again}, after the one on line {line}"
            yield Mistake((section, index), codes.DUPLICATE_KEY, summary, "keep one of them", at_key=True)


def _unknown_gpus(document: Document) -> Iterator[Mistake]:
    for section, key in (("machines", "gpu"), ("cards", "model")):
        for index, item in entries(document, section):
            given = item.get(key)
            if not isinstance(given, str) or not given or (key, given) == ("gpu", NO_GPU) or resolve(given):
                continue
            path: StackPath = (section, index, key)
            yield Mistake(path, codes.CHOICE, f"{name(path)}: {not_one_gpu(given)}", near_gpus(given))


def _machines(document: Document) -> dict[tuple[str, str, str], Price]:
    """Prices by type, region and GPU."""
    single: dict[tuple[str, str, str], Price] = {}
    shared: dict[tuple[str, str, str], Price] = {}
    for index, item in entries(document, "machines"):
        kind, region, gpu = _machine_key(item)
        price = _price("machine", kind, document, ("machines", index, "usdPerHour"), item)
        if members := _members(gpu):
            shared |= {(kind, region, member): price for member in members}
        else:
            single[kind, region, gpu] = price
    return {**shared, **single}


def _gpus(document: Document) -> dict[str, Price]:
    """Prices by the GPU's id."""
    single: dict[str, Price] = {}
    shared: dict[str, Price] = {}
    for index, item in entries(document, "cards"):
        gpu = by_id(*_gpu_key(item))
        price = _price("card", gpu.short, document, ("cards", index, "usdPerGpuHour"), item)
        if gpu.members:
            shared |= dict.fromkeys(gpu.members, price)
        else:
            single[gpu.id] = price
    return {**shared, **single}


def _members(gpu: str) -> tuple[str, ...]:
    """The GPUs in a family, each of which may have its own price."""
    return by_id(gpu).members if gpu not in ("", NO_GPU) else ()


def _price(unit: Any, named: str, document: Document, path: StackPath, item: Mapping[str, Any]) -> Price:
    amount = item[str(path[-1])]
    text = document.texts.get(path, "")
    return Price(
        unit=unit,
        name=named,
        # 14.69 as written, not the nearest binary number. Hexadecimal text is no decimal; its value is exact.
        usd=Fraction(text if text and text[:2] not in ("0x", "0o") else amount),
        region=item.get("region", ""),
        date=item["date"],
        source=item["source"],
        listed=False,
        discount=item.get("discount", ""),
    )
