"""Runs the comparison with other products: ``python docs/compare.py`` runs each row's command and prints what it shows.

``--mutate`` takes each feature out of a copy of the product, by the change of one line that its row names, and prints
whether the row notices: ``killed`` if it fails, ``survived`` if not, ``broken`` if nothing runs any more. Rows that a
test of the lab shows are run with ``--lab``, and nothing else is: each takes a minute or more.
"""

import argparse
import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generators.compared import Call, Row, compared, merged
from generators.paths import ROOT, project

_STACKS = ("dev", "staging", "prod")
_COPIED = ("modelyard", "patches", "stacks", "docs")


def problems(row: Row, folder: Path) -> list[str]:
    """What the row's commands do in a project and should not; nothing if the row is true."""
    return [problem for call in row.calls for problem in _problems(call, row.files, folder)]


def _problems(call: Call, files: Mapping[str, str], folder: Path) -> Iterator[str]:
    words = shlex.split(call.command)[1:]
    stack = f"stacks/Pulumi.{next((word for word in words if word in _STACKS), _STACKS[0])}.yaml"
    example = yaml.safe_load((ROOT / stack).read_text(encoding="utf-8"))["config"]
    config = merged(example, {f"modelyard:{key}": value for key, value in call.stack.items()})
    for name, text in {**files, stack: yaml.safe_dump({"config": config}, sort_keys=False, width=1000)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if call.file:
        (folder / call.file).unlink(missing_ok=True)
    code, output = _run(words, folder)
    if code != call.exit:
        yield f"{call.command}: exit code {code}, not {call.exit}:\n{output}"
    if call.file:
        path = folder / call.file
        output = path.read_text(encoding="utf-8") if path.exists() else f"{call.file} was not written"
    rest = " ".join(output.split())
    for text in call.expect:
        _, there, rest = rest.partition(" ".join(text.split()))
        if not there:
            yield f"{call.command} does not print {text!r}, or not in this place:\n{output}"
            return


def _run(words: Sequence[str], folder: Path) -> tuple[int, str]:
    """Exit code and output of the command line, in this process."""
    from modelyard.cli import main
    from modelyard.plan.project import library_of

    library_of.cache_clear()
    written = io.BytesIO()
    output = io.TextIOWrapper(written, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), contextlib.chdir(folder):
        try:
            code = int(main(list(words)))
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, written.getvalue().decode()


def _rows(names: Sequence[str]) -> Iterator[Row]:
    for each in compared():
        yield from (row for row in each.rows if not names or row.name in names)


def _print_all(names: Sequence[str]) -> bool:
    """Prints the result of each row; returns whether all are true."""
    good = True
    with tempfile.TemporaryDirectory() as folder:
        place = project(Path(folder))
        for row in _rows(names):
            found = problems(row, place)
            result = "FALSE" if found else "true" if row.calls else "lab" if row.lab else "not yet"
            shown = row.calls[0].command if row.calls else row.lab
            print(f"{result:8} {row.name:40} {shown}", *found, sep="\n")  # noqa: T201
            good &= not found
    return good


def _mutate(names: Sequence[str], *, lab: bool) -> bool:
    """Prints whether each row that runs notices its mutation; returns whether all do."""
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        copied = sorted(path.name for path in ROOT.iterdir() if path.is_dir()) if lab else _COPIED
        for name in copied:
            if not name.startswith("."):
                shutil.copytree(ROOT / name, Path(folder, name), ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("Pulumi.yaml", "pyproject.toml", "README.md", "Makefile"):
            shutil.copy(ROOT / name, folder)
        for row in _rows(names):
            if row.mutate and (row.lab if lab else row.calls):
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
        tested = ("-m", "pytest", "-q", "-n", "0", row.lab)
        command = [sys.executable, *((str(copy / "docs" / "compare.py"), row.name) if row.calls else tested)]
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        if not done.returncode:
            return "survived"
        if not row.calls:
            # A fixture may need the feature as well; only a test that cannot be imported says nothing.
            return "killed" if re.search(r"^(FAILED|ERROR) \S+::", done.stdout, re.MULTILINE) else "broken"
        return (
            "broken" if re.search("^(Traceback|internal error)", done.stdout + done.stderr, re.MULTILINE) else "killed"
        )
    finally:
        path.write_text(text, encoding="utf-8")
        lock.write_text(locked, encoding="utf-8")


def main() -> int:
    """Runs all rows, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="rows, such as instabase/gpu-list (default: all)")
    parser.add_argument("--mutate", action="store_true", help="take each feature out of a copy, and run its row there")
    parser.add_argument("--lab", action="store_true", help="with --mutate, the rows that a test of the lab shows")
    words = parser.parse_args()
    return 0 if (_mutate(words.names, lab=words.lab) if words.mutate else _print_all(words.names)) else 1


if __name__ == "__main__":
    sys.exit(main())
