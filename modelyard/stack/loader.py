"""Loads a stack file into a ``Stack``, or reports everything that is wrong with it."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from errno import EFBIG
from itertools import islice
from pathlib import Path
from typing import Any, Final

from modelyard.files import MAX_YAML_BYTES, ReadError, read_file
from modelyard.findings import MOST_COUNTED, Finding, Severity, first, in_order
from modelyard.stack import codes
from modelyard.stack.checks import check
from modelyard.stack.config import WORKERS, Config, Stack, StackPath
from modelyard.stack.mistakes import Mistake, of_mistake, of_problem, without_renamed
from modelyard.stack.project import FILE_NAME, stack_of, stacks_in
from modelyard.stack.schema import PREFIX, is_valid
from modelyard.stack.shape import CONFIG, DocumentSource, made
from modelyard.stack.words import did_you_mean, listed, nearest, plain
from modelyard.stack.yaml.document import Document, parse
from modelyard.stack.yaml.source import TextProblem, too_large

LoadedStack = tuple[Stack | None, tuple[Finding, ...]]

CONTEXT = "kubernetes:context"
_TOP = ("config", "encryptionsalt", "encryptedkey", "secretsprovider", "environment")
_PLAIN = CONFIG.plain
_SECTIONS = tuple(key for key in CONFIG.keys if key not in _PLAIN)
_CUT = MOST_COUNTED + 1
"""Maximum number of mistakes per kind that are collected: a file full of mistakes would take minutes."""
_LETTERS = frozenset("modelyard")


def load(path: Path, shown: str, root: Path | None = None) -> LoadedStack:
    """Loads the stack of a file, with all findings about it; without a stack if one of them is an error.

    A file that cannot be read is a finding too; nothing is raised.

    Args:
        path: a file named ``Pulumi.<stack>.yaml``.
        shown: the path as findings name it.
        root: the project folder; links in it must not lead outside.
    """
    found = FILE_NAME.fullmatch(path.name)
    if found is None:
        summary = f"{plain(path.name)} is not the name of a stack file"
        remedy = "name it Pulumi.<stack>.yaml; a stack's name has letters, digits, -, _ and ."
        about = stack_of(path.name)
        wrong = Finding(codes.UNREADABLE, Severity.ERROR, summary, about, file=plain(shown, 200), remedy=remedy)
        return None, (wrong,)
    stack = found[1]
    content = _read(path, stack, root)
    if isinstance(content, TextProblem):
        return None, (of_problem(content, shown, stack),)
    loaded, findings = load_text(content, stack, shown)
    if loaded is not None and loaded.context is None:
        findings = in_order((*findings, _without_context(loaded, content)))
    return loaded, findings


def _without_context(stack: Stack, content: bytes) -> Finding:
    summary = f"{stack.name} does not name its cluster: {CONTEXT} is not set"
    detail = "other commands use the current context of the kubeconfig; apply and destroy refuse to run"
    remedy = f"set {CONTEXT} to a context of your kubeconfig"
    found = stack.finding(codes.NO_CONTEXT, Severity.WARNING, (), summary, remedy, detail=detail)
    space, _, word = CONTEXT.partition(":")
    document = parse(content)[0] if f"{space}:".encode() in content else None
    for path, (line, column) in document.keys.items() if document is not None else ():
        key = str(path[-1])
        if path[:-1] == ("config",) and key.startswith(f"{space}:") and nearest(key.removeprefix(f"{space}:"), [word]):
            return found._replace(remedy=f"did you mean {CONTEXT} instead of {plain(key)}?", line=line, column=column)
    return found


def load_text(content: bytes | str, stack: str, shown: str) -> LoadedStack:
    """Loads a stack from a file's content, with all findings about it; without a stack if one of them is an error."""
    if isinstance(content, str):
        # Lone surrogates become bytes that are not UTF-8, which the parser reports below.
        content = content.encode(errors="surrogatepass")
    document, problems = parse(content)
    findings = [of_problem(problem, shown, stack) for problem in problems[:_CUT]]
    if document is None:
        return None, tuple(first(in_order(findings)))
    findings += [of_problem(problem, shown, stack) for problem in islice(_shape(document), _CUT)]
    config = document.value.get("config") if isinstance(document.value, dict) else None
    if not isinstance(config, dict):
        return None, tuple(first(in_order(findings)))

    texts = {path[1:]: text for path, text in document.texts.items() if path[0] == "config"}
    encrypted = [path[1:] for path in document.secrets if str(path[1]).startswith(PREFIX) or path[1] == CONTEXT]
    ours = {key: value for key, value in config.items() if key.startswith(PREFIX) or key == CONTEXT}
    mistakes = [*islice(_namespaces(config), _CUT), *_unpack(ours, texts, encrypted)]
    secrets = tuple(encrypted)
    mistakes += check(ours, texts, secrets)[:_CUT]
    if not is_valid(ours):
        from modelyard.stack.explain import explain

        explained = explain(ours, texts)
        # The plain value of a missing key is not needed.
        unknown = [mistake.path for mistake in explained if mistake.code == codes.UNKNOWN_KEY]
        mistakes = [m for m in mistakes if m.code != codes.SECRET or not _below(m.path, unknown)]
        # An encrypted value has the wrong shape; report that it is encrypted instead.
        wrong = [mistake.path for mistake in mistakes]
        mistakes += [mistake for mistake in explained if not _below(mistake.path, wrong)]
    findings += [of_mistake(one, document, shown, stack, top=("config",)) for one in without_renamed(mistakes)]
    if any(finding.severity is Severity.ERROR for finding in findings):
        return None, tuple(first(in_order(findings)))
    made = Stack(
        name=stack,
        file=shown,
        sha256=hashlib.sha256(json.dumps(ours, sort_keys=True).encode()).hexdigest(),
        config=decode(ours, texts, secrets),
        context=config.get(CONTEXT),
        positions=_positions(document),
    )
    return made, tuple(first(in_order(findings)))


def _key_service(document: Document) -> Iterator[TextProblem]:
    """Yields a problem if the key service is a server that only this file names."""
    provider = document.value.get("secretsprovider")
    if not isinstance(provider, str):
        return
    from modelyard.hiding import hidden_text
    from modelyard.stack.key_service import is_at_its_cloud

    if not is_at_its_cloud(provider):
        yield TextProblem(
            codes.FORM,
            f"secretsprovider {plain(hidden_text(provider), 200)} may name a server of this file's choice, and Pulumi "
            "would send your cloud credentials there",
            *document.values[("secretsprovider",)],
            "use a key at its cloud's own address; to use another server, set a variable such as AWS_ENDPOINT_URL",
        )


def _below(path: StackPath, others: Iterable[StackPath]) -> bool:
    """Whether the path is one of ``others``, or below one of them."""
    return any(path[: len(other)] == other for other in others)


def _read(path: Path, stack: str, root: Path | None) -> bytes | TextProblem:
    try:
        return read_file(path, limit=MAX_YAML_BYTES, within=root)
    except ReadError as error:
        if error.errno == EFBIG:
            return too_large(path.stat().st_size)
        if not error.missing:
            summary = f"{plain(path.name)} cannot be read: {error.reason}"
            return TextProblem(codes.UNREADABLE, summary, remedy=error.remedy)
        try:
            known = stacks_in(path.parent)
        except OSError:
            known = []
        have = (
            f"the stacks are {listed(known, 'and')}"
            if known
            else f"{plain(path.parent.name)}/ has no stacks; add {plain(path.name)}"
        )
        close = did_you_mean(stack, known)
        remedy = f"{close} {have}" if close else have
        return TextProblem(codes.UNREADABLE, f"unknown stack '{plain(stack)}'", remedy=remedy)


def _shape(document: Document) -> Iterator[TextProblem]:
    """Yields what is wrong outside ``config``."""
    value = document.value
    if value is None:
        yield TextProblem(
            codes.SHAPE,
            "the stack file is empty",
            1,
            1,
            remedy="add `config:` with modelyard:platform and modelyard:gpu",
        )
        return
    if not isinstance(value, dict):
        what = "a list" if isinstance(value, list) else "one plain value"
        yield TextProblem(codes.SHAPE, f"the stack file is {what}, not a mapping", 1, 1, remedy="start with `config:`")
        return
    misplaced, ignored = False, list[str]()
    for key in value:
        if key in _TOP:
            continue
        if ":" in key:
            remedy = "indent it under `config:`"
            misplaced = True
            yield TextProblem(
                codes.UNKNOWN_KEY, f"{plain(key)} is next to config, not in it", *document.keys[(key,)], remedy
            )
        elif len(ignored) >= _CUT:
            pass  # enough are reported, and one close to a known key is no news
        elif close := nearest(key, _TOP):
            misplaced = misplaced or close == "config"
            yield TextProblem(
                codes.UNKNOWN_KEY, f"unknown key {plain(key)}", *document.keys[(key,)], f"did you mean {close}?"
            )
        else:
            ignored.append(key)
    yield from _key_service(document)
    if "config" not in value and not misplaced:
        yield TextProblem(
            codes.SHAPE, "the stack file has no config", 1, 1, remedy="put the modelyard: keys under `config:`"
        )
    elif "config" in value and not isinstance(value["config"], dict):
        what = "empty" if value["config"] is None else "not a mapping"
        yield TextProblem(
            codes.SHAPE, f"config is {what}", *document.values[("config",)], "put the modelyard: keys under it"
        )
    # After all errors, because these must not take their place.
    for key in ignored:
        section = nearest(key, tuple(CONFIG.keys), 0.8)
        remedy = (
            f"write {PREFIX}{section} under `config:`"
            if section
            else f"remove it; known keys are {listed(_TOP, 'and')}"
        )
        summary = f"unknown key {plain(key)}, which Pulumi ignores"
        yield TextProblem(codes.UNKNOWN_KEY, summary, *document.keys[(key,)], remedy, harmless=True)


def _namespaces(config: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yields keys that look like misspelt modelyard keys."""
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
        # Most names of other packages share few letters with modelyard, and cost no more than this line.
        elif len(_LETTERS.intersection(space.casefold())) > 5 and nearest(space, ["modelyard"], 0.8):
            meant = PREFIX + rest
        if meant:
            summary = f"unknown key {plain(key)}"
            remedy = f"did you mean {plain(meant)}?"
            yield Mistake((key,), codes.UNKNOWN_KEY, summary, remedy, at_key=True, meant=(meant,))


def _unpack(config: dict[str, Any], texts: dict[StackPath, str], secrets: list[StackPath]) -> Iterator[Mistake]:
    """Replaces the JSON text that `pulumi config set` without --path writes by its value."""
    for section in _SECTIONS:
        key = PREFIX + section
        text = config.get(key)
        if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
            continue
        # JSON is YAML too, so the same limits apply and numbers keep their source text.
        document, problems = parse(text.encode(errors="surrogatepass"))
        if problems:
            yield Mistake(
                (key,), problems[0].code, f"{section} holds text in which {problems[0].message}", "write it as YAML"
            )
        elif document is not None:
            config[key] = document.value
            texts.update({(key, *path): source for path, source in document.texts.items()})
            secrets += [(key, *path) for path in document.secrets]


def _positions(document: Document) -> dict[StackPath, tuple[int, int]]:
    """Returns the positions of modelyard's keys without their prefix; the empty path is ``config`` itself."""
    cut = len(PREFIX)
    made: dict[StackPath, tuple[int, int]] = {(): document.keys[("config",)]}
    for path, place in document.keys.items():
        if len(path) > 1 and path[0] == "config" and path[1].startswith(PREFIX):  # type: ignore[union-attr]
            made[(path[1][cut:], *path[2:])] = place  # type: ignore[index]
    return made


# From config that follows the schema to the frozen values of `config`.
RAY_DEFAULT_SINCE: Final = (23, 7)
"""The platform release, year and month, since which Ray is the default training backend."""


def decode(config: Mapping[str, Any], texts: Mapping[StackPath, str], secrets: tuple[StackPath, ...]) -> Config:
    """Returns the config of a stack file.

    Args:
        config: by key with its prefix, valid under the schema; keys of other programs may be present.
        texts: source text of numbers, by path below ``config`` of the document.
        secrets: paths of encrypted values in it; all are patch parameters or credentials.
    """
    given = {key.removeprefix(PREFIX): value for key, value in config.items() if key.startswith(PREFIX)}
    source = DocumentSource({_own(path): text for path, text in texts.items()}, frozenset(map(_own, secrets)))
    platform = given["platform"]
    training = default_training(platform["release"], platform.get("without", ()))
    found: Config = made({"training": training, **given}, CONFIG, source)
    return found


def default_training(release: str, without: Collection[str] = ()) -> str:
    """Returns the training backend that a stack uses unless it sets one.

    Args:
        release: the platform's release, ``YY.MM``.
        without: the workloads that the platform does not have. Without the workers of any backend nothing trains, and
            the backend means nothing.
    """
    left = [name for name, worker in WORKERS.items() if worker not in without]
    year, month = release.split(".")
    wanted = "ray" if (int(year), int(month)) >= RAY_DEFAULT_SINCE else "celery"
    return wanted if wanted in left else (*left, wanted)[0]


def _own(path: StackPath) -> StackPath:
    """Returns a path as in findings and ``Stack.positions``: without the prefix of its section."""
    return (str(path[0]).removeprefix(PREFIX), *path[1:])
