"""From a stack file to a ``Stack``, or to everything that is wrong with it."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from errno import EFBIG
from itertools import islice
from pathlib import Path as FilePath
from typing import Any, Final

from modelyard.files import ReadError, read_file
from modelyard.findings import MOST_COUNTED, Finding, Severity, first, ordered
from modelyard.stack import codes
from modelyard.stack.checks import check
from modelyard.stack.config import Config, Path, Stack, Training
from modelyard.stack.mistakes import Mistake
from modelyard.stack.placing import of_mistake, of_problem
from modelyard.stack.schema import PREFIX, is_valid
from modelyard.stack.shape import Source, made
from modelyard.stack.shapes import CONFIG
from modelyard.stack.words import did_you_mean, listed, nearest, plain, quoted
from modelyard.stack.yaml.document import Document, parse
from modelyard.stack.yaml.source import MAX_BYTES, Problem, too_large

Loaded = tuple[Stack | None, tuple[Finding, ...]]

FILE_NAME = re.compile(r"Pulumi\.((?!\.{1,2}\.yaml)[A-Za-z0-9_.-]{1,100})\.yaml")
"""The names that Pulumi gives stack files, by the stack's name."""
_MISNAMED = re.compile(r"pulumi\..+\.ya?ml", re.IGNORECASE | re.DOTALL)
_STRANGE = re.compile(r"[^A-Za-z0-9_.-]")
CONTEXT = "kubernetes:context"
_TOP = ("config", "encryptionsalt", "encryptedkey", "secretsprovider", "environment")
_PLAIN = CONFIG.plain
_SECTIONS = tuple(key for key in CONFIG.keys if key not in _PLAIN)
_CUT = MOST_COUNTED + 1
"""Of mistakes of one kind no more are looked for: a file of them alone would keep us for minutes."""
_LETTERS = frozenset("modelyard")


def load(path: FilePath, shown: str, root: FilePath | None = None) -> Loaded:
    """The stack of a file, with all findings about it; without a stack when one of them is an error.

    A file that cannot be read is a finding too: nothing is raised.

    Args:
        path: a file named ``Pulumi.<stack>.yaml``.
        shown: the path as findings name it.
        root: the project's folder, which a link in it must not leave.
    """
    found = FILE_NAME.fullmatch(path.name)
    if found is None:
        summary = f"{plain(path.name)} is not the name of a stack file"
        remedy = "name it Pulumi.<stack>.yaml; a stack's name has letters, digits, - _ and ."
        about = stack_of(path.name)
        wrong = Finding(codes.UNREADABLE, Severity.ERROR, summary, about, file=plain(shown, 200), remedy=remedy)
        return None, (wrong,)
    stack = found[1]
    content = _read(path, stack, root)
    if isinstance(content, Problem):
        return None, (of_problem(content, shown, stack),)
    return load_text(content, stack, shown)


def load_text(content: bytes | str, stack: str, shown: str) -> Loaded:
    """The stack of a file's content, with all findings about it; without a stack when one of them is an error."""
    if isinstance(content, str):
        # Lone surrogates become bytes that are no UTF-8, which is found below.
        content = content.encode(errors="surrogatepass")
    document, problems = parse(content)
    findings = [of_problem(problem, shown, stack) for problem in problems[:_CUT]]
    if document is None:
        return None, tuple(first(ordered(findings)))
    findings += [of_problem(problem, shown, stack) for problem in islice(_shape(document), _CUT)]
    config = document.value.get("config") if isinstance(document.value, dict) else None
    if not isinstance(config, dict):
        return None, tuple(first(ordered(findings)))

    texts = {path[1:]: text for path, text in document.texts.items() if path[0] == "config"}
    encrypted = [path[1:] for path in document.secrets if str(path[1]).startswith(PREFIX) or path[1] == CONTEXT]
    ours = {key: value for key, value in config.items() if key.startswith(PREFIX) or key == CONTEXT}
    mistakes = [*islice(_namespaces(config), _CUT), *_unpack(ours, texts, encrypted)]
    secrets = tuple(encrypted)
    mistakes += check(ours, texts, secrets)[:_CUT]
    if not is_valid(ours):
        from modelyard.stack.explain import explain

        explained = explain(ours, texts)
        # Nobody needs the plain value of a key that there is not.
        unknown = [mistake.path for mistake in explained if mistake.code == codes.UNKNOWN_KEY]
        mistakes = [m for m in mistakes if m.code != codes.SECRET or not _below(m.path, unknown)]
        # An encrypted value has the wrong shape for what belongs there; that it is encrypted is the news.
        wrong = [mistake.path for mistake in mistakes]
        mistakes += [mistake for mistake in explained if not _below(mistake.path, wrong)]
    findings += [of_mistake(mistake, document, shown, stack, top=("config",)) for mistake in mistakes]
    if any(finding.severity is Severity.ERROR for finding in findings):
        return None, tuple(first(ordered(findings)))
    made = Stack(
        name=stack,
        file=shown,
        sha256=hashlib.sha256(json.dumps(ours, sort_keys=True).encode()).hexdigest(),
        config=decode(ours, texts, secrets),
        context=config.get(CONTEXT),
        positions=_positions(document),
    )
    return made, tuple(first(ordered(findings)))


def _below(path: Path, others: Iterable[Path]) -> bool:
    """Whether the path is one of the others, or inside what stands there."""
    return any(path[: len(other)] == other for other in others)


def _read(path: FilePath, stack: str, root: FilePath | None) -> bytes | Problem:
    try:
        return read_file(path, limit=MAX_BYTES, within=root)
    except ReadError as error:
        if error.errno == EFBIG:
            return too_large(path.stat().st_size)
        if not error.missing:
            summary = f"{plain(path.name)} cannot be read: {error.reason}"
            return Problem(codes.UNREADABLE, summary, remedy=error.remedy)
        try:
            known = stacks_in(path.parent)
        except OSError:
            known = []
        have = (
            f"the stacks are {listed(known, 'and')}" if known else f"there are no stacks in {plain(path.parent.name)}/"
        )
        close = did_you_mean(stack, known)
        remedy = f"{close} {have}" if close else have
        return Problem(codes.UNREADABLE, f"there is no stack {quoted(stack)}", remedy=remedy)


def stack_of(file: str) -> str:
    """What the stack of a file in the folder of the stack files is called, by the file's name; empty for other files.

    The name of a misnamed file comes without what might steer a terminal or a page.
    """
    found = FILE_NAME.fullmatch(file)
    if found is not None:
        return found[1]
    return _STRANGE.sub("_", file) if _MISNAMED.fullmatch(file) else ""


def stacks_in(folder: FilePath) -> list[str]:
    """The names of the stacks whose files lie in a folder, sorted; none where there is no such folder.

    Raises:
        OSError: it cannot be listed.
    """
    return sorted(found[1] for found in map(FILE_NAME.fullmatch, names_in(folder)) if found)


def names_in(folder: FilePath) -> list[str]:
    """What is in a folder, by name; nothing where there is no such folder.

    Raises:
        OSError: it cannot be listed, which is not the same as empty.
    """
    try:
        return [entry.name for entry in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return []


def _shape(document: Document) -> Iterator[Problem]:
    """What is wrong around ``config``."""
    value = document.value
    if value is None:
        yield Problem(
            codes.SHAPE, "the stack file is empty", 1, 1, "add `config:` with modelyard:platform and modelyard:gpu"
        )
        return
    if not isinstance(value, dict):
        what = "a list" if isinstance(value, list) else "one plain value"
        yield Problem(codes.SHAPE, f"the stack file is {what}, not a mapping", 1, 1, "start with `config:`")
        return
    elsewhere, ignored = False, list[str]()
    for key in value:
        if key in _TOP:
            continue
        if ":" in key:
            remedy = "indent it under `config:`"
            elsewhere = True
            yield Problem(codes.UNKNOWN_KEY, f"{plain(key)} stands beside config", *document.keys[(key,)], remedy)
        elif len(ignored) >= _CUT:
            pass  # so many are told, and one that is near to a known key is no news
        elif close := nearest(key, _TOP):
            elsewhere = elsewhere or close == "config"
            yield Problem(
                codes.UNKNOWN_KEY, f"unknown key {plain(key)}", *document.keys[(key,)], f"did you mean {close}?"
            )
        else:
            ignored.append(key)
    if "config" not in value and not elsewhere:
        yield Problem(codes.SHAPE, "the stack file has no config", 1, 1, "put the modelyard: keys under `config:`")
    elif "config" in value and not isinstance(value["config"], dict):
        what = "empty" if value["config"] is None else "not a mapping"
        yield Problem(
            codes.SHAPE, f"config is {what}", *document.values[("config",)], "put the modelyard: keys under it"
        )
    # Behind all errors, of which these must take no place.
    for key in ignored:
        section = nearest(key, tuple(CONFIG.keys), 0.8)
        remedy = (
            f"write {PREFIX}{section} under `config:`" if section else f"take it out; known are {listed(_TOP, 'and')}"
        )
        summary = f"unknown key {plain(key)}, which Pulumi ignores"
        yield Problem(codes.UNKNOWN_KEY, summary, *document.keys[(key,)], remedy, harmless=True)


def _namespaces(config: Mapping[str, Any]) -> Iterator[Mistake]:
    """Keys that were meant to be modelyard's."""
    for key in config:
        space, colon, rest = key.partition(":")
        if space == "modelyard" and colon:
            continue
        meant = ""
        if not colon:
            section = key.partition(".")[0]
            if section in CONFIG.keys:
                meant = PREFIX + section
            elif key.startswith("modelyard"):
                rest = key.removeprefix("modelyard").strip("./-_ ")
                meant = PREFIX + (nearest(rest, tuple(CONFIG.keys)) or "…")
        # Most other packages' names share few letters with ours, and cost no more than this line.
        elif len(_LETTERS.intersection(space.casefold())) > 5 and nearest(space, ["modelyard"], 0.8):
            meant = PREFIX + rest
        if meant:
            summary = f"unknown key {plain(key)}"
            yield Mistake((key,), codes.UNKNOWN_KEY, summary, f"did you mean {plain(meant)}?", at_key=True)


def _unpack(config: dict[str, Any], texts: dict[Path, str], secrets: list[Path]) -> Iterator[Mistake]:
    """Puts the value in the place of the JSON text that `pulumi config set` without --path writes for it."""
    for section in _SECTIONS:
        key = PREFIX + section
        text = config.get(key)
        if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
            continue
        # JSON is YAML too, so the same limits hold and numbers keep their source text.
        document, problems = parse(text.encode(errors="surrogatepass"))
        if problems:
            yield Mistake(
                (key,), problems[0].code, f"{section} holds text in which {problems[0].message}", "write it as YAML"
            )
        elif document is not None:
            config[key] = document.value
            texts.update({(key, *path): source for path, source in document.texts.items()})
            secrets += [(key, *path) for path in document.secrets]


def _positions(document: Document) -> dict[Path, tuple[int, int]]:
    """Places of our keys without their prefix; the empty path is ``config`` itself."""
    cut = len(PREFIX)
    made: dict[Path, tuple[int, int]] = {(): document.keys[("config",)]}
    for path, place in document.keys.items():
        if len(path) > 1 and path[0] == "config" and path[1].startswith(PREFIX):  # type: ignore[union-attr]
            made[(path[1][cut:], *path[2:])] = place  # type: ignore[index]
    return made


# From config that follows the schema to the frozen values of `config`.
RAY_DEFAULT_SINCE: Final = (23, 7)
"""The platform release, year and month, from which on Ray is the default backend of training."""


def decode(config: Mapping[str, Any], texts: Mapping[Path, str], secrets: tuple[Path, ...]) -> Config:
    """The config of a stack file.

    Args:
        config: by key with its prefix, as the schema wants it; keys of other programs may stand beside ours.
        texts: source text of numbers, by path below ``config`` of the document.
        secrets: paths of encrypted values in it; all stand in parameters of patches or are credentials.
    """
    given = {key.removeprefix(PREFIX): value for key, value in config.items() if key.startswith(PREFIX)}
    source = Source({_own(path): text for path, text in texts.items()}, frozenset(map(_own, secrets)))
    found: Config = made({"training": default_training(given["platform"]["release"]), **given}, CONFIG, source)
    return found


def default_training(release: str) -> Training:
    """The backend that a release, ``YY.MM``, trains on unless the stack says otherwise."""
    year, month = release.split(".")
    return "ray" if (int(year), int(month)) >= RAY_DEFAULT_SINCE else "celery"


def _own(path: Path) -> Path:
    """A path as findings and ``Stack.positions`` have it: without the prefix of its section."""
    return (str(path[0]).removeprefix(PREFIX), *path[1:])
