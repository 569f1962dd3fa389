"""How long a live plan of one stack with six targets takes, against ``kubectl diff --server-side`` of its requests.

Both ask the API server of a lab on this machine what an apply would do, as whole processes, in turn. Times depend on
the machine and on what else it does; quote the ratio too. Run it with ``make bench``.

    python benchmarks/live.py --runs 15
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from run import MODELYARD, measure, median  # noqa: E402

from lab import Lab  # noqa: E402

NAMESPACE = "ml-platform"
TARGETS = 6
SIXTH = "deployment-notebooks"


def project(folder: Path) -> None:
    """The example environment dev, with a patch of one more Deployment."""
    for part in ("patches", "stacks"):
        shutil.copytree(ROOT / part, folder / part)
    shutil.rmtree(folder / "stacks" / "recorded")
    shutil.copy(ROOT / "Pulumi.yaml", folder)
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="counted runs (default 15)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
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
        commands = {"plan": plan, "diff": diff}
        rounds = [
            {each: measure(command, environment) for each, command in commands.items()} for _ in range(args.runs + 1)
        ]
    counted = rounds[1:]
    plans = sorted(each["plan"].wall for each in counted)
    document = {
        "plan_ms": median(plans) * 1000,
        "fastest_ms": plans[0] * 1000,
        "slowest_ms": plans[-1] * 1000,
        "cpu_ms": median([each["plan"].cpu for each in counted]) * 1000,
        "diff_ms": median([each["diff"].wall for each in counted]) * 1000,
        "ratio": median([each["plan"].wall / each["diff"].wall for each in counted]),
        "asked": made.stderr.strip(),
    }
    if args.json:
        print(json.dumps(document, indent=2))
        return
    spread = f"{document['fastest_ms']:.0f} to {document['slowest_ms']:.0f} ms"
    print(
        f"live plan, {TARGETS} targets  {document['plan_ms']:5.0f} ms   {spread}   {document['cpu_ms']:.0f} ms of CPU"
    )
    print(f"                              {document['asked']}")
    print(f"kubectl diff           {document['diff_ms']:6.0f} ms   ratio {document['ratio']:.2f}")


if __name__ == "__main__":
    main()
