"""A project's own GPUs: from ``hardware.yaml`` in its folder to ``GpuModel``, or to all findings about the file.

The file is read with the same care as a stack file: limits, positions, all errors at once. Its schema is
``hardware.schema.json``. Two projects never mix: a project's GPUs are known only inside ``in_project``.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar

from modelyard.files import MAX_YAML_BYTES, ReadError, read_file
from modelyard.findings import Finding, first, in_order
from modelyard.hardware.gpu_models import GpuModel, Version, gpu_models, is_taken, own_forms, own_id, using, version
from modelyard.names import HARDWARE_FILE
from modelyard.stack import codes
from modelyard.stack.entries import entries, parse_entries
from modelyard.stack.mistakes import Mistake, given, name, of_problem
from modelyard.stack.yaml.document import Document
from modelyard.stack.yaml.source import TextProblem

_SCHEMA: Final = Path(__file__).with_name("hardware.schema.json")
_P = ParamSpec("_P")
_R = TypeVar("_R")


class OwnGpus(NamedTuple):
    """The GPUs that a project defines."""

    gpus: tuple[GpuModel, ...] = ()
    """In the order of the file; none if a finding is an error."""
    findings: tuple[Finding, ...] = ()
    lines: Mapping[str, int] = {}
    """Line of each GPU by id."""


@cache
def schema_text() -> str:
    """Returns the schema of the file: JSON Schema 2020-12."""
    return _SCHEMA.read_text(encoding="utf-8")


def in_project(root: Path | None) -> AbstractContextManager[None]:
    """Looks GPUs up among those of a project too; None: among no project's."""
    return using(load_gpus(root).gpus if root is not None else ())


def of_project(work: Callable[Concatenate[Path, _P], _R]) -> Callable[Concatenate[Path, _P], _R]:
    """Runs a function, whose first argument is the folder of a project, with the GPUs of that project."""

    @wraps(work)
    def run(root: Path, /, *args: _P.args, **options: _P.kwargs) -> _R:
        with in_project(root):
            return work(root, *args, **options)

    return run


def load_gpus(root: Path) -> OwnGpus:
    """Returns the GPUs that a project defines. A file that cannot be read is a finding too; nothing is raised."""
    try:
        content = read_file(root / HARDWARE_FILE, limit=MAX_YAML_BYTES, within=root)
    except ReadError as error:
        if error.missing and not (root / HARDWARE_FILE).is_symlink():
            return OwnGpus()
        problem = TextProblem(codes.UNREADABLE, f"{HARDWARE_FILE} cannot be read: {error.reason}", remedy=error.remedy)
        return OwnGpus(findings=(of_problem(problem, HARDWARE_FILE),))
    return load_text(content)


@lru_cache(maxsize=4)
def load_text(content: bytes) -> OwnGpus:
    """Returns the GPUs that the content of a file defines, with all findings about it."""
    document, findings = parse_entries(
        content, HARDWARE_FILE, "hardware file", start="`gpus:`", schema=schema_text(), checks=_checks
    )
    found = tuple(first(in_order(findings)))
    if document is None:
        return OwnGpus(findings=found)
    items = dict(entries(document, "gpus"))
    lines = {own_id(item["name"]): document.keys[("gpus", index)][0] for index, item in items.items()}
    return OwnGpus(tuple(map(_gpu, items.values())), found, lines)


def digest(gpus: tuple[GpuModel, ...]) -> str:
    """Returns the SHA-256 of all that a plan reads of a project's own GPUs."""
    return hashlib.sha256(json.dumps(gpus, default=sorted).encode()).hexdigest()


def _checks(document: Document) -> tuple[Iterator[Mistake], ...]:
    return _taken(document), _unclear(document)


def _names(index: int, item: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yields the name and the labels of an entry with their paths."""
    labels = item.get("labels")
    own = ((("gpus", index, "labels", at), one) for at, one in enumerate(labels if isinstance(labels, list) else ()))
    for path, one in ((("gpus", index, "name"), item.get("name")), *own):
        if isinstance(one, str) and one:
            yield path, one


def _taken(document: Document) -> Iterator[Mistake]:
    """Yields the names and labels that another GPU has: one of the tables, or an earlier entry."""
    seen: dict[str, int] = {}
    for index, item in entries(document, "gpus"):
        for path, one in _names(index, item):
            lead = f"{name(path)} is {given(one, path, document.texts)}"
            if is_taken(one):
                remedy = "drop the entry and use that GPU, or correct the name; `modelyard gpus` lists all"
                yield Mistake(path, codes.CHOICE, f"{lead}, the name of a GPU that modelyard knows", remedy)
            earlier = next((seen[form] for form in own_forms(one) if seen.get(form, index) != index), None)
            if earlier is not None:
                line = document.keys[("gpus", earlier)][0]
                summary = f"{lead}, which the entry on line {line} has too"
                yield Mistake(path, codes.DUPLICATE_KEY, summary, "give each GPU its own name and labels")
            for form in own_forms(one):
                seen.setdefault(form, index)


def _unclear(document: Document) -> Iterator[Mistake]:
    """Yields blank sources, and CUDA versions that are missing or in the wrong order."""
    for index, item in entries(document, "gpus"):
        source, cuda, compute = item.get("source"), item.get("cuda"), _version(item.get("compute"))
        if isinstance(source, str) and source and not source.strip():
            summary = f"gpus[{index}].source is blank"
            yield Mistake(("gpus", index, "source"), codes.FORM, summary, "write where the numbers come from")
        if "cuda" not in item and compute is not None and "." in item["compute"] and not _alike(compute):
            summary = f"gpus[{index}].cuda is missing, and no known GPU has compute capability {_dotted(compute)}"
            remedy = f'add `cuda: {{first: "12.8"}}` to gpus[{index}], with the first CUDA version that supports it'
            meant = ("gpus", index, "cuda")
            yield Mistake(("gpus", index), codes.MISSING_KEY, summary, remedy, at_key=True, meant=meant)
        start, end = map(_version, (cuda.get("first"), cuda.get("last")) if isinstance(cuda, dict) else (None, None))
        if start is not None and end is not None and end < start:
            summary = f"gpus[{index}].cuda.last is {_dotted(end)}, before the first version {_dotted(start)}"
            remedy = "write the last version that supports the GPU, or drop the key"
            yield Mistake(("gpus", index, "cuda", "last"), codes.RANGE, summary, remedy)


def _version(text: Any) -> Version | None:
    try:
        return version(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _dotted(pair: Version) -> str:
    return ".".join(map(str, pair))


def _alike(compute: Version) -> list[GpuModel]:
    """Returns the GPUs of the tables with the same compute capability: a toolkit supports all of them or none."""
    return [gpu for gpu in gpu_models().values() if gpu.compute == compute]


def _gpu(item: Mapping[str, Any]) -> GpuModel:
    compute = version(item["compute"])
    cuda = item.get("cuda")
    known = _alike(compute)
    start = version(cuda["first"]) if cuda else min(gpu.cuda_first for gpu in known)
    checked = max(gpu.cuda_last for gpu in known or gpu_models().values())
    end = version(cuda["last"]) if cuda and "last" in cuda else None
    return GpuModel(
        id=own_id(item["name"]),
        name=" ".join(item["name"].split()),
        family="",
        arch="",
        tflops=float(item["tflops"]),
        memory_gb=int(item["memoryGb"]),
        nvlink=item["nvlink"],
        link="",
        compute=compute,
        cuda_first=start,
        cuda_last=end or max(start, checked),
        ongoing=end is None and (not known or any(gpu.ongoing for gpu in known)),
        driver_branch="ongoing",
        note="",
        unverified=frozenset(),
        weak=frozenset(),
        labels=tuple(item["labels"]),
        source=" ".join(item["source"].split()),
    )
