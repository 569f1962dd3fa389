"""The table of docs/performance.md: all measurements in one run, as Markdown. ``make bench`` runs it.

It compares with ``kubectl kustomize`` and ``helm template`` of the same objects, which build one overlay or release per
process, and on a lab with ``kubectl diff`` and ``pulumi preview``. The first run builds Helm.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from run import MODELYARD, Run, generate, measure, overlays  # noqa: E402

from lab.build import cache_folder, ready_toolset, to_stderr  # noqa: E402
from lab.golang import find_go  # noqa: E402

HELM = "v3.19.2"
COUNTS = (1, 10, 100, 1000)
ROUNDS = 5
"""Runs of the smallest count; the median counts."""


class Row(NamedTuple):
    """One line of the table."""

    what: str
    count: int
    """Stacks, overlays or releases."""
    run: Run
    growth: float | None = None
    """Exponent with which processor time grows from the next smaller count."""
    ratio: float | None = None
    """Time, divided by that of modelyard for the same work."""


def helm() -> Path:
    """Helm, built once into the cache of the lab."""
    folder = cache_folder() / f"helm-{HELM}"
    program = folder / "helm"
    if not program.exists():
        go = find_go(cache_folder(), to_stderr)
        to_stderr(f"building Helm {HELM} into {folder}: about four minutes")
        install = [str(go.command), "install", "-trimpath", f"helm.sh/helm/v3/cmd/helm@{HELM}"]
        subprocess.run(install, env={**go.env, "GOBIN": str(folder)}, check=True)
    return program


def chart(folder: Path, objects: str) -> Path:
    """A chart of these objects, whose namespace is a value."""
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: platform\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text("namespace: ml-platform\n")
    text = objects.replace("namespace: ml-platform", "namespace: {{ .Values.namespace }}")
    (folder / "templates" / "objects.yaml").write_text(text)
    return folder


def in_turn(command: list[str], count: int) -> Run:
    """Runs a command as many times, one after another."""
    runs = [measure(command) for _ in range(count)]
    return Run(sum(one.wall for one in runs), sum(one.cpu for one in runs), max(one.peak for one in runs))


def offline(work: Path, counts: tuple[int, ...]) -> Iterator[Row]:
    """Plans, overlays and releases of the same objects, in turn for each count."""
    kubectl = str(ready_toolset().bin / "kubectl")
    ordinary, _ = overlays(work / "overlay")
    objects = subprocess.run([kubectl, "kustomize", str(ordinary)], capture_output=True, text=True, check=True).stdout
    release = chart(work / "chart", objects)
    before: dict[str, tuple[int, Run]] = {}
    for count in counts:
        project = work / f"project-{count}"
        project.mkdir()
        generate(project, count)
        commands = {
            "modelyard plan --all": ([str(MODELYARD), "-C", str(project), "plan", "--all"], 1),
            "kubectl kustomize": ([kubectl, "kustomize", str(ordinary)], count),
            "helm template": ([str(helm()), "template", "platform", str(release)], count),
        }
        rounds = [
            {name: in_turn(command, times) for name, (command, times) in commands.items()}
            for _ in range(ROUNDS if count == 1 else 1)
        ]
        taken = {
            name: sorted((one[name] for one in rounds), key=lambda run: run.wall)[len(rounds) // 2] for name in commands
        }
        for name, run in taken.items():
            growth = None
            if name in before:
                smaller, earlier = before[name]
                growth = math.log(run.cpu / earlier.cpu) / math.log(count / smaller)
            yield Row(name, count, run, growth, run.wall / taken["modelyard plan --all"].wall)
            before[name] = (count, run)


def other(program: str, *words: str) -> Any:
    """The result of another of these programs."""
    command = [sys.executable, str(ROOT / "benchmarks" / program), *words, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def of_figures(taken: Mapping[str, float]) -> Run:
    """What another program reports, as a run."""
    return Run(taken["seconds"], taken["cpu_seconds"], int(taken["peak_mb"] * 1e6))


def others(stacks: int) -> Iterator[Row]:
    """The measurements of the other programs."""
    live = {name: of_figures(taken) for name, taken in other("live.py").items()}
    for name, run in live.items():
        yield Row(f"{name}, on a lab", 1, run, ratio=run.wall / live["modelyard plan --live"].wall)
    kubectl = str(ready_toolset().bin / "kubectl")
    preview = other("preview.py", "--kubectl", kubectl, "--stacks", str(stacks))
    yield Row(f"modelyard preview, {preview['changed']} of them changed", stacks, of_figures(preview["branch"]))
    clusters = other("preview_live.py", "--stacks", str(min(stacks, 50)))
    yield Row("modelyard preview --live, each in its own cluster", clusters["stacks"], of_figures(clusters["live"]))
    for row in other("pool.py", "--runs", "1")[-2:]:
        size = f"{row['nodes']:,} different nodes, {row['jobs']:,} jobs"
        yield Row(f"modelyard {row['verb']}, {size}", 1, of_figures(row))


def text(rows: list[Row]) -> Iterator[str]:
    """The lines of the table."""
    machine = f"{len(os.sched_getaffinity(0))} cores ({_processor()}), Python {platform.python_version()}, Helm {HELM}"
    yield f"Measured on {date.today()} on {machine}."
    yield ""
    yield "| command | count | time | CPU | memory | growth of CPU | time, compared with modelyard |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        memory = f"{row.run.peak / 1e6:.0f} MB"
        growth = "" if row.growth is None else f"count^{row.growth:.2f}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        command, comma, rest = row.what.partition(", ")
        yield (
            f"| `{command}`{comma}{rest} | {row.count:,} | {row.run.wall:.2f} s | {row.run.cpu:.2f} s | {memory} "
            f"| {growth} | {ratio} |"
        )


def _processor() -> str:
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if "model name" in line
    ]
    return names[0] if names else platform.machine()


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS, help="stacks of the projects, ascending")
    parser.add_argument("--offline", action="store_true", help="leave out the lab, previews and large pools")
    args = parser.parse_args()
    os.environ["MODELYARD_NO_CACHE"] = "1"
    with tempfile.TemporaryDirectory() as name:
        rows = list(offline(Path(name), tuple(args.counts)))
    if not args.offline:
        rows += others(max(args.counts))
    print("\n".join(text(rows)))


if __name__ == "__main__":
    main()
