"""The patches of a project: its own in ``patches/<name>/<version>/``, and the built-in ones of modelyard.

The project's lock lists the built-in versions in use. Without a lock, all of them are.
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import modelyard
from modelyard.catalog.built_in import BUILT_IN, built_in_folder, built_in_names, built_in_patches, lacking
from modelyard.catalog.lock import LOCK, LOCK_FILE, digest, file_digests, has_lock, lock_lines, locked_files, read_lock
from modelyard.catalog.precompiled import METAS
from modelyard.files import ReadError, list_folder, not_utf8, parse_json, read_file
from modelyard.findings import Finding, Severity, first
from modelyard.names import PATCHES_FOLDER
from modelyard.patterns import regex
from modelyard.schemas import surely_valid
from modelyard.stack.config import nearest_place
from modelyard.stack.words import cut, did_you_mean, listed, plain
from modelyard.stack.yaml.document import parse, parse_plain
from modelyard.timelimit import TimeBudget, TimeUp
from modelyard.untrusted import BadSchema, Checker, cost_of

Phase = Literal["route", "up", "down", "normal"]
PHASES: tuple[Phase, ...] = get_args(Phase)
DocumentUse = Literal["patched", "managed", "submitted"]
"""How a version's documents are used.

``patched`` changes existing objects, and owns those of its base if ``platform.mode`` is managed. ``managed`` owns the
objects of its base in every mode. ``submitted`` is in no plan: the objects of its base are created anew for each job.
"""
MODES: tuple[DocumentUse, ...] = ("managed", "submitted")
ClusterKind = Literal["platform", "remote"]
"""The cluster of a version's objects: the platform's, or each remote cluster of the stack."""
CLUSTER_KINDS: tuple[ClusterKind, ...] = get_args(ClusterKind)

DRAFT = "https://json-schema.org/draft/2020-12/schema"
TEMPLATE, BASE, SCHEMA, META = "patch.yaml.j2", "base.yaml.j2", "schema.json", "meta.yaml"
_VERSION = regex(r"v([1-9]\d*)")
_NAME = regex(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
META_KEYS = ("description", "phase", "mode", "cluster", "for", "when", "after", "overrides", "items", "params")
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
    version_for: Mapping[str, Any] = {}
    """Facts that must hold for a stack to get this version (``for``); with others, it gets the next older one."""
    after: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    params: Mapping[str, str] = {}
    """Maps a parameter name to the dotted path of the fact that fills it."""
    items: Mapping[str, str] = {}
    """Maps the path of a list that the API server takes only as a whole to the field that identifies its items."""
    use: DocumentUse = "patched"
    cluster: ClusterKind = "platform"


class PatchVersion:
    """One immutable version of a patch. Compared by name and content."""

    def __init__(
        self, name: str, version: str, file: str, files: Mapping[str, bytes], meta: Meta, *, usable: bool = True
    ) -> None:
        self.name = name
        self.version = version
        self.file = file
        """Folder as shown to the user, relative to the project; of a built-in version below ``BUILT_IN``."""
        self.meta = meta
        self.sha256 = digest(files)
        self.names = tuple(sorted(files))
        """Its files, as the digest covers them."""
        self._contents = files
        self.meta_text = _text(files[META])
        self.template = _text(files[TEMPLATE])
        self.base = _text(files[BASE]) if BASE in files else None
        self.schema_text = _text(files[SCHEMA])
        self.usable = usable
        """Whether its schema is a JSON Schema; if not, stacks only check its ``meta.yaml``."""

    @property
    def files(self) -> dict[str, str]:
        """The text of each of its files, by the file's name."""
        texts = {META: self.meta_text, TEMPLATE: self.template, SCHEMA: self.schema_text, BASE: self.base}
        return {name: text for name, text in texts.items() if text is not None}

    @property
    def file_digests(self) -> dict[str, str]:
        """The digest of each file, as the lock has it."""
        return file_digests(self._contents)

    def changed_files(self, released: Mapping[str, str]) -> list[str]:
        """Returns the files that are added, changed or missing compared with these digests; none without digests."""
        now = self.file_digests
        return [name for name in sorted(now | dict(released)) if released and now.get(name) != released.get(name)]

    @property
    def id(self) -> str:
        """``name@version``, as in plans and annotations."""
        return f"{self.name}@{self.version}"

    @property
    def built_in(self) -> bool:
        """Whether it comes with modelyard, and is not a file of the project."""
        return self.file.startswith(f"{BUILT_IN}/")

    @property
    def from_modelyard(self) -> bool:
        """Whether it is a built-in version or, as a file of the project, a copy of one."""
        return self.built_in or self.sha256 in METAS

    def owns(self, mode: str) -> bool:
        """Whether a stack with this ``platform.mode`` owns the objects of the version's base."""
        return self.base is not None and (self.meta.use == "managed" or mode == "managed")

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its parameters."""
        schema: dict[str, Any] = parse_json(self.schema_text) if self.usable else {}
        return schema

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The parameters that have a default."""
        properties = self.schema.get("properties", {})
        return {
            name: spec["default"]
            for name, spec in (properties.items() if isinstance(properties, dict) else ())
            if isinstance(spec, dict) and "default" in spec
        }

    def accepts(self, params: Mapping[str, Any]) -> bool:
        """Whether parameters follow the version's schema.

        Raises:
            BadSchema: the version's schema cannot be used.
            TooMuch: the check would take too long.
        """
        return (self.sha256 in METAS and surely_valid(self.schema, params)) or self.checker.is_valid(params)

    @cached_property
    def checker(self) -> Checker:
        """Checks parameters; created on first use.

        Raises:
            BadSchema: the version's schema cannot be used.
        """
        return Checker(self.schema)

    def __repr__(self) -> str:
        return f"<PatchVersion {self.id}>"


def _text(content: bytes) -> str:
    """The text of a file, without the byte-order mark that some editors put before it."""
    return content.decode("utf-8-sig")


class Library(NamedTuple):
    """All patch versions that stacks of a project may use, and what is wrong with them."""

    patches: Mapping[str, Mapping[str, PatchVersion]]
    """Versions by patch name, newest first."""
    findings: tuple[Finding, ...]
    released: frozenset[str]
    """``name/version`` of the locked versions; without a lock, of the built-in ones.

    If the lock cannot be read, it is unknown which versions are drafts, and every version is here.
    """
    has_lock: bool
    """Whether the project has a lock, even one that cannot be read."""

    def latest(self, name: str) -> PatchVersion:
        """Returns the newest version of a patch that is for every stack; the newest if there is none."""
        versions = self.patches[name].values()
        return next((one for one in versions if not one.meta.version_for), next(iter(versions)))

    def explains(self, place: str) -> bool:
        """Whether a finding says why the patch ``name``, or its version ``name/version``, could not be read."""
        return any(f"{one.file}/".startswith(f"{PATCHES_FOLDER}/{place}/") for one in self.findings)

    def near(self, name: str) -> str:
        """Returns what to do about an unknown name: accept a built-in patch, or write one of the known names."""
        if remedy := use_built_in(name):
            return remedy
        if not self.patches:
            return f"add it to {PATCHES_FOLDER}/, which has no patches"
        return did_you_mean(name, self.patches) or "the patches are " + ", ".join(sorted(self.patches))


def use_built_in(name: str, version: str | None = None) -> str:
    """What to do to use a built-in patch, or one version of it, that the lock lacks; empty if modelyard has none."""
    if not any(one.startswith(f"{name}/") and version in (None, one.rpartition("/")[2]) for one in built_in_names()):
        return ""
    what = "patch" if version is None else "version"
    return f"to use modelyard's built-in {what}, run: modelyard patches {name} --release"


def load_library(root: Path) -> Library:
    """Reads every version below ``root/patches`` and the built-in ones, and compares them with the lock."""
    folder = root / PATCHES_FOLDER
    findings: list[Finding] = []
    patches: dict[str, dict[str, PatchVersion]] = {}
    try:
        (locked, bad_lines), lines = read_lock(folder), lock_lines(folder)
    except ReadError as error:
        findings.append(_error("PAT003", LOCK, f"{LOCK_FILE} cannot be read: {error.reason}", remedy=error.remedy))
        locked, bad_lines, lines = {}, (), {}
    unclear = bool(findings or bad_lines)
    wanted = locked.keys() if has_lock(folder) and not unclear else None
    findings += first(
        # The other content is not quoted: it may be anything.
        _error("PAT003", LOCK, f"line {number} {what}", remedy=remedy, line=number)
        for number in bad_lines
        for what, remedy in (_bad_line(number, lines, locked),)
    )
    at = [PATCHES_FOLDER]
    try:
        # Schemas may come from anyone. Each file has its limits, and all together have this one.
        with BUDGET.limit(SECONDS):
            _load_all(folder, root, patches, locked=locked, findings=findings, at=at)
            patches = _with_built_in(folder, patches, wanted, findings)
    except TimeUp:
        summary = f"{at[-1]} was still being read after {SECONDS:g} seconds; later patches are unknown"
        remedy = "remove patches, or use shorter patterns with fewer repetitions in their schemas"
        findings.append(_error("PAT009", at[-1], summary, remedy=remedy))
        return Library(patches, tuple(findings), frozenset(locked), has_lock(folder))
    _compare_with_lock(patches, locked, folder, lines, findings)
    every = [patch for own in patches.values() for patch in own.values()]
    if unclear:
        unlocked = every
    else:
        _compare_with_built_in(patches, locked, folder, findings)
        unlocked = [patch for patch in every if patch.built_in and wanted is None]
    released = frozenset(locked) | {f"{one.name}/{one.version}" for one in unlocked}
    return Library(patches, tuple(findings), released, has_lock(folder))


def _bad_line(number: int, lines: Mapping[str, int], locked: Collection[str]) -> tuple[str, str]:
    """What is wrong with a line of the lock, and what to do; ``lines`` are the numbers of its lines by first word."""
    if any(lines[name] == number for name in locked):
        return "repeats the version of an earlier line", "remove one of the two lines"
    return "is not a name, a version and a SHA-256", _lock_remedy(lines)


def _lock_remedy(words: Collection[str]) -> str:
    """What to do about invalid lines of the lock, by the first words of its lines."""
    if any(word in words for word in ("<<<<<<<", "=======", ">>>>>>>")):
        return f"resolve the merge conflict in {LOCK}"
    if not all(map(str.isprintable, words)) or any("\ufffd" in word for word in words):
        return f"it is not text: restore it from version control (git log -- {LOCK})"
    return "write: name/version  sha256"


def built_in_versions() -> Mapping[str, PatchVersion]:
    """The patch versions that come with modelyard, by ``name/version``."""
    return _built_ins(built_in_names())


def new_built_in(root: Path, library: Library) -> Mapping[str, PatchVersion]:
    """The built-in versions that a project does not use yet, by ``name/version``."""
    names = (name for name in lacking(root / PATCHES_FOLDER, None) if name not in library.released)
    return _built_ins(names)


def absent_built_in(library: Library) -> list[PatchVersion]:
    """The built-in versions of patches that the lock does not list, and those older than a version that it lists.

    ``patches --release`` lists all versions of a patch, so lines of older ones were deleted. None if patches have
    errors.
    """
    if library.findings:
        return []
    known = built_in_patches()
    unlisted = known - library.patches.keys()
    absent = [each for each in built_in_names() if each.partition("/")[0] in unlisted] if unlisted else []
    for name in known - unlisted:
        have = {_number(version) for version in library.patches[name]}
        absent += (f"{name}/v{number}" for number in range(1, max(have)) if number not in have)
    return list(_built_ins(sorted(absent, key=lambda name: name.split("/"))).values())


def _with_built_in(
    folder: Path,
    patches: Mapping[str, Mapping[str, PatchVersion]],
    wanted: Collection[str] | None,
    findings: list[Finding],
) -> dict[str, dict[str, PatchVersion]]:
    """The versions of a project with the built-in ones that its lock lists, in the order of a folder with both."""
    every = {name: dict(versions) for name, versions in patches.items()}
    for name in lacking(folder, wanted):
        patch = _built_in(name, findings)
        if patch is not None:
            every.setdefault(patch.name, {})[patch.version] = patch
    return {name: _newest_first(every[name]) for name in sorted(every)}


def _built_ins(names: Iterable[str]) -> dict[str, PatchVersion]:
    return {name: patch for name in names if (patch := _built_in(name, [])) is not None}


def _built_in(name: str, findings: list[Finding]) -> PatchVersion | None:
    """A built-in version by ``name/version``."""
    return _load_version(built_in_folder() / name, name.partition("/")[0], BUILT_IN, findings)


def _compare_with_built_in(
    patches: Mapping[str, Mapping[str, PatchVersion]], locked: Collection[str], folder: Path, findings: list[Finding]
) -> None:
    """Finds versions of the project, not released yet, that have the name of a built-in one and other content."""
    for name, versions in patches.items():
        for version, patch in versions.items():
            place = built_in_folder() / name
            if patch.built_in or f"{name}/{version}" in locked or not (place / version).is_dir():
                continue
            given = _built_in(f"{name}/{version}", [])
            if given is None or given.sha256 == patch.sha256:
                continue
            findings.append(
                _error(
                    "PAT003",
                    f"{patch.file}/{TEMPLATE}",
                    f"built-in patch {patch.id} has other content than {patch.file}",
                    remedy=f"rename {patch.file} to {_next_version(folder, name)}: a built-in version never changes",
                    line=1,
                )
            )


def _next_version(folder: Path, name: str) -> str:
    """The folder of a patch's next version: neither the project nor modelyard has it."""
    newest = max(_number(one.name) for at in (built_in_folder() / name, folder / name) for one in at.glob("v*"))
    return f"{PATCHES_FOLDER}/{name}/v{newest + 1}"


def _newest_first(versions: Mapping[str, PatchVersion]) -> dict[str, PatchVersion]:
    return dict(sorted(versions.items(), key=lambda item: -_number(item[0])))


def _number(version: str) -> int:
    """The number of a version; 0 if it is no version's name."""
    found = _VERSION.fullmatch(version)
    return int(found[1]) if found else 0


def _load_all(
    folder: Path,
    root: Path,
    patches: dict[str, dict[str, PatchVersion]],
    *,
    locked: Collection[str],
    findings: list[Finding],
    at: list[str],
) -> None:
    """Adds every version; ``at`` gets the folder of each version before it is read.

    An unusable version that is released is missing: its files must be restored, whatever else they contain.
    """
    for place in _listed(folder, root, findings):
        if not place.is_dir() or place.name.startswith((".", "_")):
            if not place.is_dir() and (built_in_folder() / place.name).is_dir():
                # Its versions would silently be replaced by the built-in ones.
                shown = place.relative_to(root).as_posix()
                findings.append(
                    _error("PAT009", shown, f"{shown} is not a folder", remedy="remove it, or restore the folder")
                )
            continue
        versions = {}
        inside = _listed(place, root, findings)
        findings += _without_version(place.relative_to(root).as_posix(), inside)
        for version in inside:
            if not version.is_dir() or version.name.startswith((".", "_")):
                continue
            at.append(version.relative_to(root).as_posix())
            loaded = _load_version(version, place.name, PATCHES_FOLDER, findings)
            if loaded is not None and (loaded.usable or f"{place.name}/{version.name}" not in locked):
                versions[version.name] = loaded
        if versions:
            patches[place.name] = _newest_first(versions)


def _without_version(shown: str, inside: Iterable[Path]) -> Iterator[Finding]:
    """Yields the finding about a patch whose files are not in the folder of a version, so that no stack has it."""
    stray = [one.name for one in inside if one.name in (META, SCHEMA, TEMPLATE, BASE)]
    if stray and not any(map(Path.is_dir, inside)):
        summary = f"{shown} has {listed(stray, 'and')} outside a version's folder"
        yield _error("PAT009", shown, summary, remedy=f"move the files to {shown}/v1")


def _listed(folder: Path, root: Path, findings: list[Finding]) -> list[Path]:
    """Returns the content of a patch folder; if it cannot be listed, that is a finding, as its patches are unknown."""
    try:
        return list_folder(folder, root)
    except ReadError as error:
        shown = folder.relative_to(root).as_posix()
        findings.append(_error("PAT009", shown, f"{shown} cannot be listed: {error.reason}", remedy=error.remedy))
        return []


def _load_version(folder: Path, name: str, place: str, findings: list[Finding]) -> PatchVersion | None:
    shown = f"{place}/{name}/{folder.name}"
    if not _VERSION.fullmatch(folder.name) or not _NAME.fullmatch(name):
        remedy = "name the folders like patches/my-patch/v1, in lower case"
        findings.append(_error("PAT009", shown, f"{shown} is not a patch version", remedy=remedy))
        return None
    files: dict[str, bytes] = {}
    missing: list[str] = []
    for wanted in (META, SCHEMA, TEMPLATE, BASE):
        try:
            files[wanted] = read_file(folder / wanted, limit=MAX_FILE, within=folder.parents[2])
        except ReadError as error:
            if not error.missing:
                summary = f"{shown}/{wanted} cannot be read: {error.reason}"
                findings.append(_error("PAT009", f"{shown}/{wanted}", summary, remedy=error.remedy))
                return None
            if wanted != BASE:
                missing.append(wanted)
    if missing:
        remedy = f"add {listed(missing, 'and')}" + ("" if files else ", or remove the folder")
        findings.append(_error("PAT009", shown, f"{shown} has no {listed(missing)}", remedy=remedy))
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
    known = METAS.get(digest(files))
    if known is not None:
        return PatchVersion(name, version, shown, files, Meta(**known)), ()
    findings: list[Finding] = []
    meta = read_meta(files[META], f"{shown}/{META}", findings)
    try:
        for wanted in files:
            files[wanted].decode()
    except UnicodeDecodeError as error:
        summary = f"{shown}/{wanted} is not UTF-8 text: {not_utf8(error)}"
        return None, (*findings, _error("PAT009", f"{shown}/{wanted}", summary, remedy="save it as UTF-8"))
    patch = PatchVersion(name, version, shown, files, meta or Meta())
    try:
        if not isinstance(patch.schema, dict):
            raise ValueError("it is not an object")
        check_schema(patch)
    except BadSchema as error:
        findings.append(bad_schema(patch, error))
    except ValueError as error:
        summary, line = _in_schema(error, patch.schema_text)
        findings.append(_error("PAT009", f"{shown}/{SCHEMA}", summary, remedy="correct the schema", line=line))
        patch = PatchVersion(name, version, shown, files, meta or Meta(), usable=False)
    else:
        findings += _repeated_keys(files[SCHEMA], f"{shown}/{SCHEMA}")
    if meta is not None and BASE not in files and (lacks := tuple(_without_base(patch))):
        return None, (*findings, *lacks)
    return patch if meta is not None else None, tuple(findings)


def _without_base(patch: PatchVersion) -> Iterator[Finding]:
    """Yields the finding about a version without a base that needs one, or that changes nothing either."""
    if patch.meta.use != "patched":
        from modelyard.catalog.places import line_of

        summary = f"mode is {patch.meta.use}, but {patch.file} has no {BASE}"
        remedy = f"add {BASE} with the complete objects, or remove mode to change existing objects"
        yield _error(
            "PAT009", f"{patch.file}/{META}", summary, remedy=remedy, line=line_of(patch.meta_text, ("mode",)) or 1
        )
    elif all(line.lstrip()[:1] in ("", "#") for line in patch.template.splitlines()):
        remedy = "write # target: NAME and the fields to set, or remove the patch"
        yield _error(
            "PAT009", f"{patch.file}/{TEMPLATE}", f"{TEMPLATE} of {patch.file} sets no field", remedy=remedy, line=1
        )


def _repeated_keys(content: bytes, shown: str) -> list[Finding]:
    """Returns the findings about keys that a schema has twice, of which JSON readers take the last."""
    document, problems = parse(content)  # JSON is YAML, except for some that is not reported here
    found = problems if document is not None else ()
    remedy = "keep one of them"
    return [
        _error("PAT009", shown, one.message, remedy=remedy, line=one.line, column=one.column)
        for one in found
        if not one.harmless
    ]


def check_schema(patch: PatchVersion) -> None:
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
    line, column = nearest_place(document.keys if document is not None else {}, error.path, (1, 0))
    summary = f"the schema of patch {patch.id} {plain(error.summary, 300)}"
    return _error("PAT009", f"{patch.file}/{SCHEMA}", summary, remedy=error.remedy, line=line, column=column)


def _in_schema(error: ValueError, text: str) -> tuple[str, int]:
    """Returns what is wrong with a schema, in one line, and its line number."""
    from modelyard.catalog.places import line_of

    path = tuple(getattr(error, "instance_path", ()))
    if isinstance(error, json.JSONDecodeError):
        return f"the text is not JSON: {error.msg[0].lower()}{error.msg[1:]}", error.lineno
    what = str(getattr(error, "message", error)).partition("\n")[0]
    where = ".".join(map(str, path))
    return f"not a JSON Schema: {f'{where}: ' if where else ''}{what}", line_of(text, path) or 1


def read_meta(content: bytes, shown: str, findings: list[Finding]) -> Meta | None:
    """Returns the keys of a ``meta.yaml``, or None and adds everything that is wrong with it to the findings."""
    value, problem = parse_plain(content)
    if problem is not None:
        findings.append(
            _error(
                "PAT009", shown, problem.message, remedy="correct the YAML", line=problem.line, column=problem.column
            )
        )
        return None
    if not isinstance(value, dict):
        findings.append(
            _error("PAT009", shown, "meta.yaml is not a mapping", remedy="write keys: " + ", ".join(META_KEYS), line=1)
        )
        return None
    if next(_wrong_keys(value), None) is not None:
        document, _ = parse(content)
        places = document.keys if document is not None else {}
        findings += first(
            _error("PAT009", shown, summary, remedy=remedy, line=places.get((str(key),), (1, 0))[0])
            for key, summary, remedy in _wrong_keys(value)
        )
        return None
    when = value.get("when", {})
    return Meta(
        description=value.get("description", ""),
        phase=value.get("phase", "normal"),
        when=None if when == "listed" else when,
        version_for=value.get("for", {}),
        after=tuple(map(str, value.get("after", ()))),
        overrides=tuple(map(str, value.get("overrides", ()))),
        params={str(name): str(path) for name, path in value.get("params", {}).items()},
        items={str(path): str(key) for path, key in value.get("items", {}).items()},
        use=value.get("mode", "patched"),
        cluster=value.get("cluster", "platform"),
    )


_SHAPES = {
    "description": (str, "text"),
    "for": (dict, "mapping"),
    "after": (list, "list"),
    "overrides": (list, "list"),
    "items": (dict, "mapping"),
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
    if meta.get("when", "listed") != "listed" and not isinstance(meta["when"], dict):
        yield "when", "when is neither a mapping nor the word listed", "write when: {fact: value} or when: listed"


def _missing(name: str, folder: Path, line: int, findings: list[Finding]) -> Finding:
    """The finding about a locked version that neither the project nor modelyard has; it takes in why it is broken."""
    restore, detail = f"restore patches/{name}", ""
    own = [one for one in findings if f"{one.file}/".startswith(f"{PATCHES_FOLDER}/{name}/")]
    if own:
        for one in own:
            findings.remove(one)
        summary, broken = f"released patch {name} is broken", own[0]
        return _error(
            "PAT003",
            broken.file,
            summary,
            remedy=restore,
            line=broken.line,
            column=broken.column,
            detail=broken.summary,
        )
    if not os.path.lexists(folder / name):
        detail = f"modelyard {modelyard.__version__} has no built-in version of this name"
        restore += ", or, if it was a built-in version, install the version of modelyard that has it"
    summary = f"released patch {name} is missing"
    return _error("PAT003", LOCK, summary, remedy=f"{restore}; a stack may pin it", line=line, detail=detail)


def _compare_with_lock(
    patches: Mapping[str, Mapping[str, PatchVersion]],
    locked: Mapping[str, str],
    folder: Path,
    lines: Mapping[str, int],
    findings: list[Finding],
) -> None:
    seen = {f"{name}/{version}": patch for name, versions in patches.items() for version, patch in versions.items()}
    gone = sorted(locked.keys() - seen.keys())
    findings += first([_missing(name, folder, lines[name], findings) for name in gone])
    for name, patch in seen.items():
        if locked.get(name, patch.sha256) == patch.sha256:
            continue
        wanted, there = _told_apart(locked[name], patch.sha256)
        files = listed(patch.names, "and")
        detail = f"{LOCK}:{lines[name]} has SHA-256 {wanted}, but the patch's files {files} have {there}"
        if patch.built_in:
            summary = f"released patch {patch.id} differs from the built-in one of modelyard {modelyard.__version__}"
            restore = f"restore the line (git log -- {LOCK})"
            remedy = f"{restore}, or install the version of modelyard that the lock was written with"
            findings.append(_error("PAT003", LOCK, summary, remedy=remedy, line=lines[name], column=0, detail=detail))
            continue
        # The digest covers all files. The lock names those of the project's own versions, the package has the others.
        given = _built_in(name, [])
        known = given is not None and given.sha256 in (locked[name], patch.sha256)
        released = given.file_digests if given is not None and known else locked_files(folder, name)
        changed = patch.changed_files(released)
        if released and not changed:
            summary = f"released patch {patch.id} is unchanged, but its line in the lock was changed"
            remedy = f"restore the line (git log -- {LOCK})"
            findings.append(_error("PAT003", LOCK, summary, remedy=remedy, line=lines[name], column=0, detail=detail))
            continue
        if changed:
            verb = "differs" if len(changed) == 1 else "differ"
            detail = f"{listed(changed, 'and')} {verb} from the released version; {detail}"
        restore, following = f"git checkout COMMIT -- {patch.file}", _next_version(folder, patch.name)
        summary = f"released patch {patch.id} was changed"
        remedy = (
            f"restore it from the commit that released it (git log -- {LOCK}): {restore}; "
            f"put the change into a new version, {following}"
        )
        if given is not None and given.sha256 == locked[name]:
            # Only a project with copies of the built-in versions has ever had the released files.
            summary = f"{patch.file} hides the built-in version {patch.id} and has other files"
            remedy = (
                f"remove {patch.file} to use the built-in version, or move it to {following}; "
                f"if git has the released files (git log -- {LOCK}), restore them: {restore}"
            )
        findings.append(
            _error(
                "PAT003",
                # Reviewers look at the patch, not at the lock.
                f"{patch.file}/{changed[0]}" if changed else patch.file,
                summary,
                remedy=remedy,
                line=1 if changed else 0,
                detail=detail,
            )
        )


def _told_apart(one: str, other: str) -> tuple[str, str]:
    """The start of two different digests: as many characters as it takes to see that they differ, but at least 12."""
    same = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
    length = max(12, same + 1)
    return cut(one, length + 1), cut(other, length + 1)


def _error(
    code: str, file: str, summary: str, *, remedy: str, line: int = 0, column: int = 0, detail: str = ""
) -> Finding:
    return Finding(code, Severity.ERROR, summary, file=file, line=line, column=column, detail=detail, remedy=remedy)
