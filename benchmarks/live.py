"""How long a live plan of one stack with six targets takes, against ``kubectl diff --server-side`` of its requests and
``pulumi preview`` of its program.

All ask the API server of a lab on this machine what an apply would do, as whole processes, in turn. Times depend on
the machine and on what else it does; quote the ratio too. Run it with ``make bench``.

    python benchmarks/live.py --runs 15
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from run import MODELYARD, arguments, figures, measure, median  # noqa: E402

from lab import Lab  # noqa: E402

NAMESPACE = "ml-platform"
TARGETS = 6
SIXTH = "deployment-notebooks"
PLAN = "modelyard plan --live"


def project(folder: Path) -> None:
    """The example environment dev, with a patch of one more Deployment."""
    for part in ("patches", "stacks"):
        shutil.copytree(ROOT / part, folder / part)
    shutil.rmtree(folder / "stacks" / "recorded")
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    patch = folder / "patches" / "notebooks" / "v1"
    patch.mkdir(parents=True)
    (patch / "meta.yaml").write_text("description: sizes of the notebooks\n")
    (patch / "schema.json").write_text("{}")
    container = "{name: notebooks, resources: {limits: {memory: 12Gi}}}"
    (patch / "patch.yaml.j2").write_text(
        f"# target: {SIXTH}\napiVersion: apps/v1\nkind: Deployment\n"
        f"spec: {{template: {{spec: {{containers: [{container}]}}}}}}\n"
    )


def sixth(lab: Lab) -> None:
    """One more Deployment on the platform, a copy of another under its own name."""
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
    body: dict[str, Any] = lab.request("GET", f"{path}/deployment-ray-head").body
    labels = {"app.kubernetes.io/name": "notebooks"}
    spec = body["spec"] | {"selector": {"matchLabels": labels}}
    spec["template"]["metadata"]["labels"] = labels
    spec["template"]["spec"]["containers"][0]["name"] = "notebooks"
    metadata = {"name": SIXTH, "namespace": NAMESPACE}
    answer = lab.request(
        "POST", path, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    )
    if answer.status != 201:
        sys.exit(f"the sixth target cannot be made: {answer.body}")


def main() -> None:
    """Measures and prints."""
    args = arguments(__doc__, runs=15).parse_args()
    with tempfile.TemporaryDirectory() as name, Lab.start(Path(name) / "lab", context="dev") as lab:
        lab.install_platform("dev")
        sixth(lab)
        folder = Path(name) / "project"
        project(folder)
        environment = lab.env()
        plan = [str(MODELYARD), "-C", str(folder), "plan", "dev", "--live"]
        made = subprocess.run(
            [*plan, "--json", "--verbose"], env=environment, capture_output=True, text=True, check=False
        )
        if made.returncode:
            sys.exit(f"the stack cannot be planned:\n{made.stdout}\n{made.stderr}")
        targets = json.loads(made.stdout)["targets"]
        if len(targets) != TARGETS:
            sys.exit(f"the stack has {len(targets)} targets, not {TARGETS}")
        requests = Path(name) / "requests.json"
        requests.write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": [target["applied"] for target in targets]})
        )
        diff = [str(lab.tools.bin / "kubectl"), "diff", "--server-side", "--force-conflicts", f"--filename={requests}"]
        pulumi = [str(lab.tools.bin / "pulumi"), "--cwd", str(folder), "--non-interactive"]
        subprocess.run([*pulumi, "stack", "init", "dev"], env=environment, check=True, capture_output=True)
        commands = {
            PLAN: plan,
            "kubectl diff --server-side": diff,
            "pulumi preview": [*pulumi, "preview", "--stack", "dev"],
        }
        rounds = [
            {each: measure(command, environment) for each, command in commands.items()} for _ in range(args.runs + 1)
        ]
    taken = {name: [each[name] for each in rounds[1:]] for name in commands}
    if args.json:
        print(json.dumps({name: figures(runs) for name, runs in taken.items()}, indent=2))
        return
    print(f"{TARGETS} targets; {made.stderr.strip()}")
    for name, runs in taken.items():
        walls = sorted(run.wall * 1000 for run in runs)
        ratio = median([one.wall / other.wall for one, other in zip(taken[PLAN], runs, strict=True)])
        print(
            f"{name:<27} {median(walls):6.0f} ms   {walls[0]:.0f} to {walls[-1]:.0f} ms   "
            f"{median([run.cpu for run in runs]) * 1000:.0f} ms of CPU   ratio {ratio:.2f}"
        )


if __name__ == "__main__":
    main()
