"""What a cached result is keyed by, and what computing it uses: the program of a new Python.

Runs a command line without a cache. Prints a JSON object to standard error: for each phase, ``key`` and ``run``, what
it opens, lists, looks for, and reads of the environment. Arguments: the project, and the words of the command line.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from modelyard.cli import cache, main, preview
from modelyard.preview.project import stack_files

KINDS = ("opened", "listed", "sought", "variables")
PHASES: dict[str, dict[str, set[str]]] = {
    phase: {kind: set() for kind in KINDS} for phase in ("before", "key", "run", "after")
}
_now = "before"


def begin(phase: str) -> None:
    """From now on, what is used counts for this phase."""
    global _now
    _now = phase


def heard(event: str, args: tuple[Any, ...]) -> None:
    kind = {"open": "opened", "os.listdir": "listed", "os.scandir": "listed"}.get(event)
    if kind is not None and not isinstance(args[0], int):
        note(kind, args[0])


def note(kind: str, path: Any) -> None:
    PHASES[_now][kind].add(os.path.abspath(os.fsdecode(path or ".")))  # noqa: PTH100 (links stay links)


def noted(look: Callable[..., Any]) -> Callable[..., Any]:
    def call(path: Any, *args: Any, **options: Any) -> Any:
        if not isinstance(path, int):
            note("sought", path)
        return look(path, *args, **options)

    return call


class Variables(dict[str, str]):
    """The environment, which notes each name that is looked up."""

    def __getitem__(self, name: str) -> str:
        PHASES[_now]["variables"].add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        PHASES[_now]["variables"].add(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        PHASES[_now]["variables"].add(str(name))
        return super().__contains__(name)


def run(root: Path, words: Sequence[str]) -> int:
    """Runs a command line, and says in which phase it is."""
    computed = cache.results

    def results(_: Any, files: Sequence[Path], *rest: Any) -> Iterator[Any]:
        begin("key")
        cache.Cache(Path(os.devnull), root, {}).key(files[0])
        begin("run")
        yield from computed(None, files, *rest)
        begin("after")

    previewed = preview._computed

    def computed_preview(*args: Any, **rest: Any) -> Any:
        begin("key")
        cache.Cache(Path(os.devnull), root, {}).of_project(stack_files(root).values(), rest["span"].paths, "")
        begin("run")
        found = previewed(*args, **rest)
        begin("after")
        return found

    cache.results = results  # type: ignore[assignment]
    preview._computed = computed_preview
    sys.addaudithook(heard)
    for name in ("stat", "lstat", "readlink", "access"):
        setattr(os, name, noted(getattr(os, name)))
    os.environ = Variables(os.environ)  # type: ignore[assignment]  # noqa: B003 (the same variables)
    return main(words)


if __name__ == "__main__":
    code = run(Path(sys.argv[1]), sys.argv[2:])
    begin("after")
    found = {phase: {kind: sorted(names) for kind, names in kinds.items()} for phase, kinds in PHASES.items()}
    sys.stderr.write("\n" + json.dumps({**found, "code": code}))
