"""Write a stack's rendered patches as files: for Deployment-Manager-like tools, or as a kustomization for GitOps."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from modelyard.cli.common import exit_code, planned, project_root, say, stack_options
from modelyard.cli.exit import Exit, Stop
from modelyard.findings import Finding
from modelyard.report.style import safe


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser)
    parser.add_argument(
        "--format",
        choices=("vendor", "kustomize"),
        default="vendor",
        help="vendor: one file a patch, in order; kustomize: a base and patches that build to the plan",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder to write to (default out/<format>; a stack is a subfolder)"
    )
    parser.add_argument("--print", action="store_true", dest="show", help="print the files instead of writing them")


def run(args: Namespace) -> Exit:
    """Renders and writes."""
    from modelyard.report.rendered import kustomize_files, vendor_files

    root = project_root(args)
    results = planned(args, root)
    failed = [finding for result in results if result.plan is None for finding in result.findings]
    if failed:
        raise Stop(Exit.USAGE, "nothing was written", "", failed)
    findings: list[Finding] = []
    folders: dict[str, dict[str, str]] = {}
    for result in results:
        assert result.plan is not None
        assert result.stack is not None
        findings.extend(result.plan.findings)
        if args.format == "vendor":
            from modelyard.plan.project import chosen_patches

            folders[result.plan.stack] = vendor_files(result.plan, chosen_patches(root, result.stack))
        else:
            folders[result.plan.stack] = kustomize_files(result.plan)
    if args.show:
        _print(folders)
    else:
        from modelyard.cli.folder import replace_generated
        from modelyard.report.values import count

        out = Path(args.out) if args.out else root / "out" / args.format
        written = replace_generated({out / stack: files for stack, files in folders.items()})
        say([f"{count(written, 'file')} written to {_shown(out, root)}"])
    return exit_code(findings, False)


def _print(folders: Mapping[str, Mapping[str, str]]) -> None:
    """The files one after the other: exactly as they are in a pipe, with escapes on a terminal."""
    terminal = sys.stdout.isatty()
    for stack, files in folders.items():
        for name, text in files.items():
            lines = text.rstrip("\n").split("\n")
            say([f"# {stack}/{name}", *(map(safe, lines) if terminal else lines), ""])


def _shown(path: Path, root: Path) -> str:
    try:
        return path.resolve().relative_to(root).as_posix()
    except ValueError:
        return str(path)
