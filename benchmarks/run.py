"""How fast a plan is, as ratios against ``kubectl kustomize`` in the same run.

Two measurements, whole processes, with the operating system's own accounting:

- one stack: ``modelyard plan dev``, cold and unchanged, against ``kubectl kustomize`` of an overlay of the same
  objects, in turn;
- many stacks: ``modelyard plan --all`` over a generated project in which every stack has parameters of its own, cold,
  unchanged, and with 20 changed stacks.

Cold is without results of earlier runs; they are kept in a folder of this run. Quote the ratios and medians; single
times depend on the machine.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MODELYARD = ROOT / ".venv" / "bin" / "modelyard"
COLD = {**os.environ, "MODELYARD_NO_CACHE": "1"}
CHANGED = 20
"""Stacks of the large project that change between two runs."""


class Run(NamedTuple):
    """One finished process."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds, user and system."""
    peak: int
    """Bytes of the largest process."""


def measure(command: list[str], variables: Mapping[str, str] = os.environ) -> Run:
    """Runs a command with its output thrown away, with these variables.

    Raises:
        SystemExit: the command could not do its work.
    """
    environment = {name: value for name, value in variables.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"{' '.join(command)} failed:\n{errors.decode()}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def median(values: list[float]) -> float:
    """The middle value."""
    return sorted(values)[len(values) // 2]


def figures(taken: list[Run]) -> dict[str, float]:
    """What runs of one command took."""
    return {
        "seconds": median([run.wall for run in taken]),
        "cpu_seconds": median([run.cpu for run in taken]),
        "peak_mb": max(run.peak for run in taken) / 1e6,
    }


def overlays(work: Path) -> tuple[Path, Path]:
    """Two overlays of the objects that ``plan dev`` plans: with strategic merge patches, as people write them, and with
    the JSON Patches that ``render --format kustomize`` writes.
    """
    modelyard = [str(MODELYARD), "-C", str(ROOT)]
    subprocess.run(
        [*modelyard, "render", "dev", "--format", "kustomize", "--out", str(work)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    plan = json.loads(subprocess.run([*modelyard, "plan", "dev", "--json"], check=True, capture_output=True).stdout)
    rendered, ordinary = work / "dev", work / "ordinary"
    shutil.copytree(rendered / "base", ordinary / "base")
    patches = []
    for target in plan["targets"]:
        path = ordinary / f"{target['name']}.yaml"
        path.write_text(json.dumps(target["applied"]))
        patches.append({"path": path.name})
    resources = sorted(f"base/{path.name}" for path in (ordinary / "base").iterdir())
    kustomization = {"kind": "Kustomization", "resources": resources, "patches": patches}
    (ordinary / "kustomization.yaml").write_text(json.dumps(kustomization))
    return ordinary, rendered


def one_stack(kubectl: list[str], work: Path, runs: int) -> dict[str, float]:
    """Cold plans of one stack and builds of overlays of the same objects, in turn."""
    ordinary, rendered = overlays(work)
    plan = [str(MODELYARD), "-C", str(ROOT), "plan", "dev"]
    commands = {
        "plan": (plan, COLD),
        "unchanged": (plan, _cached(work)),
        "kustomize": ([*kubectl, "kustomize", str(ordinary)], os.environ),
        "kustomize_json_patches": ([*kubectl, "kustomize", str(rendered)], os.environ),
        "python": ([str(MODELYARD.with_name("python")), "-c", ""], os.environ),
    }
    rounds = [{name: measure(*command) for name, command in commands.items()} for _ in range(runs + 1)][1:]
    return {
        **{f"{name}_ms": median([each[name].wall for each in rounds]) * 1000 for name in commands},
        **{f"{name}_cpu_ms": median([each[name].cpu for each in rounds]) * 1000 for name in commands},
        "ratio": median([each["plan"].wall / each["kustomize"].wall for each in rounds]),
        "ratio_unchanged": median([each["unchanged"].wall / each["kustomize"].wall for each in rounds]),
        "ratio_json_patches": median([each["plan"].wall / each["kustomize_json_patches"].wall for each in rounds]),
        "peak_mb": max(each["plan"].peak for each in rounds) / 1e6,
    }


def generate(folder: Path, count: int) -> None:
    """A project of ``count`` stacks, each with sizes of its own and a recorded platform of its own."""
    shutil.copytree(ROOT / "patches", folder / "patches")
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    stacks = folder / "stacks"
    stacks.mkdir()
    recorded = ROOT / "stacks" / "recorded" / "dev"
    for number in range(count):
        name = f"s{number:04}"
        (stacks / f"Pulumi.{name}.yaml").write_text(
            f"""config:
  kubernetes:context: dev
  modelyard:training: {"ray" if number % 2 else "celery"}
  modelyard:platform: {{release: "23.10", mode: existing, namespace: ml-platform}}
  modelyard:gpu: {{model: A10, perWorker: 1, allocation: single}}
  modelyard:modelService:
    {{replicas: {1 + number % 3}, cpu: {4 + number % 4}, memory: {16 + number % 16}Gi, volume: {50 + number}Gi}}
  modelyard:rayHead: {{cpu: {2 + number % 3}, memory: {16 + number % 7}Gi}}
  modelyard:rayWorker: {{replicas: 1, cpu: {4 + number % 8}, memory: {24000 + number}Mi}}
  modelyard:celery: {{replicas: 1, cpu: {4 + number % 5}, memory: {25000 + number}Mi, consumerTimeout: 6h30m}}
  modelyard:autoscaling: {{mode: none}}
  modelyard:waivers: [{{code: GPU001, reason: "number {number}", by: bench, expires: 2099-01-01}}]
"""
        )
        shutil.copytree(recorded, stacks / "recorded" / name)


def many_stacks(work: Path, count: int, runs: int) -> dict[str, float]:
    """Plans of every stack of a generated project, in one process each time."""
    project = work / f"project-{count}"
    project.mkdir()
    generate(project, count)
    command = [str(MODELYARD), "-C", str(project), "plan", "--all"]
    cold = figures([measure(command, COLD) for _ in range(runs)])
    cached = _cached(work)
    measure(command, cached)
    unchanged = figures([measure(command, cached) for _ in range(runs)])
    changed = []
    for _ in range(runs):
        for path in sorted((project / "stacks").glob("Pulumi.*.yaml"))[:CHANGED]:
            path.write_text(f"{path.read_text()}# changed\n")
        changed.append(measure(command, cached))
    return {
        "stacks": count,
        **cold,
        **{f"unchanged_{name}": value for name, value in unchanged.items()},
        **{f"changed_{name}": value for name, value in figures(changed).items()},
    }


def _cached(work: Path) -> dict[str, str]:
    """Variables of runs that keep their results in this folder."""
    kept = {name: value for name, value in os.environ.items() if name != "MODELYARD_NO_CACHE"}
    return {**kept, "MODELYARD_CACHE_DIR": str(work / "cache")}


def arguments(about: str | None, *, runs: int, of: str = "each") -> argparse.ArgumentParser:
    """The parser of a measurement with these counted runs by default."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=runs, help=f"counted runs of {of} (default {runs})")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def main() -> None:
    """Measures and prints."""
    parser = arguments(__doc__, runs=15, of="one stack")
    parser.add_argument("--kubectl", nargs="+", default=["kubectl"], help="the command that runs kubectl")
    parser.add_argument("--stacks", type=int, default=1000, help="stacks of the large project (default 1000)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        single = one_stack(args.kubectl, work / "overlay", args.runs)
        small = many_stacks(work, max(1, args.stacks // 4), 1)
        large = many_stacks(work, args.stacks, 3)
    document = {"one_stack": single, "quarter": small, "all": large, "kustomize_runs_in_the_same_time": 0.0}
    document["kustomize_runs_in_the_same_time"] = large["seconds"] * 1000 / single["kustomize_ms"]
    if args.json:
        print(json.dumps(document, indent=2))
        return
    print(f"one stack, cold     {single['plan_ms']:6.0f} ms   {single['peak_mb']:.0f} MB")
    print(f"the same, unchanged {single['unchanged_ms']:6.0f} ms   ratio {single['ratio_unchanged']:.2f}")
    print(
        f"kubectl kustomize   {single['kustomize_ms']:6.0f} ms   ratio {single['ratio']:.2f}   strategic merge patches"
    )
    print(
        f"kubectl kustomize   {single['kustomize_json_patches_ms']:6.0f} ms   "
        f"ratio {single['ratio_json_patches']:.2f}   JSON patches, as modelyard renders them"
    )
    print(f"an empty Python     {single['python_ms']:6.0f} ms")
    for result in (small, large):
        for start, words in (("", "cold"), ("unchanged_", "unchanged"), ("changed_", f"{CHANGED} changed")):
            print(
                f"{result['stacks']:>5} stacks {words:<10} {result[f'{start}seconds']:6.2f} s    "
                f"{result[f'{start}cpu_seconds']:.2f} s of CPU   largest process {result[f'{start}peak_mb']:.0f} MB"
            )
    print(f"in the time of all, kubectl kustomize builds {document['kustomize_runs_in_the_same_time']:.0f} overlays")


if __name__ == "__main__":
    main()
