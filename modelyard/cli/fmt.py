"""Format stack files and patches: order of keys, indentation, spaces. Values and comments stay unchanged.

Released patch versions are never changed. A file that cannot be read does not stop the others.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from modelyard.cli.common import project_root
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.printing import note, say
from modelyard.cli.streams import style_for, wants_colour
from modelyard.findings import Finding, ordered
from modelyard.report.style import safe, wrapped

if TYPE_CHECKING:
    from modelyard.stack.yaml.formatting import Formatted


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: the whole project)")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 if something would change")
    parser.add_argument("--diff", action="store_true", help="change nothing; show what would change")


_ENDS = (".yaml", ".yml", ".json", ".j2")
"""Ends of the names of a patch's files."""
_FORMATTED = "fmt formats stacks/Pulumi.<stack>.yaml and the files of patches/<name>/<version>/"


class File(NamedTuple):
    """A file that can be formatted."""

    path: Path
    shown: str
    """Path from the project's root, with slashes."""
    stack: str = ""
    """The stack that the file belongs to; empty for a file of a patch."""
    released: bool = False


class Result(NamedTuple):
    """A file before and after formatting."""

    file: File
    before: str
    after: "Formatted"

    @property
    def changes(self) -> bool:
        """Whether formatting changes the file; a byte-order mark and other line ends count."""
        return self.after.problem is None and self.after.text != self.before


def run(args: Namespace) -> Exit:
    """Formats, checks, or shows the difference."""
    from modelyard.files import write_atomically

    root = project_root(args)
    files = _wanted(root, args.paths)
    results = [_formatted(root, file) for file in files if not file.released]
    changing = [result for result in results if result.changes]
    if not args.check and not args.diff:
        for result in changing:
            write_atomically(result.file.path, result.after.text, within=root)
    broken = _broken(results)
    say([*_reports(changing, args), *_total(files, changing, len(broken), args)])
    if broken:
        raise Stop(Exit.USAGE, "not every file could be read", "", broken)
    return Exit.FINDINGS if args.check and changing else Exit.FINE


def _wanted(root: Path, names: Sequence[str]) -> list[File]:
    """The files that the paths name, sorted; without paths, all files of the project."""
    from modelyard.names import PATCHES_FOLDER
    from modelyard.stack.project import stack_folder
    from modelyard.stack.words import listed

    # A link to one of these files counts as the file itself.
    known = {Path(realpath(file.path)): file for file in sorted(_all(root), key=lambda file: not _is_link(file))}
    if not names:
        return sorted(known.values(), key=lambda file: file.shown)
    wanted: dict[Path, File] = {}
    for name in names:
        path = Path(realpath(name))
        if path.is_dir():
            wanted |= {other: file for other, file in known.items() if other.is_relative_to(path)}
        elif path in known:
            wanted[path] = known[path]
        elif path.exists():
            raise Stop(Exit.USAGE, f"{name} is neither a stack file nor a file of a patch", _FORMATTED)
        else:
            raise Stop(Exit.USAGE, f"{name} does not exist", "paths are relative to the current folder")
    # Only folders get here without a file. The project's own folders may still be empty.
    own = {Path(realpath(folder)) for folder in (root, stack_folder(root), root / PATCHES_FOLDER)}
    if not wanted and own.isdisjoint(Path(realpath(name)) for name in names):
        summary = f"no stack files or patches of this project are in {listed(names)}"
        raise Stop(Exit.USAGE, summary, _FORMATTED + "; -C DIR formats another project")
    return sorted(wanted.values(), key=lambda file: file.shown)


def _is_link(file: File) -> bool:
    return realpath(file.path) != str(file.path)


def _all(root: Path) -> Iterator[File]:
    from modelyard.catalog.lock import LOCK, read_lock
    from modelyard.files import list_folder
    from modelyard.names import PATCHES_FOLDER
    from modelyard.stack import discover

    for found in discover(root):
        yield File(found.path, found.shown, found.name)
    folder = root / PATCHES_FOLDER
    released, unclear = read_lock(folder)
    if unclear:
        summary = f"line {unclear[0]} of {LOCK} is not a name, a version and a SHA-256"
        raise Stop(Exit.USAGE, f"{summary}, so the released versions are unknown", "restore the file")
    patches = [path for path in list_folder(folder, root) if path.name[0] not in "._" and path.is_dir()]
    for version in (path for patch in patches for path in list_folder(patch, root) if path.name[0] == "v"):
        name = f"{version.parent.name}/{version.name}"
        for path in _below(version, root) if version.is_dir() else ():
            if path.suffix in _ENDS and path.name[0] != ".":
                yield File(path, path.relative_to(root).as_posix(), released=name in released)


def _below(folder: Path, root: Path) -> Iterator[Path]:
    """The files in a folder and its subfolders, and what stands where a file belongs."""
    from modelyard.files import list_folder

    for path in list_folder(folder, root):
        if path.is_dir() and not path.is_symlink() and path.suffix not in _ENDS:
            yield from _below(path, root)
        else:
            yield path


def _formatted(root: Path, file: File) -> Result:
    from modelyard.catalog.formatting import formatted_file
    from modelyard.files import MAX_YAML_BYTES, ReadError, read_file
    from modelyard.stack import codes
    from modelyard.stack.yaml.document import parse
    from modelyard.stack.yaml.formatting import Formatted, formatted, stack_order
    from modelyard.stack.yaml.source import TextProblem

    try:
        content = read_file(file.path, limit=MAX_YAML_BYTES, within=root)
    except ReadError as error:
        code = codes.UNREADABLE if file.stack else "PAT009"
        summary = f"{file.path.name} cannot be read: {error.reason}"
        return Result(file, "", Formatted("", TextProblem(code, summary, remedy=error.remedy)))
    if _is_link(file):
        return Result(file, "", Formatted("", TextProblem("", "it is a symbolic link", harmless=True)))
    try:
        before = content.decode()
    except UnicodeDecodeError:
        # The YAML parser describes such a text better than Python does.
        problem = parse(content)[1][0] if file.stack else TextProblem("PAT009", "the text is not UTF-8")
        return Result(file, "", Formatted("", problem))
    made = formatted(before, stack_order) if file.stack else formatted_file(file.path.name, before)
    return Result(file, before, made)


def _reports(changing: Sequence[Result], args: Namespace) -> Iterator[str]:
    """Reports what happened to each file, or what would happen."""
    for result in changing:
        if args.diff:
            yield from _difference(result, wants_colour(args, sys.stdout))
        else:
            yield f"{result.file.shown} is not formatted" if args.check else f"formatted {result.file.shown}"


def _difference(result: Result, colour: bool) -> Iterator[str]:
    import re
    from difflib import unified_diff

    from modelyard.hiding import hidden_file
    from modelyard.report.style import Style

    style = Style(colour)
    paint = {"-": style.removed, "+": style.added, "@": style.dim}
    document = _document(result.before)
    # Keep secrets out of logs, encrypted or not. The comparison uses the original lines, so lines that differ only in
    # hidden parts are shown too.
    texts = result.before, result.after.text
    shown: dict[str, str] = {}
    for text in texts:
        for line, without in zip(text.splitlines(), hidden_file(text, document), strict=True):
            if shown.get(line, line) == line:
                shown[line] = without
    name = result.file.shown
    before, after = (text.splitlines() for text in texts)
    lines = unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")
    for number, line in enumerate(lines):
        visible = line if number < _NAMES or line.startswith("@") else f"{line[0]}{shown[line[1:]]}"
        yield paint.get(line[:1], str)(safe(re.sub(r"(\bsecure:[ \t]*)[^\s,}]+", r"\1[secret]", visible)))


_NAMES = 2
"""Header lines of a diff."""


def _document(text: str) -> Any:
    """The parsed file, to find its secrets; None for a template, which is not a document."""
    from modelyard.stack.yaml.document import parse

    document, _ = parse(text.encode(errors="surrogatepass"))
    return None if document is None else document.value


def _total(files: Sequence[File], changing: Sequence[Result], broken: int, args: Namespace) -> Iterator[str]:
    from modelyard.stack.words import plural

    done = "would change" if args.check or args.diff else "changed"
    versions = {file.path.parent for file in files if file.released}
    unread = f", {broken} could not be read" if broken else ""
    left = f"; {plural(len(versions), 'released patch version')} skipped" if versions else ""
    checked = plural(len(files) - sum(file.released for file in files) - broken, "file")
    yield from wrapped(
        f"{checked} checked, {len(changing)} {done}{unread}{left}", 0, style_for(args, sys.stdout).columns
    )


def _broken(results: Sequence[Result]) -> tuple[Finding, ...]:
    """Findings for unreadable files. A file in a layout unknown to fmt is reported and left alone."""
    from modelyard.stack.mistakes import of_problem

    findings = []
    for file, _, (_, problem) in results:
        if problem is None:
            continue
        if problem.harmless:
            where = f"{file.shown}:{problem.line}" if problem.line else file.shown
            note(f"{where} is not changed: {problem.message}")
            continue
        findings.append(of_problem(problem, file.shown, file.stack))
    return ordered(findings)
