"""Copies of the project that a test may write into."""

from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest

import modelyard

ROOT = Path(__file__).parents[2]
SERVING = "patches/far-serving/v1"
"""Folder of the patch that ``serving`` writes."""
SERVICE = """apiVersion: apps/v1
kind: Deployment
metadata: {name: serve, namespace: "{{ namespace }}"}
spec:
  replicas: 2
  selector: {matchLabels: {app: serve}}
  template:
    metadata: {labels: {app: serve}}
    spec:
      tolerations: [{operator: Exists}]
      containers:
        - name: serve
          image: registry.example/serve:1
          resources:
            requests: {nvidia.com/gpu: 1}
            limits: {nvidia.com/gpu: 1}
"""
"""Two pods of one GPU."""
FAR = """  modelyard:resources:
    - name: far
      type: training
      remote: {cluster: {controller: "https://10.8.0.5:6443", context: far, quota: {cpu: 8, memory: 32Gi, gpus: 1}}}
"""
"""Lines of a stack file: a remote cluster."""


def copied(root: Path) -> None:
    """The project's stacks and patches, without its policies."""
    for part in ("stacks", "patches"):
        copytree(ROOT / part, root / part, ignore=ignore_patterns("__pycache__"))
    copy(ROOT / "Pulumi.yaml", root)


def serving(root: Path, base: str = SERVICE) -> None:
    """A patch of the project's own by which something stands in each remote cluster."""
    folder = root / SERVING
    folder.mkdir(parents=True)
    (folder / "meta.yaml").write_text(
        "description: serves far away\nmode: managed\ncluster: remote\nwhen: {training: ray}\n"
        "params: {namespace: remote.namespace}\n"
    )
    (folder / "schema.json").write_text("{}")
    (folder / "patch.yaml.j2").write_text("# Nothing is patched.\n")
    (folder / "base.yaml.j2").write_text(base)


def installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lets modelyard find its built-in patches as in an installed package; the folder of the patches, a copy."""
    folder = tmp_path / "site-packages" / "modelyard"
    copytree(ROOT / "patches", folder / "patches")
    monkeypatch.setattr(modelyard, "__file__", str(folder / "__init__.py"))
    return folder / "patches"
