"""Write a stack's rendered patches as files: for Deployment-Manager-like tools, or as a kustomization for GitOps."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from modelyard.cli.common import exit_code, planned, project_root, say, stack_options
from modelyard.cli.exit import Exit, Stop
from modelyard.files import write_atomically
from modelyard.findings import Finding


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
    out = Path(args.out) if args.out else root / "out" / args.format
    findings: list[Finding] = []
    written: list[Path] = []
    for result in results:
        assert result.plan is not None
        assert result.stack is not None
        findings.extend(result.plan.findings)
        if args.format == "vendor":
            from modelyard.plan.project import chosen_patches

            files = vendor_files(result.plan, chosen_patches(root, result.stack))
        else:
            files = kustomize_files(result.plan)
        for name, text in files.items():
            if args.show:
                say([f"# {result.plan.stack}/{name}", text.rstrip("\n"), ""])
                continue
            path = out / result.plan.stack / name
            write_atomically(path, text)
            written.append(path)
        if not args.show:
            _remove_stale(out / result.plan.stack, set(files))
    if not args.show:
        from modelyard.report.values import count

        say([f"{count(len(written), 'file')} written to {_shown(out, root)}"])
    return exit_code(findings, False)


def _remove_stale(folder: Path, names: set[str]) -> None:
    """Drops files of an earlier run, so that a folder never mixes two plans; files of another kind stay."""
    for path in folder.rglob("*.yaml"):
        if path.relative_to(folder).as_posix() not in names:
            path.unlink()


def _shown(path: Path, root: Path) -> str:
    try:
        return path.resolve().relative_to(root).as_posix()
    except ValueError:
        return str(path)
