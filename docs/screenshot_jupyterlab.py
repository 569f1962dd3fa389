"""Takes the picture of Submit Job: ``python docs/screenshot_jupyterlab.py`` writes docs/images/jupyterlab-submit.png.

Runs a real JupyterLab with the extension, on a copy of the project whose stack has teams. Contacts no cluster.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.lab.support.jupyter_server import install, jupyter
from tests.lab.support.notebook_files import cell, write_notebook
from tests.support.report_pages import FLAGS, chromium

ROOT = Path(__file__).resolve().parent.parent
IMAGE = ROOT / "docs" / "images" / "jupyterlab-submit.png"
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


def main() -> None:
    """Takes the picture."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        for part in ("patches", "stacks"):
            shutil.copytree(ROOT / part, folder / "project" / part)
        shutil.copy(ROOT / "Pulumi.yaml", folder / "project")
        file = folder / "project" / "stacks" / "Pulumi.dev.yaml"
        stack = yaml.safe_load(file.read_text())
        stack["config"] |= POOL
        file.write_text(yaml.safe_dump(stack))
        (folder / "work").mkdir()
        write_notebook(folder / "work" / "train.ipynb", *CELLS)
        settings = {
            "Modelyard.command": [str(ROOT / ".venv" / "bin" / "modelyard")],
            "Modelyard.project": str(folder / "project"),
            "Modelyard.stack": "dev",
        }
        (folder / "extension").mkdir()
        with jupyter(folder / "jupyter", folder / "work", settings, install(folder / "extension")) as server:
            browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
            page = browser.new_page(viewport={"width": 1100, "height": 660}, device_scale_factor=1.5)
            page.goto(f"{server.address}lab/tree/train.ipynb?token={server.token}")
            page.get_by_role("button", name="Python 3 (ipykernel) | Idle").wait_for()
            page.get_by_role("button", name="Submit Job").click()
            form = page.get_by_role("dialog")
            form.get_by_label("Flavor").select_option("a30-spot")
            form.get_by_label("Parameters").fill("epochs=20")
            page.screenshot(path=IMAGE)
            browser.close()
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--strip", "--speed=1", "--output", IMAGE, "64", IMAGE], check=True)


if __name__ == "__main__":
    main()
