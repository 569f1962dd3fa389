"""Resolves GPU names.

A name resolves exactly (ignoring case) or not at all: an "A10G" is a separate GPU and never an "A10". Known names are
the GPU's id, its data-sheet name, the NVML name with and without the brand, the device plugin's product label, and the
accelerator names of GKE, AKS and EKS nodes.

A short family name that the table of supported GPUs lists (``A100``, ``V100``) resolves to the family: its numbers are
those of the listed row (40 GB for the A100, 32 GB for the V100), and its nodes may carry the label of any variant. For
only one variant, name that variant (``a100-80gb``). Other families (``H100``) are ambiguous: no source says which row
counts.

A project may define more GPUs (``hardware.own``). Every lookup finds them inside ``using``.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from modelyard.hardware.limits import LISTED
from modelyard.names import HARDWARE_FILE
from modelyard.patterns import regex
from modelyard.stack.words import listed, plain

Version = tuple[int, int]

_DATA = Path(__file__).with_name("data")
_BRANDS = ("nvidia ", "nvidia-", "tesla ", "tesla-", "geforce ", "geforce-")


class GpuModel(NamedTuple):
    """A GPU as its data sheet describes it, or a family of them."""

    id: str
    name: str
    family: str
    """Short name shared with other variants, empty if the GPU has none."""
    arch: str
    tflops: float | None
    """FP16 tensor TFLOPS without sparsity, 0 without tensor cores, None if unknown."""
    memory_gb: int
    """Nominal, in GB of 10^9 bytes."""
    nvlink: bool
    link: str
    """Form of NVLink: ``built_in``, ``bridge``, ``mixed`` (depends on the variant), empty without NVLink."""
    compute: Version
    """Compute capability."""
    cuda_first: Version
    """First toolkit that generates machine code for the GPU."""
    cuda_last: Version
    """Last toolkit that does, or the last one that was checked."""
    ongoing: bool
    """Whether toolkits newer than ``cuda_last`` may still generate it."""
    driver_branch: str
    """Newest driver branch that supports the GPU, such as ``R470``, or ``ongoing``."""
    note: str
    unverified: frozenset[str]
    """Columns of ``data/gpus.csv`` that could not be verified."""
    weak: frozenset[str]
    """Columns of ``data/gpus.csv`` that rest on weak sources."""
    members: tuple[str, ...] = ()
    """Ids of the variants, for a family."""
    labels: tuple[str, ...] = ()
    """Values of ``nvidia.com/gpu.product``, for a GPU that the project defines; the tables have those of the others."""
    source: str = ""
    """Where the numbers of a GPU that the project defines come from; empty for the others."""

    @property
    def short(self) -> str:
        """The name for a sentence: the family's if the GPU stands for it, else the name without its brand."""
        return self.family if self.members else self.name.removeprefix("NVIDIA ").removeprefix("Tesla ")

    def mark(self, column: str) -> str:
        """Returns ``unverified`` or ``weak source`` if that applies to a column, else an empty text."""
        if column in self.unverified:
            return "unverified"
        return "weak source" if column in self.weak else ""


class Ambiguous(NamedTuple):
    """A name that several GPUs share."""

    name: str
    gpus: tuple[GpuModel, ...]


class UnknownGpu(NamedTuple):
    """A name that no GPU has."""

    name: str
    suggestions: tuple[str, ...]
    """Similar names that would resolve, nearest first."""


class GpuLabels(NamedTuple):
    """How clusters and clouds name the GPUs (``data/labels.csv``)."""

    products: Mapping[str, tuple[str, ...]]
    """GPU id to values of the node label ``nvidia.com/gpu.product``."""
    aliases: tuple[tuple[str, str], ...]
    """Every other name, with the id of its GPU."""
    aws: Mapping[tuple[str, str], str]
    """``karpenter.k8s.aws/instance-gpu-name`` and ``-memory`` (MiB) to GPU id."""
    unverified: frozenset[str]
    """Product labels that were never seen on a node."""


def rows(table: str) -> list[list[str]]:
    """Returns the rows of a table in ``data/`` without its header."""
    with (_DATA / table).open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))[1:]


def version(text: str) -> Version:
    """Returns ``"11.7"`` as ``(11, 7)``; a patch level is left out.

    Raises:
        ValueError: the text is not a version.
    """
    major, _, rest = text.partition(".")
    try:
        return int(major), int(rest.partition(".")[0] or 0)
    except ValueError:
        raise ValueError(f"{text!r} is not a version") from None


_OWN: ContextVar[Callable[[], tuple[GpuModel, ...]]] = ContextVar("own_gpus", default=tuple)


def using(gpus: tuple[GpuModel, ...]) -> AbstractContextManager[None]:
    """Looks GPUs up among a project's own too, instead of those of the context around this one."""
    return using_later(lambda: gpus)


@contextmanager
def using_later(gpus: Callable[[], tuple[GpuModel, ...]]) -> Iterator[None]:
    """As ``using``, with GPUs that are read at the first lookup: many runs look none up."""
    token = _OWN.set(cache(gpus))
    try:
        yield
    finally:
        _OWN.reset(token)


def own_gpus() -> tuple[GpuModel, ...]:
    """Returns the GPUs that the project defines."""
    return _OWN.get()()


@lru_cache(maxsize=1)
def gpu_models() -> Mapping[str, GpuModel]:
    """Returns every GPU of the table by id, in the table's order, without the families and the project's own."""
    return {gpu.id: gpu for gpu in map(_gpu, rows("gpus.csv"))}


@lru_cache(maxsize=1)
def families() -> Mapping[str, GpuModel]:
    """Returns the listed families of several variants by id (``a100``, ``v100``)."""
    found: dict[str, GpuModel] = {}
    for name, row in LISTED.items():
        variants = [gpu for gpu in gpu_models().values() if gpu.family == name]
        if len(variants) > 1:
            found[name.lower()] = together(name, variants)._replace(
                name=f"NVIDIA {name}", tflops=float(row.tflops), memory_gb=row.memory_gb, nvlink=row.nvlink
            )
    return found


def together(name: str, variants: Sequence[GpuModel]) -> GpuModel:
    """Returns several GPUs as a family with the memory of the smallest."""
    links = {gpu.link for gpu in variants}
    return variants[0]._replace(
        id=name.casefold(),
        name=name,
        family=name,
        memory_gb=min(gpu.memory_gb for gpu in variants),
        nvlink=any(gpu.nvlink for gpu in variants),
        link=links.pop() if len(links) == 1 else "mixed",
        note="",
        unverified=frozenset().union(*(gpu.unverified for gpu in variants)),
        weak=frozenset().union(*(gpu.weak for gpu in variants)),
        members=tuple(gpu.id for gpu in variants),
    )


@lru_cache(maxsize=1)
def labels() -> GpuLabels:
    """Returns the label table, which is read once."""
    products: dict[str, list[str]] = {}
    aliases: list[tuple[str, str]] = []
    aws: dict[tuple[str, str], str] = {}
    unverified: set[str] = set()
    for gpu, nvml, product, evidence, aws_name, aws_memory, gke, azure, _source in rows("labels.csv"):
        mine = products.setdefault(gpu, [])
        if product not in mine:
            mine.append(product)
        aliases += [(name, gpu) for name in (nvml, product, aws_name, gke, azure) if name]
        if aws_name:
            aws[aws_name, aws_memory] = gpu
        if evidence.startswith("unverified"):
            unverified.add(product)
    return GpuLabels(
        {gpu: tuple(sorted(names)) for gpu, names in products.items()}, tuple(aliases), aws, frozenset(unverified)
    )


def resolve(name: str) -> GpuModel | None:
    """Returns the GPU that ``name`` means, exactly but ignoring case; None if it means none or several."""
    ids = _ids(name) or ()
    return by_id(ids[0]) if len(ids) == 1 else None


def find(name: str) -> GpuModel | Ambiguous | UnknownGpu:
    """Resolves ``name``, and if it is not one GPU, returns why.

    Returns:
        The GPU; ``Ambiguous`` with the GPUs if several share the name; otherwise ``UnknownGpu`` with similar names.
    """
    found = _ids(name)
    if found is None:
        return UnknownGpu(name, _suggestions(name))
    if len(found) == 1:
        return by_id(found[0])
    return Ambiguous(name, tuple(by_id(one) for one in found))


def exact_name(gpu: GpuModel) -> str:
    """Returns a short name for a stack file that means exactly this GPU."""
    return gpu.short if gpu.short in LISTED and _ids(gpu.short) == (gpu.id,) else gpu.id


def _ids(name: str) -> tuple[str, ...] | None:
    """Returns the ids that a name may mean, with the brand or else without it ("NVIDIA A100"); None if none has it."""
    names = _names(own_gpus())
    return next((names[form] for form in _forms(name.strip()) if form in names), None)


_OTHER_MAKERS = regex(r"(amd|instinct|radeon|mi\d|intel|gaudi|arc|tpu|inferentia|inf\d|trn?\d|trainium)", re.I)
"""Beginnings of the names of accelerators from other vendors than NVIDIA."""


def not_one_gpu(name: str) -> str:
    """Returns what is wrong with a name that is not one GPU's; empty if the name is fine."""
    match find(name):
        case Ambiguous(_, sharing):
            return f"{plain(name)!r} is the name of {len(sharing)} GPUs: {', '.join(gpu.id for gpu in sharing)}"
        case UnknownGpu(name, _):
            return f"unknown GPU {plain(name)!r}"
        case _:
            return ""


def near_gpus(name: str) -> str:
    """Returns an instruction what to write instead of a name that is not one GPU's; empty if the name is fine."""
    match find(name):
        case Ambiguous(_, sharing):
            return f"name one of them: {', '.join(gpu.id for gpu in sharing)}"
        case UnknownGpu(name, _) if _OTHER_MAKERS.match(name):
            return "the platform's images need CUDA, which only NVIDIA's GPUs run; `modelyard gpus` lists them"
        case UnknownGpu(_, suggestions):
            close = f"did you mean {listed(suggestions)}? " if suggestions else ""
            return f"{close}`modelyard gpus` lists all GPUs; define another one in {HARDWARE_FILE}"
        case _:
            return ""


def by_id(gpu_id: str) -> GpuModel:
    """Returns the GPU or family with that id.

    Raises:
        KeyError: the id is unknown.
    """
    own = next((gpu for gpu in own_gpus() if gpu.id == gpu_id), None)
    return own or families().get(gpu_id) or gpu_models()[gpu_id]


def products(gpu: GpuModel) -> tuple[str, ...]:
    """Returns the ``nvidia.com/gpu.product`` values of nodes with whole GPUs of this model, for scheduling.

    Labels of sliced or shared GPUs (``…-MIG-1g.5gb``, ``…-SHARED``) are not included: those are not whole GPUs.
    """
    if gpu.source:
        return gpu.labels
    by_gpu = labels().products
    if not gpu.members:
        return by_gpu.get(gpu.id, ())
    return tuple(sorted(product for member in gpu.members for product in by_gpu.get(member, ())))


def _gpu(row: list[str]) -> GpuModel:
    # fmt: off
    (gpu, name, family, arch, tflops, memory, nvlink, link, compute, first, last, branch,
     _mig, _instances, _profiles, _mig_driver, note, unverified, weak, _source) = row
    # fmt: on
    ongoing = last.startswith("ongoing")
    return GpuModel(
        id=gpu,
        name=name,
        family=family,
        arch=arch,
        tflops=float(tflops) if tflops else None,
        memory_gb=int(memory),
        nvlink=nvlink == "yes",
        link=link,
        compute=version(compute),
        cuda_first=version(first),
        cuda_last=version(last.removeprefix("ongoing (").partition(" ")[0]),
        ongoing=ongoing,
        driver_branch=branch,
        note=note,
        unverified=frozenset(unverified.split()),
        weak=frozenset(weak.split()),
    )


@lru_cache(maxsize=8)
def _names(own: tuple[GpuModel, ...]) -> Mapping[str, tuple[str, ...]]:
    """Maps every name in lower case to the ids it may mean, those of a project's own GPUs too."""
    mine = {form: (gpu.id,) for gpu in own for name in (gpu.name, *gpu.labels) for form in own_forms(name)}
    return {**_index(), **mine}


def own_forms(name: str) -> dict[str, None]:
    """Returns the forms of a name that a project gives a GPU, in lower case."""
    return dict.fromkeys((*_forms(name.strip()), own_id(name)))


def own_id(name: str) -> str:
    """Returns the id of a GPU that the project defines under a name."""
    return "-".join(name.casefold().split())


def is_taken(name: str) -> bool:
    """Whether the tables already have the name for a GPU."""
    return not _index().keys().isdisjoint(own_forms(name))


@lru_cache(maxsize=1)
def _index() -> Mapping[str, tuple[str, ...]]:
    """Maps every name in lower case to the ids it may mean. Ids override families, which override the clouds' names."""
    shared: dict[str, list[str]] = {}
    for name, gpu_id in (*((gpu.name, gpu.id) for gpu in gpu_models().values()), *labels().aliases):
        for form in _forms(name):
            ids = shared.setdefault(form, [])
            if gpu_id not in ids:
                ids.append(gpu_id)
    by_family: dict[str, list[str]] = {}
    for gpu in gpu_models().values():
        if gpu.family:
            by_family.setdefault(gpu.family.casefold(), []).append(gpu.id)
    return {
        **{name: tuple(sorted(ids)) for name, ids in shared.items()},
        **{name: tuple(sorted(ids)) for name, ids in by_family.items()},
        **{name: (name,) for name in (*families(), *gpu_models())},
    }


def _forms(name: str) -> tuple[str, ...]:
    """Returns the name in lower case, then without each brand in turn: drivers before R470 had no "NVIDIA"."""
    forms = [name.casefold()]
    for brand in _BRANDS:
        bare = forms[-1].removeprefix(brand)
        if bare != forms[-1]:
            forms.append(bare)
    return tuple(forms)


def _suggestions(name: str) -> tuple[str, ...]:
    from modelyard.hardware.near import described, near_names  # needed only for a wrong name

    names = _names(own_gpus())
    # A letter O after a digit is a mistyped zero: H1OO.
    wanted = re.sub(r"(?<=\d)o+", lambda found: "0" * len(found[0]), _forms(name.strip())[-1].replace(" ", "-"))
    if exact := described(wanted, {gpu.id: gpu.memory_gb for gpu in (*own_gpus(), *gpu_models().values())}):
        return tuple(exact)[:3]
    seen: dict[str, None] = {}
    for form in near_names(wanted, names.keys()):
        ids = names[form]
        seen.update(dict.fromkeys(ids if len(ids) == 1 else (form,)))
    return tuple(seen)[:3]
