"""Whether a GPU is supported, and which rule says so.

Two rules, the first that applies decides. A GPU on the list of supported GPUs is supported, even where its throughput
is under the floor (the V100's is). Any other GPU must support the platform's CUDA, run under the device plugin, and
reach the throughput of the A10. The list was made for CUDA 11.7: where a platform states another version, a listed GPU
still needs code for that version. An unknown number decides nothing: the verdict is then "unknown", an error
with words. An unverified number is used with its mark.

What runs on the GPU decides how much of that is required (``GpuUse``): the throughput of the A10 is for training, and
the CUDA version is that of the images that run there.
"""

from functools import lru_cache
from typing import Final, Literal, NamedTuple

from modelyard.findings import Severity
from modelyard.hardware import cuda as toolkits
from modelyard.hardware.gpu_models import GpuModel, labels, products, version
from modelyard.hardware.limits import DEFAULT_CUDA, DEVICE_PLUGIN_COMPUTE, FLOOR_TFLOPS, LISTED

VerdictRule = Literal["table", "alternative"]
_RANK = {Severity.ERROR: 2, Severity.WARNING: 1, Severity.ADVICE: 0}


class GpuUse(NamedTuple):
    """What runs on a GPU, as far as the verdict depends on it."""

    cuda: str | None = DEFAULT_CUDA
    """CUDA version of the images, ``major.minor``; None if it is not stated."""
    embeds_ptx: bool = False
    """Whether the images carry PTX for GPUs newer than their machine code."""
    trains: bool = True
    """Whether it trains models: below the throughput of the A10 is then an error, else a warning."""
    platform: bool = True
    """Whether the images are the platform's, not the user's own."""


TRAINING: Final = GpuUse()
"""The platform's own training, with the images that the vendor ships."""


class GpuProblem(NamedTuple):
    """One thing that keeps a GPU from being plainly supported."""

    code: str
    severity: Severity
    summary: str
    remedy: str
    brief: str = ""
    """An error in a few words."""
    detail: str = ""
    """Why it is one, if the summary does not say that."""
    unknown: bool = False
    """Whether it is unknown if it is one, because a number is missing."""


class Verdict(NamedTuple):
    """The answer for one GPU and one use."""

    gpu: GpuModel
    use: GpuUse
    supported: bool | None
    """None where an unknown number leaves it open."""
    rule: VerdictRule
    """Which rule decided."""
    code: toolkits.Code
    """How images of that CUDA version reach the GPU."""
    reason: str
    """One line: what was compared, with the marks of uncertain numbers."""
    problems: tuple[GpuProblem, ...]
    uncertain: tuple[str, ...]
    """The marked numbers that the verdict rests on, such as ``fp16_tensor_dense_tflops (weak source)``."""

    @property
    def refusals(self) -> tuple[GpuProblem, ...]:
        """What keeps the GPU from being used, wherever it is: in the cluster, in a node pool, in a rented machine.
        Empty where it is supported.
        """
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    @property
    def severity(self) -> Severity | None:
        """How severe the most serious finding is, None where there is none."""
        return max((problem.severity for problem in self.problems), key=_RANK.__getitem__, default=None)


@lru_cache(maxsize=512)
def verdict(gpu: GpuModel, use: GpuUse = TRAINING) -> Verdict:
    """Whether ``gpu``, a GPU or family from ``resolve``, is supported for ``use``.

    Raises:
        ValueError: the CUDA version of ``use`` is not a version.
    """
    asked = version(use.cuda or DEFAULT_CUDA)
    code = toolkits.code(gpu, asked)
    listed = LISTED.get(gpu.family)
    problems = [*_cuda_problems(gpu, use, code), *_plugin_problems(gpu)]
    parts: list[str] = []
    used: list[str] = []
    if listed:
        parts.append(_listed(gpu))
        if use.trains and gpu.memory_gb < listed.memory_gb:
            problems.append(
                GpuProblem(
                    "GPU009",
                    Severity.WARNING,
                    f"{gpu.short} has {gpu.memory_gb} GB, but the listed {gpu.family} has {listed.memory_gb} GB",
                    f"use the {gpu.family} with {listed.memory_gb} GB, or make sure that the models fit",
                )
            )
    else:
        parts += [_unlisted(gpu), _throughput(gpu)]
        problems += _throughput_problems(gpu, use)
        used += ["fp16_tensor_dense_tflops", "compute_capability"]
    if use.cuda is None:
        parts.append("the CUDA version of its images is not set")
    elif not listed or asked != version(DEFAULT_CUDA) or code.mode in ("ptx", "dropped"):
        parts.append(_code(gpu, use.cuda, code, use.embeds_ptx))
        used += ["cuda_first_native"]
    uncertain = tuple(dict.fromkeys(f"{column} ({gpu.mark(column)})" for column in used if gpu.mark(column)))
    if code.beyond and use.cuda is not None:
        uncertain = (*uncertain, f"cuda_last_native (checked up to {_dotted(gpu.cuda_last)})")
    unknown = any(problem.unknown for problem in problems)
    failed = any(problem.severity is Severity.ERROR for problem in problems if not problem.unknown)
    if uncertain and not failed and not unknown:
        problems.append(_uncertain(gpu, uncertain, "; ".join(parts)))
    return Verdict(
        gpu=gpu,
        use=use,
        supported=False if failed else None if unknown else True,
        rule="table" if listed else "alternative",
        code=code,
        reason="; ".join(parts),
        problems=tuple(problems),
        uncertain=uncertain,
    )


def _listed(gpu: GpuModel) -> str:
    text = f"listed as supported ({gpu.family})"
    if gpu.tflops is not None and gpu.tflops < FLOOR_TFLOPS:
        text += f" although its throughput is below the minimum: {_throughput(gpu)}"
    if gpu.memory_gb < LISTED[gpu.family].memory_gb:
        text += f"; {gpu.memory_gb} GB, the listed model has {LISTED[gpu.family].memory_gb} GB"
    return text


def _alike(gpu: GpuModel) -> tuple[str, str]:
    """The short name of a GPU, and the listed one for which it is easily taken; empty if there is none."""
    # GPUs whose name only begins like a listed one are the usual mistake: A10G for A10, V100S for V100.
    head = gpu.id.partition("-")[0].upper()
    alike = head[:-1] if head[:-1] in LISTED and head[-1:].isalpha() else ""
    return head, alike


def _unlisted(gpu: GpuModel) -> str:
    head, alike = _alike(gpu)
    return f"not listed ({head} is not {alike})" if alike else "not listed"


def _throughput(gpu: GpuModel) -> str:
    if gpu.tflops is None:
        return f"FP16 throughput unknown, the minimum is {FLOOR_TFLOPS} TFLOPS"
    if not gpu.tflops:
        return f"no tensor cores{_marked(gpu)}, the minimum is {FLOOR_TFLOPS} FP16 TFLOPS"
    sign = ">=" if gpu.tflops >= FLOOR_TFLOPS else "<"
    return f"{gpu.tflops:g} FP16 TFLOPS{_marked(gpu)} {sign} {FLOOR_TFLOPS}"


def _throughput_problems(gpu: GpuModel, use: GpuUse) -> list[GpuProblem]:
    cuda = f" --cuda {use.cuda}" if use.cuda not in (None, DEFAULT_CUDA) else ""
    choose = f"choose {', '.join(LISTED)}, or another from `modelyard gpus --supported{cuda}`"
    accept = "measure it or choose a GPU whose throughput is known; a waiver with a reason accepts the risk"
    head, alike = _alike(gpu)
    article = "an" if head[0] == "A" else "a"
    not_it = f" ({article} {head} is not {article} {alike})" if alike else ""
    why = f"Not on the list of supported GPUs{not_it}, so it must be at least as fast as the A10."
    if gpu.tflops is None:
        summary = f"the FP16 throughput of {gpu.short} is unknown; the minimum is {FLOOR_TFLOPS} TFLOPS (the A10)"
        return [
            GpuProblem(
                "GPU004",
                Severity.ERROR if use.trains else Severity.WARNING,
                summary,
                accept,
                brief="throughput unknown",
                detail=why,
                unknown=True,
            )
        ]
    if gpu.tflops >= FLOOR_TFLOPS:
        return []
    has = f"{gpu.tflops:g} FP16 TFLOPS{_marked(gpu)}" if gpu.tflops else f"no tensor cores{_marked(gpu)}"
    brief = f"{gpu.tflops:g} < {FLOOR_TFLOPS} TFLOPS" if gpu.tflops else "no tensor cores"
    if use.trains:
        summary = f"{gpu.short} is not supported: {has}; the minimum is {FLOOR_TFLOPS} (the A10)"
        return [GpuProblem("GPU001", Severity.ERROR, summary, choose, brief=brief, detail=why)]
    summary = f"{gpu.short} is not supported for training: {has}; the minimum is {FLOOR_TFLOPS} (the A10)"
    remedy = f"keep it if its jobs are fast enough, or {choose}"
    return [GpuProblem("GPU001", Severity.WARNING, summary, remedy, brief=brief, detail=why)]


def _code(gpu: GpuModel, cuda: str, code: toolkits.Code, embeds_ptx: bool) -> str:
    mark = gpu.mark("cuda_first_native")
    since = f" (from CUDA {_dotted(gpu.cuda_first)} on, {mark})" if mark else ""
    compute = f"compute capability {_dotted(gpu.compute)}"
    if gpu.mark("compute_capability"):
        compute += f" ({gpu.mark('compute_capability')})"
    if code.mode == "native":
        text = f"CUDA {cuda} has native code for {compute}{since}"
        return f"{text}, checked up to CUDA {_dotted(gpu.cuda_last)}" if code.beyond else text + _old_driver(gpu, cuda)
    if code.mode == "compatible":
        return f"runs the {code.sm} code of CUDA {cuda} ({compute})"
    if code.mode == "dropped":
        return f"CUDA {cuda} no longer has code for {compute}; the last version with it is {_dotted(gpu.cuda_last)}"
    how = "the driver compiles the images' PTX" if embeds_ptx else "images run only if they contain PTX"
    return f"CUDA {cuda} has no code for {compute}; CUDA {_dotted(gpu.cuda_first)} is the first version with it; {how}"


def _old_driver(gpu: GpuModel, cuda: str) -> str:
    needed = toolkits.toolkit_driver(cuda)
    branch = gpu.driver_branch.removeprefix("R")
    if needed and branch.isdigit() and int(branch) < int(needed.partition(".")[0]):
        return f", by minor-version compatibility only (its last driver branch is {gpu.driver_branch})"
    return ""


def _cuda_problems(gpu: GpuModel, use: GpuUse, code: toolkits.Code) -> list[GpuProblem]:
    first, last, compute = _dotted(gpu.cuda_first), _dotted(gpu.cuda_last), _dotted(gpu.compute)
    where = "platform.cuda" if use.platform else "cuda of the resource, of runtime or of notebooks"
    if use.cuda is None:
        if code.mode in ("native", "compatible") and gpu.ongoing:
            return []
        bounds = f"{first} or newer" if gpu.ongoing else f"{first} to {last}"
        return [
            GpuProblem(
                "GPU005",
                Severity.ADVICE,
                f"{gpu.short} needs images of CUDA {bounds}, but the CUDA version of its images is not set",
                f"set {where}, whichever has the image",
            )
        ]
    if code.mode == "dropped":
        return [
            GpuProblem(
                "GPU005",
                Severity.ERROR,
                f"CUDA {use.cuda} no longer has code for {gpu.short} (compute capability {compute})",
                f"choose a newer GPU, or use images of CUDA {last} or older and set {where}",
                brief=f"dropped by CUDA {use.cuda}",
            )
        ]
    if code.mode != "ptx":
        return []
    native = f"(compute capability {compute}, native from CUDA {first})"
    if use.embeds_ptx:
        return [
            GpuProblem(
                "GPU005",
                Severity.WARNING,
                f"{gpu.short} runs CUDA {use.cuda} only through the PTX of the images {native}",
                f"expect a slow first start while the driver compiles; images of CUDA {first} or newer avoid it",
            )
        ]
    embed = "set platform.imagesEmbedPtx" if use.platform else "waive GPU005"
    return [
        GpuProblem(
            "GPU005",
            Severity.ERROR,
            f"CUDA {use.cuda} has no machine code for {gpu.short} {native}",
            f"choose an older GPU, or use images of CUDA {first} or newer and set {where}; if the images embed PTX, "
            f"{embed}",
            brief=f"no code in CUDA {use.cuda}",
        )
    ]


def _plugin_problems(gpu: GpuModel) -> list[GpuProblem]:
    if gpu.compute >= DEVICE_PLUGIN_COMPUTE:
        return []
    return [
        GpuProblem(
            "GPU006",
            Severity.ERROR,
            f"the NVIDIA device plugin does not run on {gpu.short} (compute capability {_dotted(gpu.compute)})",
            f"choose a GPU of compute capability {_dotted(DEVICE_PLUGIN_COMPUTE)} or higher",
            brief="too old for the device plugin",
        )
    ]


def _uncertain(gpu: GpuModel, uncertain: tuple[str, ...], reason: str) -> GpuProblem:
    unseen = [product for product in products(gpu) if product in labels().unverified]
    label = f"; its node label {', '.join(unseen)} is unverified too" if unseen else ""
    return GpuProblem(
        "GPU007",
        Severity.ADVICE,
        f"the result for {gpu.short} rests on unverified numbers: {', '.join(uncertain)}{label}",
        "check them against the GPU's data sheet before buying",
        detail=_sentence(reason),
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _marked(gpu: GpuModel) -> str:
    mark = gpu.mark("fp16_tensor_dense_tflops")
    return f" ({mark})" if mark else ""


def _dotted(pair: tuple[int, int]) -> str:
    return f"{pair[0]}.{pair[1]}"
