"""How the time and memory of ``modelyard check`` and ``plan`` grow with the nodes, teams and jobs of one stack.

Every row is a project of its own: nodes with GPUs of several models and pods on them, teams in cohorts with quotas,
resources, and jobs on them, a third of which have a command that is queued; the project's policies are run. Whole
processes are measured, with the operating system's own accounting.

The last rows are the largest project again where nothing is alike: every node differs from the others by a few KiB, as
machines of one type do, and 2,000 of its resources ask for sizes of their own; then with 500 services, each of another
size, that no node has room for.

    python benchmarks/pool.py
    python benchmarks/pool.py --json
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from run import COLD, MODELYARD, arguments, figures, measure  # noqa: E402

GPUS = (("A10", "NVIDIA-A10", 23028), ("A30", "NVIDIA-A30", 24576), ("A100-40GB", "NVIDIA-A100-SXM4-40GB", 40960))
PODS = 8
"""Running on each node."""
VERBS = ("check", "plan")
SECONDS, MEMORY_MB = 10.0, 1000.0
"""The targets, for the largest rows of each verb."""
KIB = 200_000
"""By which the memory of nodes differs at most, where it does."""


class Size(NamedTuple):
    """How much there is of everything in one project."""

    nodes: int
    teams: int
    jobs: int
    shapes: int = 0
    """Resources with a command that each ask for another size; with any, every node is of a size of its own too."""
    misfits: int = 0
    """Resources with pods of their own that no node has room for, each of another size."""


SIZES = (
    *(Size(5000 // part, 500 // part, 20_000 // part) for part in (8, 4, 2, 1)),
    Size(5000, 500, 20_000, 2000),
    Size(5000, 500, 20_000, 2000, 500),
)
LARGEST = 3
"""The last sizes, to which the targets apply."""


def project(folder: Path, size: Size) -> None:
    """A project with one stack of this size."""
    for part in ("patches", "policies", "stacks"):
        shutil.copytree(
            ROOT / part, folder / part, ignore=shutil.ignore_patterns("Pulumi.staging.yaml", "Pulumi.prod.yaml")
        )
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    path = folder / "stacks" / "recorded" / "dev" / "cluster.json"
    cluster = json.loads(path.read_bytes())
    cluster["nodes"] = [_node(number, bool(size.shapes)) for number in range(size.nodes)]
    cluster["pods"] = [_pod(number) for number in range(size.nodes * PODS)]
    path.write_text(json.dumps(cluster))
    with (folder / "stacks" / "Pulumi.dev.yaml").open("a") as file:
        file.write("\n".join(_pool(size)) + "\n")


def _node(number: int, varied: bool = False) -> dict[str, Any]:
    """Every fourth node has no GPU; with ``varied`` its memory is not quite that of the others."""
    name = f"node-{number}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % 7}"}
    amounts = {"cpu": "64", "memory": "512Gi", "ephemeral-storage": "500Gi", "pods": "110"}
    if varied:
        # A step that shares no factor with the range gives every node another number, in no order.
        amounts["memory"] = f"{512 * 1024 * 1024 - number * 7919 % KIB}Ki"
    taints: list[dict[str, str]] = []
    if number % 4:
        _, product, memory = GPUS[number % 4 - 1]
        labels |= {
            "nvidia.com/gpu.product": product,
            "nvidia.com/gpu.memory": str(memory),
            "nvidia.com/gpu.present": "true",
        }
        amounts["nvidia.com/gpu"] = "4"
        taints.append({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"})
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def _pod(number: int) -> dict[str, Any]:
    requests = {"cpu": "0.5", "memory": str(2**30 * (1 + number % 3))}
    return {"node": f"node-{number // PODS}", "owner": f"service-{number % 400}", "requests": requests}


def _pool(size: Size) -> list[str]:
    """The sections of the stack file, as people write them."""
    lines = ["  modelyard:runtime: {image: 'images.example.com/jobs:1.4.2'}", "  modelyard:flavors:"]
    lines += [
        f"    - {{name: {gpu.lower()}, gpu: {gpu}, labels: {{nvidia.com/gpu.product: {product}}}}}"
        for gpu, product, _ in GPUS
    ]
    lines.append("  modelyard:teams:")
    for team in range(size.teams):
        gpu = GPUS[team % len(GPUS)][0].lower()
        quota = f"{{flavor: {gpu}, cpu: 320, memory: 2Ti, gpus: 20, borrow: 8}}"
        lines.append(f"    - {{name: team-{team}, cohort: division-{team % 20}, quotas: [{quota}]}}")
    lines.append("  modelyard:resources:")
    for team in range(size.teams):
        gpu = GPUS[team % len(GPUS)][0]
        lines.append(
            f"    - {{name: deep-{team}, type: training, team: team-{team}, gpu: {gpu},"
            " workers: 2, cpu: 8, memory: 32Gi, gpus: 1}"
        )
        lines.append(f"    - {{name: tables-{team}, type: dataset, team: team-{team}}}")
    for shape in range(size.shapes):
        team = shape % size.teams
        lines.append(
            f"    - {{name: shape-{shape}, type: training, team: team-{team}, gpu: {GPUS[team % len(GPUS)][0]},"
            f" workers: {1 + shape % 4}, cpu: {4 + shape % 11}, memory: {64 + shape % 57}Gi, gpus: {1 + shape % 4}}}"
        )
    for misfit in range(size.misfits):
        lines.append(
            f"    - {{name: misfit-{misfit}, type: serving, team: team-{misfit % size.teams},"
            f" workers: 2, cpu: {8 + misfit % 11}, memory: {600 + misfit}Gi}}"
        )
    lines.append("  modelyard:jobs:")
    lines += [f"    - {{name: serve-{one}, type: serving, resource: misfit-{one}}}" for one in range(size.misfits)]
    for job in range(size.jobs):
        team = job % size.teams
        if job % 3:
            lines.append(
                f"    - {{name: table-{job}, type: dataset, resource: tables-{team},"
                f" rows: {job % 90 + 1}k, columns: {20 + job % 50}}}"
            )
        else:
            resource = f"shape-{job // 3 % size.shapes}" if size.shapes else f"deep-{team}"
            lines.append(
                f"    - {{name: run-{job}, type: training, resource: {resource},"
                f" command: [python, train.py, --seed={job}]}}"
            )
    return lines


def main() -> None:
    """Measures and prints."""
    args = arguments(__doc__, runs=3).parse_args()
    rows = []
    for size in SIZES:
        with tempfile.TemporaryDirectory() as name:
            project(Path(name), size)
            for verb in VERBS:
                runs = [measure([str(MODELYARD), "-C", name, verb, "dev"], COLD) for _ in range(args.runs)]
                rows.append({"verb": verb} | size._asdict() | figures(runs))
    if args.json:
        print(json.dumps(rows, indent=2))
        return
    sizes = "".join(f"{name:>8}" for name in Size._fields)
    print(f"{'verb':<6}{sizes}{'seconds':>10}{'CPU s':>8}{'MB':>7}")
    for row in rows:
        sizes = "".join(f"{row[name]:>8,}" for name in Size._fields)
        print(f"{row['verb']:<6}{sizes}{row['seconds']:>10.1f}{row['cpu_seconds']:>8.1f}{row['peak_mb']:>7.0f}")
    met = all(row["seconds"] < SECONDS and row["peak_mb"] < MEMORY_MB for row in rows[-LARGEST * len(VERBS) :])
    print(f"target of the last rows: {SECONDS:.0f} s, {MEMORY_MB:,.0f} MB: {'met' if met else 'missed'}")


if __name__ == "__main__":
    main()
