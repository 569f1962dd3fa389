"""Takes the pictures of Submit Job and GPU Jobs: ``python docs/screenshot_jupyterlab.py`` writes
docs/images/jupyterlab-submit.png and docs/images/jupyterlab-jobs.png.

Runs a real JupyterLab with the extension, on a copy of the project whose stack has teams. Contacts no cluster: a small
server answers as the API server of one would.
"""

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from generators.paths import project
from screenshots import IMAGES, shrink

from tests.lab.support.jupyter_server import install, jupyter
from tests.lab.support.notebook_files import cell, write_notebook
from tests.support.api_server import ApiServer, api_server
from tests.support.pool_objects import condition, job, local_queue, node, pod, spec, workload
from tests.support.report_pages import FLAGS, chromium

SUBMIT = IMAGES / "jupyterlab-submit.png"
JOBS = IMAGES / "jupyterlab-jobs.png"
QUOTA = {"cpu": 64, "memory": "512Gi", "gpus": 8}
POOL = {
    "modelyard:flavors": [{"name": "a10", "gpu": "A10"}, {"name": "a30-spot", "gpu": "A30"}],
    "modelyard:teams": [
        {"name": "vision", "quotas": [{"flavor": "a10", **QUOTA}, {"flavor": "a30-spot", **QUOTA}]},
        {"name": "speech", "quotas": [{"flavor": "a30-spot", **QUOTA}]},
    ],
    "modelyard:priorities": [{"name": "urgent", "value": 1000}],
    "modelyard:notebooks": {"image": "images.example.com/ml-platform/notebook:23.10.4"},
}
CELLS = (
    cell("epochs = 1\nrate = 1e-3", tags=["parameters"]),
    cell("import torch\n\nmodel = torch.nn.Linear(128, 10).cuda()\noptimizer = torch.optim.Adam(model.parameters())"),
    cell("for epoch in range(epochs):\n    loss = train(model, optimizer)\n    print(epoch, loss)"),
)


LOG = b"""Executing:   0%|          | 0/3 [00:00<?, ?cell/s]
Executing notebook with kernel: python3
0 2.3104
1 1.9417
2 1.7020
"""


def notebook_job(name: str, at: str, *, flavor: str, suspend: bool = False, **status: Any) -> dict[str, Any]:
    """The Job of a notebook of Ada."""
    made = job(name, suspend=suspend, since=at, **status)
    made["metadata"]["labels"]["modelyard.dev/user"] = "ada"
    made["metadata"]["annotations"] = {"modelyard.dev/flavor": flavor}
    return made


def fill(server: ApiServer, work: Path) -> None:
    """Gives the server nodes with free GPUs, and jobs: one that waits after two of others, one that runs, two ended."""
    waiting = notebook_job("embed-q7d2m", "2026-11-25T14:02:00Z", flavor="a30-spot", suspend=True)
    running = notebook_job("train-x8k1p", "2026-11-25T13:40:00Z", flavor="a10", active=1, ready=1)
    ended = notebook_job("train-c4w9z", "2026-11-25T11:15:00Z", flavor="a10", conditions=[condition("Complete")])
    words = {"reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}
    failed = notebook_job(
        "train-b2f6n", "2026-11-25T11:02:00Z", flavor="a10", conditions=[condition("Failed", **words)]
    )
    for one in (ended, failed):
        result = write_notebook(work / f"train.{one['metadata']['name']}.ipynb", *CELLS)
        one["metadata"]["annotations"]["modelyard.dev/result"] = str(result)
    others = [job(f"other-{at}", since="2026-11-25T12:00:00Z", suspend=True) for at in range(2)]
    server.objects |= {
        "nodes": [node("n0", gpus=8), node("n1", "NVIDIA-A30", 8)],
        "pods": [pod("train-x8k1p-0", "n0", run="train-x8k1p"), *(pod(f"s-{at}", "n1", spec(3)) for at in range(2))],
        "jobs": [waiting, running, ended, failed, *others],
        "workloads": [workload(one) for one in (waiting, *others)],
        "localqueues": [local_queue()],
    }
    server.logs = {"train-x8k1p-0": [LOG]}


def main() -> None:
    """Takes the pictures."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright, ExitStack() as stopping:
        folder = Path(name)
        file = project(folder / "project") / "stacks" / "Pulumi.dev.yaml"
        stack = yaml.safe_load(file.read_text())
        stack["config"] |= POOL
        file.write_text(yaml.safe_dump(stack))
        (folder / "work").mkdir()
        write_notebook(folder / "work" / "train.ipynb", *CELLS)
        (folder / "api").mkdir()
        api = stopping.enter_context(api_server(folder / "api"))
        fill(api, folder / "work")
        settings = {
            "Modelyard.command": [str(Path(sys.prefix) / "bin" / "modelyard")],
            "Modelyard.project": str(folder / "project"),
            "Modelyard.stack": "dev",
        }
        (folder / "extension").mkdir()
        env = {"KUBECONFIG": str(api.kubeconfig), "MODELYARD_USER": "ada", "no_proxy": "*"}
        env |= install(folder / "extension")
        with jupyter(folder / "jupyter", folder / "work", settings, env) as server:
            browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
            page = browser.new_page(viewport={"width": 1100, "height": 660}, device_scale_factor=1.5)
            page.goto(f"{server.address}lab/tree/train.ipynb?token={server.token}")
            page.get_by_role("button", name="Python 3 (ipykernel) | Idle").wait_for()
            page.get_by_role("button", name="Submit Job").click()
            form = page.get_by_role("dialog")
            form.get_by_label("Flavor").select_option("a30-spot")
            form.get_by_label("Parameters").fill("epochs=20")
            page.screenshot(path=SUBMIT)
            form.get_by_role("button", name="Cancel").click()
            page.get_by_role("tab", name="GPU Jobs").click()
            panel = page.get_by_role("list", name="GPU jobs")
            panel.get_by_role("listitem", name="train-x8k1p").get_by_role("button", name="Logs").click()
            page.locator(".modelyard-Log", has_text="1.7020").wait_for()
            page.screenshot(path=JOBS)
            browser.close()
    shrink(SUBMIT)
    shrink(JOBS)


if __name__ == "__main__":
    main()
