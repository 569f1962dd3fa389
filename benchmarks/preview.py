"""How long a preview of many stacks takes, against ``kubectl kustomize`` in the same run.

A generated project under git, with the policies of this one, and a branch on which every twentieth stack has other
sizes. Whole processes that write Markdown and HTML:

- the branch: only the stacks that differ are planned, each at both commits;
- the same with a comment in ``policies/policy.yaml``: the same work;
- the same with a rule at another level: every other stack is planned once and judged twice.

The peer is one build of an overlay of the same objects. For each changed stack two of them would be needed to compare
their output. Run it with ``make bench``; times depend on the machine, quote the ratios too.

    python benchmarks/preview.py --stacks 1000
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from shutil import copytree, ignore_patterns

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks")]

from run import COLD, MODELYARD, arguments, figures, generate, measure, median, overlays  # noqa: E402

EVERY = 20
"""Of so many stacks, one changes."""
SECONDS, MEGABYTES, PAGE = 6.0, 500.0, 5.0
"""Targets for 1,000 stacks of which 50 change, on two cores: time, memory of all processes, size of the page."""
WORKERS = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 8)


def git(folder: Path, *words: str) -> None:
    """Runs git in a folder."""
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    subprocess.run(["git", *identity, "-C", str(folder), *words], check=True, stdout=subprocess.DEVNULL)


def branch(folder: Path, files: Iterable[Path]) -> None:
    """Puts a generated project under git, with a branch that changes these stack files."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=one")
    git(folder, "checkout", "--quiet", "-b", "feature")
    for file in files:
        edited(file, "modelyard:rayHead: {cpu: ", "modelyard:rayHead: {cpu: 1")
    git(folder, "commit", "--quiet", "--all", "--message=two")


def previewed(project: Path, work: Path, runs: int) -> dict[str, float]:
    """Previews of the branch as it stands."""
    page, comment = work / "preview.html", work / "preview.md"
    words = ["preview", "--base", "main", "--out", str(comment), "--out", str(page)]
    taken = [measure([str(MODELYARD), "-C", str(project), *words], COLD) for _ in range(runs)]
    return {
        **figures(taken),
        "page_mb": page.stat().st_size / 1e6,
        "comment_characters": len(comment.read_text(encoding="utf-8")),
    }


def edited(file: Path, old: str, new: str) -> None:
    """Replaces a text that must be there."""
    text = file.read_text(encoding="utf-8")
    if old not in text:
        sys.exit(f"{file} has no {old!r} any more")
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def main() -> None:
    """Measures and prints."""
    parser = arguments(__doc__, runs=1)
    parser.add_argument("--kubectl", nargs="+", default=["kubectl"], help="the command that runs kubectl")
    parser.add_argument("--stacks", type=int, default=1000, help="stacks of the project (default 1000)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        ordinary, _ = overlays(work / "overlay")
        overlay = median([measure([*args.kubectl, "kustomize", str(ordinary)]).wall for _ in range(6)][1:])
        project = work / "project"
        project.mkdir()
        generate(project, args.stacks)
        copytree(ROOT / "policies", project / "policies", ignore=ignore_patterns("__pycache__"))
        files = sorted((project / "stacks").glob("Pulumi.*.yaml"))[::EVERY]
        branch(project, files)
        changed = len(files)
        policy = project / "policies" / "policy.yaml"
        cases = {"branch": previewed(project, work, args.runs)}
        edited(policy, "rules: {}", "# one more remark\nrules: {}")
        cases["comment"] = previewed(project, work, args.runs)
        edited(policy, "rules: {}", "rules: {POL103: {level: advisory}}")
        cases["rule"] = previewed(project, work, args.runs)
    for case in cases.values():
        case["ratio"] = case["seconds"] / (2 * changed * overlay)
    if args.json:
        print(json.dumps({"stacks": args.stacks, "changed": changed, "overlay_ms": overlay * 1000, **cases}, indent=2))
        return
    print(f"preview of {args.stacks} stacks of which {changed} change, as Markdown and HTML")
    print(f"one overlay, kubectl kustomize  {overlay * 1000:6.0f} ms")
    titles = {"branch": "the branch", "comment": "and a comment on the policies", "rule": "and a rule's level"}
    for which, case in cases.items():
        print(
            f"{titles[which]:<31} {case['seconds']:6.2f} s    {case['cpu_seconds']:.2f} s of CPU   "
            f"{case['ratio']:.2f} of the time of {2 * changed} overlays"
        )
    first = cases["branch"]
    # No process is larger than the largest; what they share counts as often.
    memory = first["peak_mb"] * (WORKERS + 1)
    for what, value, most, unit in (
        ("time", first["seconds"], SECONDS, "s"),
        ("memory of all processes, at most", memory, MEGABYTES, "MB"),
        ("HTML page", first["page_mb"], PAGE, "MB"),
    ):
        verdict = "met" if value < most else "missed"
        print(f"{what:<33} {value:6.2f} {unit}, target under {most:g} {unit}: {verdict}")


if __name__ == "__main__":
    main()
