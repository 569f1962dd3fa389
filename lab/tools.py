"""The tools that the lab builds: one row for each, with its own pinned Go module in ``lab/<name>/``.

Each tool has its own module because their dependencies conflict. To add an operator's binary, set ``package`` in its
row.
"""

from typing import NamedTuple

PROVIDER_VERSION = "4.25.0"


class Copy(NamedTuple):
    """Files to copy unchanged from a Go module of the tool."""

    module: str
    patterns: tuple[str, ...]
    """Globs below the module's folder; each must match."""
    to: str
    """Folder in the toolset: ``bin`` (made executable), ``crds/<operator>``, ``webhooks/<operator>``; or ``source``,
    beside main.go."""


class Tool(NamedTuple):
    """One tool: what to build, stamp and copy."""

    name: str
    version: str
    seconds: int
    """Expected seconds of a cold build on two cores; measured, downloads included."""
    package: str | None = None
    """Main package; None if nothing is built."""
    to: str = "bin"
    stamps: tuple[tuple[str, str], ...] = ()
    """Go variables with the text that the linker sets."""
    also: tuple[tuple[str, str], ...] = ()
    """Further binaries of the same modules, each with its name and main package."""
    aliases: tuple[str, ...] = ()
    """Other names of the binary, whose behaviour depends on the name that calls it."""
    copies: tuple[Copy, ...] = ()


_PULUMI_SDK = "github.com/pulumi/pulumi/sdk/v3"
_PROVIDER = "github.com/pulumi/pulumi-kubernetes/provider/v4"

TOOLS = (
    Tool("pki", "1", 15, "."),
    Tool(
        "kubernetes",
        "1.35.4",
        270,
        ".",
        stamps=(
            # Without the stamp, kubectl and Kueue cannot read the server's version.
            ("k8s.io/component-base/version.gitVersion", "v1.35.4"),
            ("k8s.io/component-base/version.gitMajor", "1"),
            ("k8s.io/component-base/version.gitMinor", "35"),
        ),
        aliases=("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"),
    ),
    Tool("kwok", "0.7.0", 75, "sigs.k8s.io/kwok/cmd/kwok"),
    Tool(
        "pulumi",
        "3.259.0",
        170,
        "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        stamps=((f"{_PULUMI_SDK}/go/common/version.Version", "v3.259.0"),),
    ),
    Tool(
        "pulumi-language-python",
        "3.187.0",
        30,
        "github.com/pulumi/pulumi/sdk/python/cmd/pulumi-language-python/v3",
        copies=(
            Copy(
                _PULUMI_SDK,
                (
                    "python/cmd/pulumi-language-python-exec",
                    "python/dist/pulumi-resource-pulumi-python",
                    "python/dist/pulumi-analyzer-policy-python",
                ),
                "bin",
            ),
        ),
    ),
    Tool(
        "pulumi-resource-kubernetes",
        PROVIDER_VERSION,
        400,
        ".",
        # Not in bin: if a plugin is on PATH, Pulumi warns about it in every run.
        to="plugins",
        stamps=(("main.version", PROVIDER_VERSION),),
        copies=(
            Copy(
                _PROVIDER,
                ("cmd/pulumi-resource-kubernetes/schema.json", "cmd/pulumi-resource-kubernetes/terraform-mapping.json"),
                "source",
            ),
        ),
    ),
    Tool(
        "kueue",
        "0.19.2",
        190,
        "sigs.k8s.io/kueue/cmd/kueue",
        copies=(
            Copy("sigs.k8s.io/kueue", ("config/components/crd/bases/*.yaml",), "crds/kueue"),
            Copy("sigs.k8s.io/kueue", ("config/components/webhook/manifests.yaml",), "webhooks/kueue"),
        ),
    ),
    Tool(
        "keda",
        "2.20.2",
        280,
        "github.com/kedacore/keda/v2/cmd/operator",
        also=(("keda-adapter", "github.com/kedacore/keda/v2/cmd/adapter"),),
        copies=(Copy("github.com/kedacore/keda/v2", ("config/crd/bases/*.yaml",), "crds/keda"),),
    ),
    Tool(
        "kuberay",
        "1.5.1",
        65,
        "github.com/ray-project/kuberay/ray-operator",
        copies=(Copy("github.com/ray-project/kuberay/ray-operator", ("config/crd/bases/*.yaml",), "crds/kuberay"),),
    ),
    # Checks the workflows in the CI guide.
    Tool("actionlint", "1.7.12", 20, "github.com/rhysd/actionlint/cmd/actionlint"),
)
VALE = Tool("vale", "3.26.0", 100, "github.com/vale-cli/vale/v3/cmd/vale")
"""Lints prose (``docs/prose.py``). Not part of a lab, and the only tool that needs a C compiler."""
