"""Builds the tools into the user's cache, once for all clones.

A hash of everything that a tool is built from names its folder, which appears whole or not at all; the toolset of a
clone is one folder of links into these folders. A second run only compares names.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.errors import LabError
from lab.golang import Go, find_go
from lab.tools import TOOLS, Copy, Tool
from lab.toolset import OVERRIDE, Toolset

HERE = Path(__file__).resolve().parent
_BUILD = ("build", "-mod=readonly", "-trimpath", "-buildvcs=false")
_SPARED = ("-gcflags=all=-dwarf=false",)
"""Writes no debugging data, which the linker would drop: a tenth of the build. Changes no binary, so not in a key."""
_SHAPE = "1"
"""Increased when this module changes the layout of a tool's folder."""

Say = Callable[[str], None]


def to_stderr(line: str) -> None:
    """Print a line for the user; standard output is for results."""
    print(line, file=sys.stderr, flush=True)


def cache_folder() -> Path:
    """The folder for all build results: below ``$XDG_CACHE_HOME``, or ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "modelyard" / "lab"


def ready_toolset() -> Toolset:
    """The tools of this clone; builds missing ones first.

    Raises:
        LabError: a tool cannot be built.
    """
    chosen = os.environ.get(OVERRIDE)
    if chosen:
        tools = Toolset(Path(chosen).resolve())
        if not (tools.bin / "kubectl").exists():
            raise LabError(f"{OVERRIDE}={chosen} has no bin/kubectl; unset it to have the tools built")
        return tools
    return build()


def build(say: Say = to_stderr) -> Toolset:
    """The toolset of this clone; builds missing tools, one at a time.

    Raises:
        LabError: Go is not available, or a build fails; the message has the end of its log.
    """
    cache = _made_cache()
    go = find_go(cache, say)
    folders = {tool: cache / f"{tool.name}-{key(tool, go)}" for tool in TOOLS}
    names = "\n".join(folder.name for folder in folders.values())
    toolset = Toolset(cache / f"toolset-{_digest(names.encode())}")
    if toolset.folder.exists():
        return toolset
    with _one_at_a_time(cache / "lock", say):
        if toolset.folder.exists():
            # Another build made the toolset while this one waited.
            return toolset
        missing = [tool for tool in TOOLS if not folders[tool].exists()]
        if missing:
            minutes = -(-sum(tool.seconds for tool in missing) // 60)
            say(f"building {len(missing)} of {len(TOOLS)} tools with {go.version} into {cache}: {_about(minutes)}")
        for number, tool in enumerate(missing, 1):
            _make(tool, go, folders[tool], say, f"[{number}/{len(missing)}] ")
        _assemble(toolset, list(folders.values()))
    return toolset


def build_alone(tool: Tool, say: Say = to_stderr) -> Path:
    """The binary of a tool outside the lab; builds it first if missing, which needs a C compiler.

    Raises:
        LabError: Go or a C compiler is not available, or the build fails.
    """
    cache = _made_cache()
    go = find_go(cache, say)
    folder = cache / f"{tool.name}-{key(tool, go)}"
    binary = folder / tool.to / tool.name
    if binary.exists():
        return binary
    if not any(map(shutil.which, ("gcc", "clang"))):
        raise LabError(f"{tool.name} needs a C compiler to be built; install gcc")
    with _one_at_a_time(cache / f"{tool.name}.lock", say):
        if not binary.exists():
            _make(tool, go._replace(env={**go.env, "CGO_ENABLED": "1"}), folder, say, "")
    return binary


def key(tool: Tool, go: Go) -> str:
    """Hash of everything that determines the content of the tool's folder."""
    sources = sorted(path for path in (HERE / tool.name).iterdir() if path.name in ("go.mod", "go.sum", "main.go"))
    parts = [_SHAPE, repr(tool._replace(seconds=0)), go.target, *_BUILD]
    parts += [f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in sources]
    return _digest("\n".join(parts).encode())


def _made_cache() -> Path:
    cache = cache_folder()
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"cannot make the cache folder {cache}: {error.strerror}") from error
    return cache


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _about(minutes: int) -> str:
    return "about a minute" if minutes == 1 else f"about {minutes} minutes on two cores"


@contextmanager
def _one_at_a_time(lock: Path, say: Say) -> Iterator[None]:
    with lock.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another build to end")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _make(tool: Tool, go: Go, folder: Path, say: Say, prefix: str) -> None:
    begun = time.monotonic()
    say(f"{prefix}{tool.name} {tool.version}: {_expected(tool.seconds)}")
    work = Path(tempfile.mkdtemp(prefix=f".{tool.name}-", dir=folder.parent))
    try:
        # Build in a copy, so that files copied beside main.go never land in the clone.
        source = work / "source"
        shutil.copytree(HERE / tool.name, source, ignore=shutil.ignore_patterns("*.json", "*.yaml"))
        result = work / "result"
        result.mkdir()
        log = work / "log"
        for copy in tool.copies:
            _copy(copy, tool, go, source=source, result=result, log=log)
        stamps = [f"-X {name}={text}" for name, text in tool.stamps]
        flags = " ".join(["-s", "-w", *stamps])
        made = ((tool.name, tool.package), *tool.also) if tool.package is not None else tool.also
        for name, package in made:
            binary = result / tool.to / name
            _go(go, [*_BUILD, *_SPARED, "-ldflags", flags, "-o", str(binary), package], source, log, tool.name)
        for alias in tool.aliases:
            (result / tool.to / alias).symlink_to(tool.name)
        result.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    say(f"{prefix}{tool.name} ready after {time.monotonic() - begun:.0f} s")


def _expected(seconds: int) -> str:
    return f"about {seconds} s" if seconds < 90 else f"about {round(seconds / 60)} min when nothing is cached"


def _copy(copy: Copy, tool: Tool, go: Go, *, source: Path, result: Path, log: Path) -> None:
    _go(go, ["mod", "download", copy.module], source, log, tool.name)
    listed = _go(go, ["list", "-mod=readonly", "-m", "-json", copy.module], source, log, tool.name)
    module = Path(json.loads(listed)["Dir"])
    target = source if copy.to == "source" else result / copy.to
    target.mkdir(parents=True, exist_ok=True)
    for pattern in copy.patterns:
        found = sorted(path for path in module.glob(pattern) if path.name != "kustomization.yaml")
        if not found:
            raise LabError(f"{tool.name}: {copy.module} has no {pattern}")
        for path in found:
            placed = target / path.name
            placed.write_bytes(path.read_bytes())
            placed.chmod(0o755 if copy.to == "bin" else 0o644)
            if copy.to == "source" and path.name == "schema.json":
                # The module's schema has no version; the engine refuses a provider without one.
                schema = json.loads(placed.read_text(encoding="utf-8"))
                placed.write_text(json.dumps({**schema, "version": tool.version}), encoding="utf-8")


def _go(go: Go, arguments: list[str], folder: Path, log: Path, name: str) -> str:
    with log.open("w+", encoding="utf-8") as stream:
        try:
            done = subprocess.run(
                [str(go.command), *arguments],
                cwd=folder,
                env=go.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stream,
                text=True,
                check=False,
            )
        except OSError as error:
            raise LabError(f"cannot run {go.command}: {error}") from error
        stream.seek(0)
        tail = "".join(stream.readlines()[-20:])
    if done.returncode:
        raise LabError(f"building {name} failed (go {arguments[0]}):\n{tail}{done.stdout[-2000:]}")
    return done.stdout


def _assemble(toolset: Toolset, folders: list[Path]) -> None:
    """Make one folder with everything, by hard links: Pulumi looks for its language hosts beside its own binary."""
    work = Path(tempfile.mkdtemp(prefix=".toolset-", dir=toolset.folder.parent))
    try:
        for folder in folders:
            shutil.copytree(folder, work, symlinks=True, dirs_exist_ok=True, copy_function=_link)
        work.chmod(0o755)
        work.rename(toolset.folder)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
