"""Which CUDA the packages of a lock bring, by their names and versions alone.

Three forms are in use for pip: a local version (``torch 2.0.1+cu118``), NVIDIA's own runtime
(``nvidia-cuda-runtime-cu12 12.1.105``, from CUDA 13 on without the suffix), and names with a major version
(``cupy-cuda12x``). From conda channels CUDA is a package of its own: ``cudatoolkit`` up to 11.8, later ``cuda-cudart``.
"""

import re
from collections.abc import Iterable
from typing import Final

from modelyard.stack.environments import Pinned
from modelyard.workloads.environments.lists import canonical

_LOCAL: Final = re.compile(r"\+cu(\d{2})(\d)(?:\D|$)")
_RUNTIME: Final = re.compile(r"nvidia-cuda-runtime(-cu\d{2})?")
_MAJOR: Final = re.compile(r".+-cuda(\d{2})x")
_CONDA: Final = ("cudatoolkit", "cuda-cudart")
_VERSION: Final = re.compile(r"(\d{2})\.(\d{1,2})(?:\.|$)")


def cuda_of(packages: Iterable[Pinned]) -> tuple[tuple[str, Pinned], ...]:
    """The CUDA versions that packages bring, as ``11.8``, each with the package; one for each version.

    Of a name with a major version alone the first of that version is taken.
    """
    found: dict[str, Pinned] = {}
    for package in packages:
        name = canonical(package.name)
        if package.source == "conda":
            if name in _CONDA and (own := _VERSION.match(package.version)):
                found.setdefault(f"{own[1]}.{own[2]}", package)
        elif local := _LOCAL.search(package.version):
            found.setdefault(f"{local[1]}.{local[2]}", package)
        elif _RUNTIME.fullmatch(name) and (runtime := _VERSION.match(package.version)):
            found.setdefault(f"{runtime[1]}.{runtime[2]}", package)
        elif major := _MAJOR.fullmatch(name):
            found.setdefault(f"{major[1]}.0", package)
    return tuple(sorted(found.items()))
