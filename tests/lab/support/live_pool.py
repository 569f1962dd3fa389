"""A pool with the real Kueue: two simulated nodes of one A10 each, and the queues of a stack's teams."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab import Lab
from lab.install import PLATFORMS, nodes
from tests.lab.support.environment import ROOT, Environment
from tests.lab.support.pool_stack import config


@contextmanager
def live_pool(folder: Path, lasting: str, pool: Mapping[str, Any]) -> Iterator[Environment]:
    """The project in ``folder/project``, with the queues of team vision.

    Args:
        folder: an empty folder.
        lasting: the patch whose pods run until a test ends them.
        pool: sections of the stack file.
    """
    with Lab.start(folder / "lab", context="dev") as lab:
        lab.start_operators("kueue")
        nodes(lab, PLATFORMS / "dev" / "nodes.yaml")
        for namespace in ("vision", "ml-platform"):
            lab.kubectl("create", "namespace", namespace)
        made = Environment("dev", lab, folder / "project")
        _lasting(made, lasting)
        config(made, **pool)
        # Only the queues are applied here; they do not depend on the platform.
        shutil.copytree(ROOT / "stacks" / "recorded" / "dev", made.folder / "stacks" / "recorded" / "dev")
        made.modelyard("render", "dev", "--format", "kustomize", "--out", "out")
        for kind in ("resourceflavor", "clusterqueue", "localqueue"):
            for file in (made.folder / "out" / "dev").glob(f"{kind}-*.yaml"):
                lab.kubectl("apply", "--server-side", "--filename", str(file))
        path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/team-vision"
        lab.wait("the queue", lambda: '"Active", "status": "True"' in _conditions(lab, path))
        yield made


def _lasting(env: Environment, patch: str) -> None:
    """Writes a patch version whose pods keep running: a simulated pod of a Job ends after a second by default."""
    folder = env.folder / "patches" / patch
    shutil.copytree(folder / "v1", folder / "v2")
    base = folder / "v2" / "base.yaml.j2"
    before = "        karpenter.sh/do-not-disrupt"
    base.write_text(base.read_text().replace(before, f"        lab.modelyard/complete-after: 1h\n{before}"))


def _conditions(lab: Lab, path: str) -> str:
    found = lab.request("GET", path).body.get("status", {}).get("conditions", [])
    return json.dumps([{"type": one["type"], "status": one["status"]} for one in found]).replace('"type": ', "")
