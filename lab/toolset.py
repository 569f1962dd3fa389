"""The built tools of a lab, as one folder for PATH."""

from pathlib import Path
from typing import NamedTuple

from lab.tools import PROVIDER_VERSION

PROVIDER = "pulumi-resource-kubernetes"

OVERRIDE = "MODELYARD_LAB_TOOLS"
"""Environment variable with a folder of ``bin/``, ``plugins/`` and ``crds/`` to use instead of building."""


class Toolset(NamedTuple):
    """The folders of the binaries and the CRDs."""

    folder: Path

    @property
    def bin(self) -> Path:
        """Folder for PATH: kubectl, pulumi and its language host, and the control plane's programs."""
        return self.folder / "bin"

    @property
    def crds(self) -> Path:
        """Folder with one subfolder of CRD manifests for each operator."""
        return self.folder / "crds"

    def install_plugins(self, home: Path) -> None:
        """Put the provider where Pulumi looks for plugins; if it were on PATH, each run would warn."""
        plugin = home / "plugins" / f"resource-kubernetes-v{PROVIDER_VERSION}" / PROVIDER
        plugin.parent.mkdir(parents=True, exist_ok=True)
        plugin.unlink(missing_ok=True)
        plugin.symlink_to(self.folder / "plugins" / PROVIDER)
