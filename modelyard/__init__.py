"""modelyard plans, checks and applies the GPU side of ML platforms on Kubernetes.

docs/ARCHITECTURE.md lists its packages in the order data flows, from ``kube`` and ``stack`` to ``cli``. Each package's
docstring says what it owns and what it leaves to others.
"""

__version__ = "0.1.0"


def load_ipython_extension(shell: object) -> None:
    """Registers the cell magic ``%%modelyard``; IPython calls it for ``%load_ext modelyard``."""
    from importlib import import_module

    import_module("modelyard.cli.job.cell").load(shell)


def __getattr__(name: str) -> object:
    # Only who runs functions on a GPU loads what that needs. By its name, because packages import this module too.
    if name in ("on_gpu", "CallError"):
        from importlib import import_module

        return getattr(import_module("modelyard.cli.job.function"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
