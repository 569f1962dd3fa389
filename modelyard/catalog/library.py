"""The patches of a project in ``patches/<name>/<version>/``."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from modelyard.catalog.lock import LOCK_FILE, digest, lock_lines, read_lock
from modelyard.files import ReadError, list_folder, not_utf8, parse_json, read_file
from modelyard.findings import Finding, Severity, first
from modelyard.stack.words import did_you_mean, listed, plain
from modelyard.stack.yaml.document import parse, parse_plain
from modelyard.timelimit import TimeBudget, TimeUp
from modelyard.untrusted import BadSchema, Checker, cost_of

PATCHES_FOLDER = "patches"
Phase = Literal["route", "up", "down", "normal"]
PHASES: tuple[Phase, ...] = get_args(Phase)
Use = Literal["patched", "managed", "submitted"]
"""How a version's documents are used.

``patched`` changes existing objects, and owns those of its base if ``platform.mode`` is managed. ``managed`` owns the
objects of its base in every mode. ``submitted`` is in no plan: the objects of its base are created anew for each job.
"""
MODES: tuple[Use, ...] = ("managed", "submitted")
ClusterKind = Literal["platform", "remote"]
"""The cluster of a version's objects: the platform's, or each remote cluster of the stack."""
CLUSTER_KINDS: tuple[ClusterKind, ...] = get_args(ClusterKind)

DRAFT = "https://json-schema.org/draft/2020-12/schema"
TEMPLATE, BASE, SCHEMA, META = "patch.yaml.j2", "base.yaml.j2", "schema.json", "meta.yaml"
_VERSION = re.compile(r"v([1-9]\d*)")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
META_KEYS = ("description", "phase", "mode", "cluster", "when", "after", "overrides", "params")
MAX_FILE = 256 * 1024
"""Bytes of the largest patch file that is read."""
SECONDS = 10.0
"""Maximum time to read a project's patches; their schemas contain patterns, which are compiled."""
BUDGET = TimeBudget(total=30.0, refill=0.1)
"""Shared limit for the patches of several projects, such as both commits of a preview."""


class Meta(NamedTuple):
    """A version's ``meta.yaml``."""

    description: str = ""
    phase: Phase = "normal"
    when: Mapping[str, Any] | None = {}
    """Facts that must hold for a stack to get the patch automatically; None: only stacks that list it."""
    after: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    params: Mapping[str, str] = {}
    """Maps a parameter name to the dotted path of the fact that fills it."""
    use: Use = "patched"
    cluster: ClusterKind = "platform"


class PatchVersion:
    """One immutable version of a patch. Compared by name and content."""

    def __init__(self, name: str, version: str, file: str, files: Mapping[str, bytes], meta: Meta) -> None:
        self.name = name
        self.version = version
        self.file = file
        """Folder as shown to the user, relative to the project."""
        self.meta = meta
        self.sha256 = digest(files)
        self.names = tuple(sorted(files))
        """Its files, as the digest covers them."""
        self.meta_text = files[META].decode()
        self.template = files[TEMPLATE].decode()
        self.base = files[BASE].decode() if BASE in files else None
        self.schema_text = files[SCHEMA].decode()
        self.schema: dict[str, Any] = parse_json(self.schema_text)
        properties = self.schema.get("properties", {})
        self.defaults: dict[str, Any] = {
            name: spec["default"]
            for name, spec in (properties.items() if isinstance(properties, dict) else ())
            if isinstance(spec, dict) and "default" in spec
        }

    @property
    def id(self) -> str:
        """``name@version``, as in plans and annotations."""
        return f"{self.name}@{self.version}"

    def owns(self, mode: str) -> bool:
        """Whether a stack with this ``platform.mode`` owns the objects of the version's base."""
        return self.base is not None and (self.meta.use == "managed" or mode == "managed")

    @cached_property
    def checker(self) -> Checker:
        """Checks parameters; created on first use.

        Raises:
            BadSchema: the version's schema cannot be used.
        """
        return Checker(self.schema)

    def __repr__(self) -> str:
        return f"<PatchVersion {self.id}>"


class Library(NamedTuple):
    """All patch versions of a project and what is wrong with the folder."""

    patches: Mapping[str, Mapping[str, PatchVersion]]
    """Versions by patch name, newest first."""
    findings: tuple[Finding, ...]
    released: frozenset[str]
    """``name/version`` of the locked versions."""

    def latest(self, name: str) -> PatchVersion:
        """Returns the newest version of a patch, which stacks use unless they pin one."""
        return next(iter(self.patches[name].values()))

    def near(self, name: str) -> str:
        """Returns ``did you mean …?`` for an unknown name, or the known names."""
        if not self.patches:
            return f"add it to {PATCHES_FOLDER}/, which has no patches"
        return did_you_mean(name, self.patches) or "the patches are " + ", ".join(sorted(self.patches))


def load_library(root: Path) -> Library:
    """Reads every version below ``root/patches`` and compares it with the lock."""
    folder = root / PATCHES_FOLDER
    findings: list[Finding] = []
    patches: dict[str, dict[str, PatchVersion]] = {}
    lock_name = f"{PATCHES_FOLDER}/{LOCK_FILE}"
    try:
        (locked, bad_lines), lines = read_lock(folder), lock_lines(folder)
    except ReadError as error:
        findings.append(_error("PAT003", lock_name, f"{LOCK_FILE} cannot be read: {error.reason}", error.remedy))
        locked, bad_lines, lines = {}, (), {}
    findings += first(
        # The other content is not quoted: it may be anything.
        _error(
            "PAT003",
            lock_name,
            f"line {number} is not a name, a version and a SHA-256",
            "write: name/version  sha256",
            number,
        )
        for number in bad_lines
    )
    at = [PATCHES_FOLDER]
    try:
        # Schemas may come from anyone. Each file has its limits, and all together have this one.
        with BUDGET.limit(SECONDS):
            _load_all(folder, root, patches, findings, at)
    except TimeUp:
        summary = f"{at[-1]} was still being read after {SECONDS:g} seconds; later patches are unknown"
        remedy = "remove patches, or use shorter patterns with fewer repetitions in their schemas"
        findings.append(_error("PAT009", at[-1], summary, remedy))
        return Library(patches, tuple(findings), frozenset(locked))
    _compare_with_lock(patches, locked, lock_name, lines, findings)
    return Library(patches, tuple(findings), frozenset(locked))


def _load_all(
    folder: Path, root: Path, patches: dict[str, dict[str, PatchVersion]], findings: list[Finding], at: list[str]
) -> None:
    """Adds every version; ``at`` gets the folder of each version before it is read."""
    for place in _listed(folder, root, findings):
        if not place.is_dir() or place.name.startswith((".", "_")):
            continue
        versions = {}
        for version in _listed(place, root, findings):
            if not version.is_dir() or version.name.startswith((".", "_")):
                continue
            at.append(version.relative_to(root).as_posix())
            loaded = _load_version(version, place.name, findings)
            if loaded is not None:
                versions[version.name] = loaded
        if versions:
            patches[place.name] = dict(sorted(versions.items(), key=lambda item: -int(item[0][1:])))


def _listed(folder: Path, root: Path, findings: list[Finding]) -> list[Path]:
    """Returns the content of a patch folder; if it cannot be listed, that is a finding, as its patches are unknown."""
    try:
        return list_folder(folder, root)
    except ReadError as error:
        shown = folder.relative_to(root).as_posix()
        findings.append(_error("PAT009", shown, f"{shown} cannot be listed: {error.reason}", error.remedy))
        return []


def _load_version(folder: Path, name: str, findings: list[Finding]) -> PatchVersion | None:
    shown = f"{PATCHES_FOLDER}/{name}/{folder.name}"
    if not _VERSION.fullmatch(folder.name) or not _NAME.fullmatch(name):
        findings.append(
            _error(
                "PAT009",
                shown,
                f"{shown} is not a patch version",
                "name the folders like patches/my-patch/v1, in lower case",
            )
        )
        return None
    files: dict[str, bytes] = {}
    for wanted in (TEMPLATE, SCHEMA, META, BASE):
        try:
            files[wanted] = read_file(folder / wanted, limit=MAX_FILE, within=folder.parents[2])
        except ReadError as error:
            if not error.missing:
                summary = f"{shown}/{wanted} cannot be read: {error.reason}"
                findings.append(_error("PAT009", f"{shown}/{wanted}", summary, error.remedy))
                return None
            if wanted != BASE:
                findings.append(_error("PAT009", shown, f"{shown} has no {wanted}", f"add {shown}/{wanted}"))
    if not {TEMPLATE, SCHEMA, META} <= files.keys():
        return None
    patch, wrong = _version_of(name, folder.name, shown, tuple(files.items()))
    findings += wrong
    return patch


@lru_cache(maxsize=256)
def _version_of(
    name: str, version: str, shown: str, contents: tuple[tuple[str, bytes], ...]
) -> tuple[PatchVersion | None, tuple[Finding, ...]]:
    """Returns a version by the content of its files, with what is wrong; read once for both commits of a preview."""
    files = dict(contents)
    findings: list[Finding] = []
    meta = _read_meta(files[META], f"{shown}/{META}", findings)
    patch: PatchVersion | None = None
    try:
        for wanted in files:
            files[wanted].decode()
        schema = parse_json(files[SCHEMA])
        if not isinstance(schema, dict):
            raise ValueError("it is not an object")
        if meta is not None:
            patch = PatchVersion(name, version, shown, files, meta)
            _check_schema(patch)
        return patch, tuple(findings)
    except BadSchema as error:
        assert patch is not None
        return patch, (*findings, bad_schema(patch, error))
    except UnicodeDecodeError as error:
        summary = f"{shown}/{wanted} is not UTF-8 text: {not_utf8(error)}"
        return None, (*findings, _error("PAT009", f"{shown}/{wanted}", summary, "save it as UTF-8"))
    except ValueError as error:
        what, line = _in_schema(error, files[SCHEMA].decode())
        summary = f"not a JSON Schema: {what}"
        return None, (*findings, _error("PAT009", f"{shown}/{SCHEMA}", summary, "correct the schema", line))


def _check_schema(patch: PatchVersion) -> None:
    """Raises an error if a version's schema is invalid.

    Raises:
        ValueError: the schema is invalid.
    """
    from jsonschema_rs import meta

    # Checked by the draft that is used: a URL in $schema would be fetched.
    meta.validate({**patch.schema, "$schema": DRAFT} if isinstance(patch.schema.get("$schema"), str) else patch.schema)
    _ = cost_of(patch.schema)


def bad_schema(patch: PatchVersion, error: BadSchema) -> Finding:
    """Returns the finding about an unusable schema, at the keyword that causes it."""
    document, _ = parse(patch.schema_text.encode())
    path = error.path
    while document is not None and path and path not in document.keys:
        path = path[:-1]
    line, column = document.keys.get(path, (1, 0)) if document is not None else (1, 0)
    summary = f"the schema of patch {patch.id} {plain(error.summary, 300)}"
    return _error("PAT009", f"{patch.file}/{SCHEMA}", summary, error.remedy, line, column)


def _in_schema(error: ValueError, text: str) -> tuple[str, int]:
    """Returns what is wrong with a schema, in one line, and its line number."""
    from modelyard.catalog.places import line_of

    path = tuple(getattr(error, "instance_path", ()))
    what = str(getattr(error, "message", error)).partition("\n")[0]
    where = ".".join(map(str, path))
    return f"{where}: {what}" if where else what, getattr(error, "lineno", 0) or line_of(text, path) or 1


def _read_meta(content: bytes, shown: str, findings: list[Finding]) -> Meta | None:
    """Returns the keys of a ``meta.yaml``, or None and adds everything that is wrong with it to the findings."""
    value, problem = parse_plain(content)
    if problem is not None:
        findings.append(_error("PAT009", shown, problem.message, "correct the YAML", problem.line, problem.column))
        return None
    if not isinstance(value, dict):
        findings.append(_error("PAT009", shown, "meta.yaml is not a mapping", "write keys: " + ", ".join(META_KEYS), 1))
        return None
    if next(_wrong_keys(value), None) is not None:
        document, _ = parse(content)
        places = document.keys if document is not None else {}
        findings += first(
            _error("PAT009", shown, summary, remedy, places.get((str(key),), (1, 0))[0])
            for key, summary, remedy in _wrong_keys(value)
        )
        return None
    when = value.get("when", {})
    return Meta(
        description=value.get("description", ""),
        phase=value.get("phase", "normal"),
        when=None if when == "listed" else when,
        after=tuple(map(str, value.get("after", ()))),
        overrides=tuple(map(str, value.get("overrides", ()))),
        params={str(name): str(path) for name, path in value.get("params", {}).items()},
        use=value.get("mode", "patched"),
        cluster=value.get("cluster", "platform"),
    )


_SHAPES = {
    "description": (str, "text"),
    "after": (list, "list"),
    "overrides": (list, "list"),
    "params": (dict, "mapping"),
}
_CHOICES: dict[str, tuple[tuple[str, ...], str]] = {
    "phase": (PHASES, "use one of " + ", ".join(PHASES)),
    "mode": (MODES, f"write {' or '.join(MODES)}, or leave mode out"),
    "cluster": (CLUSTER_KINDS, f"write {' or '.join(CLUSTER_KINDS)}, or leave cluster out"),
}


def _wrong_keys(meta: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yields what is wrong with the keys of a ``meta.yaml``: the key, what is wrong, what to do."""
    for key in meta:
        if key not in META_KEYS:
            remedy = did_you_mean(str(key), META_KEYS) or "the keys are " + ", ".join(META_KEYS)
            yield key, f"unknown key {plain(str(key))!r} in meta.yaml", remedy
    for key, (shape, word) in _SHAPES.items():
        if key in meta and not isinstance(meta[key], shape):
            yield key, f"{key} is not a {word}", f"write {key} as a {word}"
    for key, (choices, remedy) in _CHOICES.items():
        if key in meta and meta[key] not in choices:
            yield key, f"unknown {key} {plain(repr(meta[key]))}", remedy
    if meta.get("cluster") == "remote" and meta.get("mode") != "managed":
        yield "cluster", "a patch for remote clusters must own its objects", "add mode: managed"
    when = meta.get("when", {})
    if when != "listed" and not isinstance(when, dict):
        yield (
            "when",
            "when is neither a mapping nor the word listed",
            "write when: {fact: value} or when: listed",
        )


def _compare_with_lock(
    patches: Mapping[str, Mapping[str, PatchVersion]],
    locked: Mapping[str, str],
    lock_name: str,
    lines: Mapping[str, int],
    findings: list[Finding],
) -> None:
    seen = {f"{name}/{version}": patch for name, versions in patches.items() for version, patch in versions.items()}
    findings += first(
        _error(
            "PAT003",
            lock_name,
            f"released patch {name} is missing or broken",
            f"restore patches/{name}; a stack may pin it",
            lines[name],
        )
        for name in sorted(locked.keys() - seen.keys())
    )
    for name, patch in seen.items():
        if locked.get(name, patch.sha256) != patch.sha256:
            newest = max(int(version[1:]) for version in patches[patch.name])
            findings.append(
                _error(
                    "PAT003",
                    # The digest covers all files. Reviewers look at the patch, not at the lock.
                    f"{patch.file}/{TEMPLATE}",
                    f"released patch {patch.id} was changed",
                    f"restore it from the commit that released it (git log -- {lock_name}): "
                    f"git checkout COMMIT -- {patch.file}; "
                    f"change it in patches/{patch.name}/v{newest + 1} instead",
                    1,
                    detail=f"{lock_name}:{lines[name]} has SHA-256 {locked[name][:12]}…, "
                    f"its files {listed(patch.names, 'and')} have {patch.sha256[:12]}…",
                )
            )


def _error(
    code: str, file: str, summary: str, remedy: str, line: int = 0, column: int = 0, detail: str = ""
) -> Finding:
    return Finding(code, Severity.ERROR, summary, file=file, line=line, column=column, detail=detail, remedy=remedy)
