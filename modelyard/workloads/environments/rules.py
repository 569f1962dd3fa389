"""Checks the Python environments of a stack, and what names them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from modelyard.findings import Finding, Severity
from modelyard.hardware import cuda, resolve
from modelyard.hardware.gpu_models import version
from modelyard.hardware.nodes import driver_verdict
from modelyard.kube.state import Node
from modelyard.patterns import regex
from modelyard.stack.config import Config, Stack, StackPath
from modelyard.stack.environments import Environment, Fault, Pinned
from modelyard.stack.jobs import Job, Resource
from modelyard.stack.names import instead, named_twice
from modelyard.workloads.environments.lists import canonical
from modelyard.workloads.facts.environments import image_of

NAME_AN_IMAGE: Final = "set image of the job, of its resource, or of modelyard:runtime"
"""Remedy for a job without an image."""
_INTO_IMAGE: Final = "put the packages into the image, and drop the Python environment"
NOTEBOOKS: Final = ("papermill", "ipykernel")
"""Packages that every notebook needs."""


def check_environments(stack: Stack, nodes: Iterable[Node] = ()) -> Iterator[Finding]:
    """Yields findings about environments and about jobs, resources and notebooks that name one.

    Args:
        stack: the stack with the content of its files (:func:`modelyard.workloads.environments.with_files`).
        nodes: nodes whose drivers run the packages; without nodes, the platform's CUDA gives the oldest driver.
    """
    config = stack.config
    yield from check_lists(stack)
    there = tuple(nodes)
    for index, environment in enumerate(config.environments):
        yield from _own(stack, index, environment)
        yield from _drivers(stack, index, environment, there)
    known = {one.name: one for one in config.environments}
    for index, job in enumerate(config.jobs):
        yield from _job(stack, index, job, known)
    for index, resource in enumerate(config.resources):
        yield from _resource(stack, index, resource, known)
    yield from _notebooks(stack, known)


def check_lists(stack: Stack) -> Iterator[Finding]:
    """Yields the findings about names and lists that keep environments from being locked, whatever their locks hold."""
    yield from named_twice(stack, "ENV001", "environments")
    for index, environment in enumerate(stack.config.environments):
        for fault in environment.files.faults if environment.files is not None else ():
            if not _of_lock(fault):
                yield _fault(stack, index, environment, fault, "ENV002")


def environment_of(job: Job, resource: Resource | None) -> str | None:
    """Returns the name of the environment of a job's runs."""
    return job.environment or (resource.environment if resource is not None else None)


def has_image(config: Config, job: Job, resource: Resource | None) -> bool:
    """Whether a job has an image."""
    remote = resource.remote.image if resource is not None and resource.remote is not None else None
    named = job.image or (resource is not None and resource.image) or remote or config.runtime.image
    return bool(named) or environment_of(job, resource) is not None


def _own(stack: Stack, index: int, environment: Environment) -> Iterator[Finding]:
    """Checks that the environment can be built."""
    where: StackPath = ("environments", index)
    name, files = environment.name, environment.files
    if image_of(stack.config, environment) is None:
        yield stack.finding(
            "ENV006",
            Severity.ERROR,
            where,
            f"Python environment {name} has no image for its build",
            "set its image, or that of modelyard:runtime",
        )
    if files is None:
        return
    if files.faults:
        for fault in files.faults:
            if _of_lock(fault):
                yield _fault(stack, index, environment, fault, "ENV005")
        return
    again = f"run modelyard environment lock {stack.name} {name}, then commit {files.lock_file}"
    if files.lock is None:
        yield stack.finding(
            "ENV004",
            Severity.ERROR,
            where,
            f"Python environment {name} is not locked, so its package versions are unknown",
            again,
            detail=f"{files.lock_file} does not exist",
        )
    elif files.lock.made_of != files.made_of:
        locked = files.lock.python
        if locked != environment.python:
            other = f"for Python {locked}, not {environment.python}"
        elif environment.conda:
            other = "from other lists, channels or another CUDA version"
        else:
            other = "from another list"
        yield stack.finding(
            "ENV005",
            Severity.ERROR,
            where,
            f"Python environment {name} was locked {other}",
            again,
            detail=f"{files.lock_file} is shared by all stacks with a Python environment of this name",
        )


def _of_lock(fault: Fault) -> bool:
    """Whether a fault is in the environment's lock, not in what the stack file names."""
    return bool(fault.file) and not fault.key


def _fault(stack: Stack, index: int, environment: Environment, fault: Fault, code: str) -> Finding:
    """Returns a fault at its place: its file, or the key of the stack file that names a file without the line."""
    path: tuple[str | int, ...] = ("environments", index)
    path = (*path, fault.key) if fault.key else path
    path = (*path, fault.item) if fault.item is not None else path
    about = fault.file or f"Python environment {environment.name}"
    finding = stack.finding(code, Severity.ERROR, path, f"{about} {fault.summary}", fault.remedy)
    if fault.line or _of_lock(fault):
        return finding._replace(file=fault.file, line=fault.line, column=1 if fault.line else 0)
    return finding


def _drivers(stack: Stack, index: int, environment: Environment, nodes: Collection[Node]) -> Iterator[Finding]:
    """Checks that the CUDA of its packages runs with the drivers and the GPU."""
    files, platform = environment.files, stack.config.platform
    if files is None or files.lock is None or files.faults:
        return
    gpu = resolve(stack.config.gpu.model)
    for asked, package in cuda_of(files.lock.packages):
        shown = f"{package.name} {package.version}"
        if gpu is not None and cuda.code(gpu, version(asked)).mode == "dropped":
            last = ".".join(map(str, gpu.cuda_last))
            yield stack.finding(
                "ENV007",
                Severity.WARNING,
                ("environments", index),
                f"Python environment {environment.name} has {shown} for CUDA {asked}, which does not run on the "
                f"{gpu.short}",
                f"use versions for CUDA {last} or older",
            )
            continue
        floor, promised = cuda.minor_driver(asked), cuda.toolkit_driver(platform.cuda)
        verdicts = [driver_verdict(node.labels, asked) for node in nodes]
        old = sorted({one.version for one in verdicts if one.runs is False})
        stated = any(one.runs is not None for one in verdicts)
        have, least = (cuda.driver(text or "") for text in (promised, floor))
        if old:
            why = f"nodes have driver {', '.join(old[:4])}"
        elif not stated and have is not None and least is not None and have < least:
            why = f"the platform's CUDA {platform.cuda} guarantees only driver {promised}; no label shows a newer one"
        else:
            continue
        yield stack.finding(
            "ENV007",
            Severity.WARNING,
            ("environments", index),
            f"Python environment {environment.name} has {shown} for CUDA {asked}, which needs driver {floor}: {why}",
            f"use versions for CUDA {platform.cuda.partition('.')[0]}, or upgrade the drivers to {floor} or newer",
        )


def _unknown(stack: Stack, path: StackPath, who: str, name: str, known: Collection[str]) -> Finding:
    return stack.finding(
        "ENV003",
        Severity.ERROR,
        path,
        f"{who} {'use' if who == 'notebooks' else 'uses'} Python environment {name}, which is not defined",
        instead(name, known, "Python environments"),
    )


def _unfit(stack: Stack, path: StackPath, who: str, *, name: str, why: str, remedy: str) -> Finding:
    return stack.finding("ENV006", Severity.ERROR, path, f"{who} cannot use Python environment {name}: {why}", remedy)


def _job(stack: Stack, index: int, job: Job, known: Mapping[str, Environment]) -> Iterator[Finding]:
    resource = next((one for one in stack.config.resources if one.name == job.resource), None)
    who, where = f"job {job.name}", ("jobs", index, "environment" if job.environment else "resource")
    if job.environment is not None and job.environment not in known:
        yield _unknown(stack, where, who, job.environment, known)
        return
    environment = known.get(environment_of(job, resource) or "")
    if environment is None:
        return
    name, image = environment.name, image_of(stack.config, environment)
    if job.environment is not None and resource is not None and resource.remote is not None:
        yield _unfit(stack, where, who, name=name, why="it runs outside the home cluster", remedy=_INTO_IMAGE)
        return
    if job.environment is not None and not job.command:
        yield _unfit(
            stack,
            where,
            who,
            name=name,
            why="it has no command, so the pods of its resource do its work",
            remedy="give it a command",
        )
    if job.engine == "ray":
        remedy = f"set engine: job, or {_INTO_IMAGE}"
        yield _unfit(stack, where, who, name=name, why="Ray workers run the Python of their image", remedy=remedy)
    if job.image is not None and job.image != image:
        remedy = "drop the job's image, or the Python environment"
        yield _unfit(
            stack, where, who, name=name, why=f"its image is {job.image}, but {name} is for {image}", remedy=remedy
        )


def _resource(stack: Stack, index: int, resource: Resource, known: Mapping[str, Environment]) -> Iterator[Finding]:
    if resource.environment is None:
        return
    who, where = f"resource {resource.name}", ("resources", index, "environment")
    if resource.environment not in known:
        yield _unknown(stack, where, who, resource.environment, known)
        return
    environment = known[resource.environment]
    name, image = environment.name, image_of(stack.config, environment)
    shared = [job.name for job in stack.config.jobs if job.resource == resource.name and not job.command]
    if resource.remote is not None:
        yield _unfit(stack, where, who, name=name, why="its jobs run outside the home cluster", remedy=_INTO_IMAGE)
    elif shared:
        remedy = f"give these jobs a command, or {_INTO_IMAGE}"
        why = f"its pods run the program of their image, for {', '.join(shared[:4])}"
        yield _unfit(stack, where, who, name=name, why=why, remedy=remedy)
    if resource.image is not None and resource.image != image:
        why = f"its image is {resource.image}, but {name} is for {image}"
        yield _unfit(
            stack, where, who, name=name, why=why, remedy="drop the resource's image, or the Python environment"
        )


def _notebooks(stack: Stack, known: Mapping[str, Environment]) -> Iterator[Finding]:
    name, where = stack.config.notebooks.environment, ("notebooks", "environment")
    if name is None:
        return
    if name not in known:
        yield _unknown(stack, where, "notebooks", name, known)
        return
    environment = known[name]
    own, image = stack.config.notebooks.image, image_of(stack.config, environment)
    if own is not None and own != image:
        why = f"their image is {own}, but {name} is for {image}"
        yield _unfit(stack, where, "notebooks", name=name, why=why, remedy="drop image of notebooks")
    lock = environment.files.lock if environment.files is not None else None
    have = {canonical(one.name) for one in lock.packages} if lock is not None else set(NOTEBOOKS)
    if missing := [one for one in NOTEBOOKS if one not in have]:
        yield stack.finding(
            "ENV008",
            Severity.ERROR,
            where,
            f"Python environment {name} has no {' and no '.join(missing)}, so notebooks cannot run in it",
            f"add {' and '.join(missing)} to its list and lock it again",
        )


# The CUDA versions that the packages of a lock bring, from their names and versions alone.
#
# Three forms are in use for pip: a local version (`torch 2.0.1+cu118`), NVIDIA's own runtime
# (`nvidia-cuda-runtime-cu12 12.1.105`, from CUDA 13 on without the suffix), and names with a major version
# (`cupy-cuda12x`). In conda channels CUDA is a separate package: `cudatoolkit` up to 11.8, later `cuda-cudart`.
_LOCAL: Final = regex(r"\+cu(\d{2})(\d)(?:\D|$)")
_RUNTIME: Final = regex(r"nvidia-cuda-runtime(-cu\d{2})?")
_MAJOR: Final = regex(r".+-cuda(\d{2})x")
_CONDA: Final = ("cudatoolkit", "cuda-cudart")
_VERSION: Final = regex(r"(\d{2})\.(\d{1,2})(?:\.|$)")


def cuda_of(packages: Iterable[Pinned]) -> tuple[tuple[str, Pinned], ...]:
    """Returns the CUDA versions that packages bring, as ``11.8``, each with one of its packages.

    For a name with only a major version, this is the first release of that version.
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
