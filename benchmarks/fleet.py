"""What planning stacks on a Ray cluster costs the driver, and what a worker gets, for a generated project.

Run it with a Python that has modelyard and Ray, for a running cluster whose nodes have them too:

    python benchmarks/fleet.py --ray-address 127.0.0.1:6379 --stacks 1000

Prints CPU seconds: other programs on the machine change them less than times.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from run import generate

from modelyard.cli.fleet.on_ray import MOST
from modelyard.cli.fleet.snapshot import pack, remove, unpack

PLAN = "import sys; from modelyard.cli.app import main; sys.exit(main())"
SEND = """
import sys
from pathlib import Path
from modelyard.cli.fleet.on_ray import on_ray
from modelyard.files import read_file
root, address, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
stacks = sorted((root / "stacks").glob("Pulumi.*.yaml"))[:number]
print(sum(1 for _ in on_ray(stacks, read_file, (root,), address=address)))
"""
"""Runs work that takes no time, so that the driver alone decides how long it takes."""


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ray-address", required=True)
    parser.add_argument("--stacks", type=int, default=1000)
    parser.add_argument("--no-plans", action="store_true", help="measure only what the driver does, without plans")
    parser.add_argument("--compare", action="store_true", help="also run on this machine, and compare the output")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        project = Path(name, "project")
        project.mkdir()
        generate(project, args.stacks)
        found = {"stacks": args.stacks, **parts(project, Path(name, "copy"))}
        found["send"] = of_each(
            SEND, project, args, [(str(project), args.ray_address, str(n)) for n in (1, args.stacks)]
        )
        if not args.no_plans:
            on = ("--no-cache", "--on", "ray", "--ray-address", args.ray_address)
            found["plan"] = of_each(PLAN, project, args, [("plan", "s0000", *on), ("plan", "--all", *on)])
        if args.compare:
            here = driver(PLAN, project, ("plan", "--all", "--no-cache"))
            found["here"] = {key: here[key] for key in ("seconds", "cpu_seconds")}
            found["same_output"] = here["output"] == found["plan"]["output"]
        for part in ("send", "plan"):
            found.get(part, {}).pop("output", None)
    print(json.dumps(found, indent=2))


def parts(project: Path, copy: Path) -> dict[str, Any]:
    """What the parts of the driver and of a worker take, in this process."""
    snapshot, packing = cpu(lambda: pack((project,)))
    stacks = sorted((project / "stacks").glob("Pulumi.*.yaml"))
    tasks = [stacks[start : start + MOST] for start in range(0, len(stacks), MOST)][:100]
    files, reading = cpu(lambda: [snapshot.files_of(task) for task in tasks])
    smaller, compressing = cpu(lambda: [zlib.compress(one, 1) for one in files])
    _, decompressing = cpu(lambda: [zlib.decompress(one) for one in smaller])
    copy.mkdir()
    unpack(snapshot.content, copy)
    _, unpacking = cpu(lambda: [remove(unpack(one, copy)) for one in files])
    number = sum(map(len, tasks))
    return {
        "shared_kb": len(snapshot.content) / 1e3,
        "pack_cpu_ms": packing * 1e3,
        "kb_per_stack": sum(map(len, files)) / number / 1e3,
        "kb_per_stack_zlib_1": sum(map(len, smaller)) / number / 1e3,
        "read_cpu_ms_per_stack": reading / number * 1e3,
        "zlib_1_cpu_ms_per_stack": compressing / number * 1e3,
        "zlib_1_decompress_cpu_ms_per_stack": decompressing / number * 1e3,
        "unpack_and_remove_cpu_ms_per_stack": unpacking / number * 1e3,
    }


def of_each(code: str, project: Path, args: argparse.Namespace, both: Sequence[tuple[str, ...]]) -> dict[str, Any]:
    """A run for one stack and one for all; what each further stack takes."""
    one, everything = (driver(code, project, words) for words in both)
    more = everything["cpu_seconds"] - one["cpu_seconds"]
    return {
        "one_stack_cpu_seconds": one["cpu_seconds"],
        "output_bytes_per_stack": len(everything["output"]) / args.stacks,
        "driver_ms_per_stack": more / args.stacks * 1000,
        **everything,
    }


def cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    """A result, and the CPU seconds that it took."""
    before = time.process_time()
    return work(), time.process_time() - before


def driver(code: str, project: Path, words: tuple[str, ...]) -> dict[str, Any]:
    """One run: its output, and what its process took."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        command = [sys.executable, "-c", code, *words]
        process = subprocess.Popen(command, cwd=project, stdout=output, stdin=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        if os.waitstatus_to_exitcode(status) not in (0, 1):
            sys.exit(f"{' '.join(words)} failed")
        output.seek(0)
        text = output.read()
    cpu_seconds = used.ru_utime + used.ru_stime
    return {"output": text, "seconds": seconds, "cpu_seconds": cpu_seconds, "peak_mb": used.ru_maxrss / 1000}


if __name__ == "__main__":
    main()
