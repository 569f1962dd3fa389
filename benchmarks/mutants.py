"""How many small faults in the code the unit tests find: every change of a fixed sample, against the tests that run it.

``mutants.tsv`` has the sample: 100 places of each package, drawn from a seed, and one change at each (``mutations``). A
change is made in a copy of the repository and run with the unit test files that run its line, until the first failure.
``build/mutants/`` keeps which test file runs which lines, and the results as they come, so that a stopped run goes on.

    make mutants
    make mutants AGAIN=--again    # the survivors once more, after a change of the tests
"""

import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, NoReturn

import hypothesis.strategies  # noqa: F401
import jinja2  # noqa: F401
import pytest
import yaml  # noqa: F401
from coverage import Coverage, CoverageData
from mutations import PACKAGES, ROOT, SAMPLE, Mutant, bodies, find, modules, read, text, write

WORK = ROOT / "build" / "mutants"
COPY, MAP, RESULTS, OUTPUT = (WORK / name for name in ("copy", "map.json", "results.tsv", "output.txt"))
OPTIONS = ("-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=line", "--hypothesis-seed=0")
SECONDS = 10.0
"""CPU time of the test files of one process together, by the map, unless one alone takes longer."""
MOST = 60.0
"""CPU time of all test files of one change, by the map."""
PATIENCE = 3.0
"""After how many times its CPU time a process counts as hanging; the first seconds are for its start."""
WAIT = 1800
"""After how many seconds of clock time a process counts as hanging: one that waits takes no CPU time."""
MEMORY = 6 * 2**30
"""The address space of a process in bytes: a change may make a loop that fills memory."""


class Run(NamedTuple):
    """What one test file runs: its digest, the seconds of CPU time, and the lines of each module."""

    digest: str
    seconds: float
    lines: dict[str, list[int]]


def refresh() -> None:
    """Make the copy anew, with the times of the files, so that compiled ones stay valid."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)


def tested(files: list[str], seconds: float, traced: Path | None = None) -> tuple[str, str]:
    """Run test files in the copy until the first failure: ``survived``, ``killed`` or ``hung``, and by what.

    A fork of this program runs them: it has imported the libraries, which takes longer than most tests.
    """
    if (child := os.fork()) == 0:
        _child(files, seconds, traced)
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except BaseException:
        os.killpg(child, signal.SIGKILL)
        raise
    if code in (0, -signal.SIGXCPU, -signal.SIGALRM):
        return ("hung", " ".join(files)) if code else ("survived", "")
    output = OUTPUT.read_text(errors="replace")
    # Below 0: it crashed; 1: a test failed; 2: a module of tests could not be imported; 4: nor could what they share.
    if code > 2 and not (code == 4 and "while loading conftest" in output):
        raise SystemExit(f"error: pytest could not run {' '.join(files)}:\n{output}")
    failed = (line for line in output.splitlines() if line.startswith(("FAILED", "ERROR")))
    return "killed", " ".join(next(failed, output[-200:]).split())


def _child(files: list[str], seconds: float, traced: Path | None) -> NoReturn:
    """Run the tests in a process group with limits, its output in a file; leave by the exit code of pytest."""
    code = 3
    try:
        os.setsid()
        signal.alarm(WAIT)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS + PATIENCE * seconds), -1))
        for stream in (1, 2):
            os.dup2(os.open(OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), stream)
        os.chdir(COPY)
        sys.path[0] = os.environ["PYTHONPATH"] = str(COPY)
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(WORK / "pycache")
        tracer = Coverage(str(traced), include=[f"{COPY}/{name}" for name in measured()]) if traced else None
        with tracer.collect() if tracer else nullcontext():
            code = pytest.main([*OPTIONS, *files])
        if tracer:
            tracer.save()
    finally:
        sys.stdout.flush()
        os._exit(code)


def measured() -> list[str]:
    """The modules of the packages, and those to which lines of the sample have moved."""
    moved = {row[1] for row in read(SAMPLE) if (ROOT / row[1]).is_file()}
    return sorted({name for package in PACKAGES for name in modules(package)} | moved)


def ran(name: str, digest: str) -> Run:
    """What a test file runs, by coverage; the end of the program if it fails without a change."""
    start, traced = sum(os.times()[2:4]), WORK / "coverage"
    traced.unlink(missing_ok=True)
    verdict, cause = tested([name], WAIT, traced)
    if verdict != "survived":
        raise SystemExit(f"error: {name} fails without a change: {cause}")
    seconds = round(sum(os.times()[2:4]) - start, 1)
    (data := CoverageData(str(traced))).read()
    lines = {str(Path(file).relative_to(COPY)): data.lines(file) or [] for file in data.measured_files()}
    print(f"{seconds:6.1f} s  {name}", flush=True)
    return Run(digest, seconds, lines)


def mapped() -> dict[str, Run]:
    """Which unit test file runs which lines; all run after a change of measured modules, else new and changed ones."""
    known = {name: Run(*run) for name, run in json.loads(MAP.read_bytes()).items()} if MAP.exists() else {}
    runs = dict[str, Run]()
    sources = "".join(text(name) for name in measured()).encode()
    for path in sorted((ROOT / "tests" / "unit").rglob("test_*.py")):
        name, digest = path.relative_to(ROOT).as_posix(), hashlib.sha256(sources + path.read_bytes()).hexdigest()
        if name not in known or known[name].digest != digest:
            known[name] = ran(name, digest)
            MAP.write_text(json.dumps(known))
        runs[name] = known[name]
    return runs


def chosen(module: str, line: int, runs: dict[str, Run]) -> list[str]:
    """The test files that run the line; for a line outside functions those that run any of the module.

    Those in a folder named like a package of the module come first, then those that run little else. What would take
    more than ``MOST`` together is left out.
    """
    inside = bodies(text(module))

    def rank(name: str) -> tuple[bool, float]:
        share = len(runs[name].lines[module]) / sum(map(len, runs[name].lines.values()))
        return Path(name).parent.name not in module.split("/"), -share

    for wanted in ({line} & inside, inside, {line}):
        names = [name for name, run in runs.items() if wanted.intersection(run.lines.get(module, ()))]
        if names:
            names.sort(key=rank)
            spent = accumulate(runs[name].seconds for name in names)
            return [name for name, seconds in zip(names, spent, strict=True) if seconds <= MOST]
    return []


def tried(mutant: Mutant, runs: dict[str, Run]) -> tuple[str, str]:
    """Make the change in the copy and run its tests, a few files at a time: the verdict, and what failed."""
    if (change := find(mutant)) is None:
        return "gone", ""
    groups, room = list[list[str]](), 0.0
    for name in chosen(mutant.module, change.line, runs):
        room -= runs[name].seconds
        if not groups or room < 0:
            groups, room = [*groups, []], SECONDS - runs[name].seconds
        groups[-1].append(name)
    path = COPY / mutant.module
    path.write_text(change.code, encoding="utf-8")
    # A time of its own, so that no compiled file of another change is taken for it.
    os.utime(path, (stamp := int(hashlib.sha256(change.code.encode()).hexdigest()[:7], 16), stamp))
    verdicts = (tested(files, sum(runs[name].seconds for name in files)) for files in groups)
    verdict = next((one for one in verdicts if one[0] != "survived"), ("survived", ""))
    shutil.copy2(ROOT / mutant.module, path)
    return verdict


def main() -> None:
    """Run what has no result yet, and print the rates."""
    again = "--again" in sys.argv[1:]
    sample = [Mutant(row[0], row[1], int(row[2]), *row[3:]) for row in read(SAMPLE)]
    refresh()
    runs = mapped()
    known = {tuple(row[:-2]): (row[-2], row[-1]) for row in read(RESULTS)}
    results = {one: known[key] for one in sample if (key := tuple(map(str, one))) in known}
    for mutant in sample:
        if mutant not in results or (again and results[mutant][0] == "survived"):
            results[mutant] = tried(mutant, runs)
            write(RESULTS, [(*mutant, *results[mutant])], mode="a")
            print(results[mutant][0], f"{mutant.module}:{mutant.line}", mutant.after, sep="\t", flush=True)
    for package in PACKAGES:
        counts = Counter(results[one][0] for one in sample if one.package == package)
        rate = 1 - counts["survived"] / max(1, counts.total() - counts["gone"])
        print(f"{package}: {rate:.0%} killed ({', '.join(f'{count} {verdict}' for verdict, count in counts.items())})")


if __name__ == "__main__":
    main()
