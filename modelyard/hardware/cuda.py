"""The GPUs for which a CUDA version has code, and the drivers that it needs.

A toolkit makes machine code (SASS) for a range of chips. SASS runs on chips of the same major compute capability with
the same or a higher minor one, so images of CUDA 11.7 run on an L4 (8.9) with the code for 8.6. Everything newer needs
PTX in the image, which the driver compiles. There is no workaround for chips that a toolkit has dropped.
"""

from functools import lru_cache
from typing import Literal, NamedTuple

from modelyard.hardware.gpu_models import GpuModel, Version, gpu_models, version

CudaMode = Literal["native", "compatible", "ptx", "dropped"]
Driver = tuple[int, ...]


class Code(NamedTuple):
    """How the code of a CUDA version reaches a GPU."""

    mode: CudaMode
    sm: str = ""
    """The GPU code that runs, such as ``sm_86``; empty if none does."""
    beyond: bool = False
    """Whether the version is newer than any that was checked."""


TOOLKIT_DRIVERS: dict[Version, str] = {
    (11, 4): "470.42.01",
    (11, 5): "495.29.05",
    (11, 6): "510.39.01",
    (11, 7): "515.43.04",
    (11, 8): "520.61.05",
    (12, 0): "525.60.13",
    (12, 1): "530.30.02",
    (12, 2): "535.54.03",
    (12, 3): "545.23.06",
    (12, 4): "550.54.14",
    (12, 5): "555.42.02",
    (12, 6): "560.28.03",
    (13, 0): "580.65.06",
}
"""Minimum Linux driver of a toolkit's first release (CUDA Toolkit release notes, toolkit driver versions)."""

MINOR_DRIVERS: dict[int, str] = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""Minimum Linux driver for any toolkit of a major version by minor-version compatibility, which has no PTX compilation
(CUDA compatibility guide and release notes)."""


@lru_cache(maxsize=512)
def code(gpu: GpuModel, asked: Version) -> Code:
    """Returns how images of CUDA ``asked`` run on ``gpu``."""
    if asked > gpu.cuda_last and not gpu.ongoing:
        return Code("dropped")
    if asked >= gpu.cuda_first:
        return Code("native", _sm(gpu.compute), beyond=asked > gpu.cuda_last)
    older = max(
        (
            other.compute
            for other in gpu_models().values()
            if other.compute[0] == gpu.compute[0]
            and other.compute[1] < gpu.compute[1]
            and other.cuda_first <= asked
            and (other.ongoing or asked <= other.cuda_last)
        ),
        default=None,
    )
    return Code("compatible", _sm(older)) if older else Code("ptx")


def toolkit_driver(asked: str) -> str | None:
    """Returns the minimum driver that CUDA ``asked`` was released with, None if it is not in the table."""
    return TOOLKIT_DRIVERS.get(version(asked))


def minor_driver(asked: str) -> str | None:
    """Minimum driver of CUDA ``asked`` by minor-version compatibility; None before CUDA 11 and after the table."""
    return MINOR_DRIVERS.get(version(asked)[0])


def driver(text: str) -> Driver | None:
    """Returns a driver version as numbers, None if the text is not one: ``515.43.04`` is ``(515, 43, 4)``."""
    parts = text.split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else None


def _sm(compute: Version) -> str:
    return f"sm_{compute[0]}{compute[1]}"
