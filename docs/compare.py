"""Runs the comparison with other products: ``python docs/compare.py`` runs each row's command and prints what it shows.

``--mutate`` takes each feature out of a copy of the product, by the change of one line that its row names, and prints
whether the row notices: ``killed`` if it fails, ``survived`` if not, ``broken`` if nothing runs any more. Rows that a
test of the lab shows are not run.
"""

import argparse
import contextlib
import io
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generators.compared import Row, compared, merged
from generators.paths import ROOT

_STACKS = ("dev", "staging", "prod")
_COPIED = ("modelyard", "patches", "stacks", "docs")


def project(folder: Path) -> Path:
    """A copy of the project in which rows run one after another."""
    for name in ("patches", "stacks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    return folder


def problems(row: Row, folder: Path) -> list[str]:
    """What the row's commands do in a project and should not; nothing if the row is true."""
    found = _compare(row.run, folder, row.stack, row.files, row.exit, row.expect, row.file)
    if row.refusal:
        found += _compare(row.refused_run, folder, row.refused, row.files, row.refused_exit, row.refusal)
    return found


def _compare(
    command: str,
    folder: Path,
    settings: Mapping[str, Any],
    files: Mapping[str, str],
    code: int,
    texts: Sequence[str],
    written: str = "",
) -> list[str]:
    words = shlex.split(command)[1:]
    stack = f"stacks/Pulumi.{next((word for word in words if word in _STACKS), _STACKS[0])}.yaml"
    example = yaml.safe_load((ROOT / stack).read_text(encoding="utf-8"))["config"]
    config = merged(example, {f"modelyard:{key}": value for key, value in settings.items()})
    for name, text in {**files, stack: yaml.safe_dump({"config": config}, sort_keys=False, width=1000)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if written:
        (folder / written).unlink(missing_ok=True)
    real, output = _run(words, folder)
    found = [] if real == code else [f"{command}: exit code {real}, not {code}:\n{output}"]
    if written:
        path = folder / written
        output = path.read_text(encoding="utf-8") if path.exists() else f"{written} is not there"
    rest = " ".join(output.split())
    for text in texts:
        _, there, rest = rest.partition(" ".join(text.split()))
        if not there:
            return [*found, f"{command} does not print {text!r}, or not in this place:\n{output}"]
    return found


def _run(words: Sequence[str], folder: Path) -> tuple[int, str]:
    """Exit code and output of the command line, in this process."""
    from modelyard.cli import main
    from modelyard.plan.project import library_of

    library_of.cache_clear()
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), contextlib.chdir(folder):
        try:
            code = int(main(list(words)))
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, output.buffer.getvalue().decode()  # type: ignore[attr-defined]


def _rows(names: Sequence[str]) -> Iterator[Row]:
    for each in compared():
        yield from (row for row in each.rows if not names or row.name in names)


def _print_all(names: Sequence[str]) -> bool:
    """Prints the result of each row; returns whether all are true."""
    good = True
    with tempfile.TemporaryDirectory() as folder:
        place = project(Path(folder))
        for row in _rows(names):
            found = problems(row, place) if row.run else []
            result = "FALSE" if found else "true" if row.run else "lab" if row.lab else "not yet"
            print(f"{result:8} {row.name:40} {row.run or row.lab}", *found, sep="\n")  # noqa: T201
            good &= not found
    return good


def _mutate(names: Sequence[str]) -> bool:
    """Prints whether each row that runs notices its mutation; returns whether all do."""
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in _COPIED:
            shutil.copytree(ROOT / name, Path(folder, name), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "Pulumi.yaml", folder)
        for row in _rows(names):
            if row.run and row.mutate:
                result = _without(row, Path(folder))
                survived += result != "killed"
                print(f"{result:8} {row.name:40} {row.mutate.file}", flush=True)  # noqa: T201
    return not survived


def _without(row: Row, copy: Path) -> str:
    """What becomes of a row in a copy of the repository that has its mutation. A released patch may change there."""
    assert row.mutate is not None
    path, lock = copy / row.mutate.file, copy / "patches" / "patches.lock"
    text = path.read_text(encoding="utf-8")
    locked = lock.read_text(encoding="utf-8")
    path.write_text(text.replace(row.mutate.old, row.mutate.new), encoding="utf-8")
    if row.mutate.file.startswith("patches/"):
        lock.write_text("", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        command = [sys.executable, copy / "docs" / "compare.py", row.name]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return (
            "survived" if done.returncode == 0 else "broken" if "Traceback" in done.stdout + done.stderr else "killed"
        )
    finally:
        path.write_text(text, encoding="utf-8")
        lock.write_text(locked, encoding="utf-8")


def main() -> int:
    """Runs all rows, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="rows, such as instabase/gpu-list (default: all)")
    parser.add_argument("--mutate", action="store_true", help="take each feature out of a copy, and run its row there")
    words = parser.parse_args()
    return 0 if (_mutate if words.mutate else _print_all)(words.names) else 1


if __name__ == "__main__":
    sys.exit(main())
