"""Selects the patch versions of a stack, and their parameters."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from modelyard.catalog.built_in import built_in_names
from modelyard.catalog.library import META, SCHEMA, TEMPLATE, Library, PatchVersion, bad_schema, use_built_in
from modelyard.catalog.lock import LOCK
from modelyard.catalog.templates import Rendered, in_time, render, render_base, time_up
from modelyard.findings import MOST_COUNTED, Finding, Severity, first
from modelyard.hiding import HIDDEN, Confidential, hidden, is_secret, secrets_in
from modelyard.names import PATCHES_FOLDER
from modelyard.stack.config import PARTS, ROLES, PatchChoice, Stack, StackPath, dotted, nearest_place
from modelyard.stack.mistakes import given, kinds_of
from modelyard.stack.secret import Secret
from modelyard.stack.words import did_you_mean, listed, nearest, plain
from modelyard.stack.yaml.document import parse
from modelyard.timelimit import TimeUp
from modelyard.untrusted import BadSchema, TooMuch
from modelyard.workloads import Facts, fact_at, instead_of, source_of

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError


class Selected(NamedTuple):
    """One patch version with its parameters from this stack."""

    patch: PatchVersion
    params: Confidential[Mapping[str, Any]]
    sources: Mapping[str, StackPath]
    """Maps a parameter name to the path of its value in the stack file; a default has no entry."""

    def render(self) -> Rendered:
        """Returns the patch's documents."""
        return render(self.patch, self.params.reveal())

    def render_base(self) -> Rendered:
        """Returns the whole objects of the patch's base; none if the version has no base."""
        return render_base(self.patch, self.params.reveal())


def select(library: Library, stack: Stack, known: Facts) -> tuple[tuple[Selected, ...], tuple[Finding, ...]]:
    """Returns the stack's patches in merge order, and what is wrong with the choice."""
    choices: dict[str, tuple[int, PatchChoice]] = {}
    findings = first(_choose(library, stack, choices))
    selected = []
    for name in library.patches:
        index, choice = choices.get(name, (-1, PatchChoice(name)))
        if not choice.enabled or not _concerns(library.latest(name), stack, index >= 0):
            continue
        patch = _version(library, choice, index, stack=stack, known=known, findings=findings)
        if patch is None or patch.meta.use == "submitted":
            continue
        unknown = len(findings)
        if index >= 0 or _takes_part(patch, known, findings):
            bound = _bind(patch, choice, index, stack=stack, known=known, findings=findings)
            if bound is not None:
                selected.append(bound)
                findings += _draft(library, patch)
                findings += first(_unknown_patches(library, patch))
        elif len(findings) > unknown:
            # Facts of parameters can be wrong too: report them in the same run.
            _filled(patch, known, findings)
    return _in_order(selected, findings), tuple(findings)


def _choose(library: Library, stack: Stack, choices: dict[str, tuple[int, PatchChoice]]) -> Iterator[Finding]:
    """Yields what is wrong with the names in the stack; ``choices`` gets the entries by name, with their index."""
    for index, choice in enumerate(stack.config.patches):
        wrong: tuple[str, str] | None = None
        if choice.name not in library.patches and library.explains(choice.name):
            continue
        if choice.name not in library.patches:
            wrong = f"unknown patch {plain(choice.name)!r}", library.near(choice.name)
        elif choice.name in choices:
            wrong = f"patch {plain(choice.name)!r} is listed twice", "merge the two entries"
        else:
            choices[choice.name] = (index, choice)
        # Reported once, for the home cluster.
        if wrong and not stack.remote:
            finding = Finding("PAT001", Severity.ERROR, wrong[0], field=f"patches[{index}].name", remedy=wrong[1])
            yield stack.place(finding, "patches", index, "name")


def _concerns(patch: PatchVersion, stack: Stack, listed: bool) -> bool:
    """Whether the patch is for the planned cluster and for a part of the platform that the stack has.

    All versions of a patch are for one kind of cluster.
    """
    of_cluster = (patch.meta.cluster == "remote") == bool(stack.remote)
    return of_cluster and not _lacks_workloads(patch, stack) and _in_scope(patch, stack, listed)


def _lacks_workloads(patch: PatchVersion, stack: Stack) -> bool:
    """Whether the platform has none of the workloads that the patch changes, or whose facts it reads."""
    facts = [path.partition(".") for path in (*patch.meta.params.values(), *(patch.meta.when or ()))]
    read = [(role, fact) for role, _, fact in facts if role in ROLES]
    roles = {role for role, fact in read if fact == "deployment"} or {role for role, _ in read}
    return bool(roles) and roles <= {*stack.config.platform.without}


def _in_scope(patch: PatchVersion, stack: Stack, listed: bool) -> bool:
    """Whether the patch is about the stack's part of the platform: the stack lists it, or it reads one of its sections.

    A patch that lets an autoscaler in reads the section of its workload too, and is part of the autoscaling only.
    """
    if stack.scope is None or stack.remote or listed:
        return True
    read = {path.partition(".")[0] for path in patch.meta.params.values()} & {*PARTS} - {"gpu"}
    return bool(stack.scope.sections & (read & {"autoscaling"} or read))


def select_for_job(
    library: Library, stack: Stack, known: Facts, name: str
) -> tuple[Selected | None, tuple[Finding, ...]]:
    """Returns the template of a submission in the stack's version, with its parameters.

    Args:
        library: the project's patches.
        stack: the stack, which may pin a version or pass parameters, as for every patch.
        known: the stack's facts, and those of the submission.
        name: name of the patch.

    Returns:
        None if the findings say why.
    """
    findings: list[Finding] = []
    index, choice = next(
        ((index, one) for index, one in enumerate(stack.config.patches) if one.name == name), (-1, PatchChoice(name))
    )
    if name not in library.patches:
        return None, (Finding("PAT001", Severity.ERROR, f"unknown patch {name!r}", remedy=library.near(name)),)
    patch = _version(library, choice, index, stack=stack, known=known, findings=findings)
    if patch is None:
        return None, tuple(findings)
    findings += _draft(library, patch)
    return _bind(patch, choice, index, stack=stack, known=known, findings=findings), tuple(findings)


def version_of(library: Library, stack: Stack, name: str) -> PatchVersion | None:
    """Returns the version of a patch that a stack uses; None if it does not exist."""
    if name not in library.patches:
        return None
    pinned = next((one.version for one in stack.config.patches if one.name == name), None)
    return library.latest(name) if pinned is None else library.patches[name].get(pinned)


def _version(
    library: Library, choice: PatchChoice, index: int, *, stack: Stack, known: Facts, findings: list[Finding]
) -> PatchVersion | None:
    """Returns the version of a patch that the stack pins, else the newest for stacks with these facts."""
    versions = library.patches[choice.name]
    if choice.version is None:
        reported = len(findings)
        newest = _newest(versions.values(), known, findings)
        if newest is None and index >= 0 and len(findings) == reported:
            summary = f"patch {choice.name} has no version for this stack"
            remedy = f"drop the entry, or add a version of {choice.name} whose for in meta.yaml this stack meets"
            findings.append(stack.finding("PAT002", Severity.ERROR, ("patches", index, "name"), summary, remedy))
        return newest
    if choice.version not in versions and not library.explains(f"{choice.name}/{choice.version}"):
        pin = f"pin {_versions_for(versions, known)}, or drop the pin to follow the newest"
        findings.append(
            stack.finding(
                "PAT002",
                Severity.ERROR,
                ("patches", index, "version"),
                f"patch {choice.name} has no version {choice.version}",
                "; ".join(filter(None, (pin, use_built_in(choice.name, choice.version)))),
            )
        )
    return versions.get(choice.version)


def _versions_for(versions: Mapping[str, PatchVersion], known: Facts) -> str:
    """The versions of a patch for stacks with these facts, in words; all versions if there are none."""
    fit = [name for name, one in versions.items() if _holds(one, "for", one.meta.version_for, known, [])]
    return listed(fit or [*versions], "or")


def _newest(versions: Iterable[PatchVersion], known: Facts, findings: list[Finding]) -> PatchVersion | None:
    """Returns the newest version for stacks with these facts; None if there is none."""
    return next((one for one in versions if _holds(one, "for", one.meta.version_for, known, findings)), None)


def left_out(
    library: Library, stack: Stack, known: Facts, chosen: Iterable[Selected]
) -> Iterator[tuple[PatchVersion, Mapping[str, Any]]]:
    """Yields the patches that the stack wants but ``select`` could not provide, with their likely parameters.

    The newest version replaces an undefined version, and the most similar name an undefined name.
    """
    taken = {one.patch.name for one in chosen}
    for choice in stack.config.patches[:MOST_COUNTED]:
        name = nearest(choice.name, library.patches) if choice.name not in library.patches else None
        if name is not None:
            yield library.latest(name), _likely(library.latest(name), choice, known)
    choices = {choice.name: choice for choice in stack.config.patches}
    for name, versions in library.patches.items():
        choice = choices.get(name, PatchChoice(name))
        patch = versions.get(choice.version or "") or _newest(versions.values(), known, []) or library.latest(name)
        if patch.meta.use == "submitted" or not _concerns(patch, stack, name in choices):
            continue
        # With a condition that no stack meets, whether the stack wants the patch is unknown.
        unclear: list[Finding] = []
        if name not in taken and choice.enabled and (name in choices or _takes_part(patch, known, unclear) or unclear):
            yield patch, _likely(patch, choice, known)


def _likely(patch: PatchVersion, choice: PatchChoice, known: Facts) -> dict[str, Any]:
    params = dict(patch.defaults)
    for name, path in patch.meta.params.items():
        with suppress(KeyError):
            params[name] = fact_at(known, path)
    return {**params, **choice.params}


def _draft(library: Library, patch: PatchVersion) -> Iterator[Finding]:
    """Yields the finding about a draft; without a lock, the same one for every draft."""
    if f"{patch.name}/{patch.version}" in library.released:
        return
    if not library.has_lock:
        yield Finding(
            "PAT018",
            Severity.WARNING,
            f"{LOCK} does not exist, so every patch in {PATCHES_FOLDER}/ is a draft: an apply uses its current files",
            file=LOCK,
            detail="without the SHA-256 of a patch, later changes of its files are not detected",
            remedy=f"restore it: git checkout HEAD -- {LOCK}; in a new project, create it: modelyard patches --release",
        )
        return
    yield Finding(
        "PAT018",
        Severity.WARNING,
        f"patch {patch.id} is a draft: an apply uses its current files",
        file=f"{patch.file}/{TEMPLATE}",
        line=1,
        detail="patches.lock has no SHA-256 of it, so later changes of its files are not detected",
        remedy=f"run modelyard patches {patch.name} --release when it is ready",
    )


def _takes_part(patch: PatchVersion, known: Facts, findings: list[Finding]) -> bool:
    return patch.meta.when is not None and _holds(patch, "when", patch.meta.when, known, findings)


def _holds(patch: PatchVersion, key: str, wanted: Mapping[str, Any], known: Facts, findings: list[Finding]) -> bool:
    """Returns whether the facts under a key of ``meta.yaml`` have the values that it names.

    The first unknown fact, or value that no stack has, makes the others count too: all of them are reported at once.
    """
    holds = True
    for path, values in wanted.items():
        try:
            value = fact_at(known, path)
        except KeyError:
            findings.append(_unknown_fact(patch, path, key, known))
            holds = False
            continue
        named = values if isinstance(values, list) else [values]
        if value in named:
            continue
        remedies = ((one, instead_of(path, one, value)) for one in named)
        impossible = [_impossible(patch, path, key, one, remedy) for one, remedy in remedies if remedy]
        if not named:
            impossible = [_impossible(patch, path, key, values, "name at least one value, or remove the fact")]
        if holds and not impossible:
            return False
        findings += impossible
        holds = False
    return holds


def _filled(patch: PatchVersion, known: Facts, findings: list[Finding]) -> dict[str, Any] | None:
    """Returns the values of the parameters that facts fill; None if facts are unknown, which the findings say."""
    values: dict[str, Any] = {}
    wrong = []
    for name, path in patch.meta.params.items():
        try:
            values[name] = fact_at(known, path)
        except KeyError:
            wrong.append(_unknown_fact(patch, path, f"params.{name}", known))
    findings += first(wrong)
    return None if wrong else values


def _bind(
    patch: PatchVersion, choice: PatchChoice, index: int, *, stack: Stack, known: Facts, findings: list[Finding]
) -> Selected | None:
    params = dict(patch.defaults)
    sources: dict[str, StackPath] = {}
    filled = _filled(patch, known, findings)
    if filled is None or not patch.usable:
        return None
    for name, value in filled.items():
        if value is not None:
            params[name], sources[name] = value, source_of(patch.meta.params[name], stack.config)
    for name, value in choice.params.items():
        params[name], sources[name] = value, ("patches", index, "params", name)
        if _is_secret(value):
            findings.append(stack.place(_encrypted(patch, name), *sources[name]))
            return None
    try:
        with in_time():
            if patch.accepts(params):
                return Selected(patch, Confidential(params), sources)
            errors, whole = patch.checker.errors(params)
    except BadSchema as error:
        findings.append(bad_schema(patch, error))
    except (TooMuch, TimeUp) as error:
        why = "they are too large to check against its schema"
        if isinstance(error, TimeUp):
            why = f"the check against its schema was still running {time_up()}"
        summary = f"patch {patch.id} cannot take its parameters: {why}"
        findings.append(_misfit(patch, summary, "use fewer parameters or a simpler schema"))
    else:
        findings += first(_misfits(patch, params, errors, index=index, sources=sources, stack=stack), whole=whole)
    return None


def _misfits(
    patch: PatchVersion,
    params: Mapping[str, Any],
    errors: Iterable["ValidationError"],
    *,
    index: int,
    sources: Mapping[str, StackPath],
    stack: Stack,
) -> Iterator[Finding]:
    """Yields which parameters do not fit the schema."""
    for error in errors:
        whole = tuple(error.instance_path)
        # The validator's message quotes the value.
        secret = hidden(params) is not params or bool(whole and is_secret(str(whole[0])))
        fact = patch.meta.params.get(str(whole[0]), "") if len(whole) == 1 else ""
        source = sources.get(str(whole[0]), ()) if whole else ()
        if fact in patch.meta.version_for and source[:1] != ("patches",):
            # Only a pin leads to a version for other stacks.
            yield _other_stacks(patch, fact, error.instance, index, stack)
            continue
        if fact and source and source not in stack.positions and error.instance in ("", []):
            summary = f"patch {patch.id} needs {dotted(source)}, which is not set"
            where = source if source[:1] in stack.positions else ("patches", index)
            yield stack.finding("PAT004", Severity.ERROR, where, summary, f"set {dotted(source)}")
            continue
        for at, summary, remedy in _worded(patch, error, secret):
            source = sources.get(str(at[0]), ()) if at else ()
            misfit = _misfit(patch, summary, remedy)._replace(field=".".join(map(str, at)))
            if key := _wrong_key(patch, error, source):
                yield _of_schema(patch, misfit, str(at[0]), key)
                continue
            where = source or (("patches", index) if index >= 0 and not whole else ())
            yield stack.place(misfit, *where)


def _wrong_key(patch: PatchVersion, error: "ValidationError", source: StackPath) -> str:
    """The key of a parameter's schema that is wrong, whatever the stack has; empty if the value may be wrong."""
    if not error.instance_path:
        return ""
    if not source:
        return "default" if str(error.instance_path[0]) in patch.defaults else ""
    # A fact has one type in all stacks.
    fills = len(error.instance_path) == 1 and source[:1] != ("patches",)
    return "type" if fills and error.kind.name == "type" else ""


def _of_schema(patch: PatchVersion, misfit: Finding, name: str, key: str) -> Finding:
    """The finding about a parameter that its own schema or the fact that fills it contradicts."""
    document, _ = parse(patch.schema_text.encode())
    line, column = nearest_place(document.keys if document is not None else {}, ("properties", name, key), (1, 0))
    remedy = f"correct {key} of {name} in the schema, or pass another value under modelyard:patches params"
    return misfit._replace(file=f"{patch.file}/{SCHEMA}", line=line, column=column, remedy=remedy, detail="")


def _other_stacks(patch: PatchVersion, fact: str, value: Any, index: int, stack: Stack) -> Finding:
    wanted = patch.meta.version_for[fact]
    kinds = plain(listed(map(str, wanted if isinstance(wanted, list) else [wanted]), "or"))
    summary = f"patch {patch.id} needs {fact} {kinds}, but it is {plain(str(value))}"
    remedy = "drop version to use the newest that fits, or pin another"
    return stack.finding("PAT004", Severity.ERROR, ("patches", index, "version"), summary, remedy)


def _worded(patch: PatchVersion, error: "ValidationError", secret: bool) -> Iterator[tuple[StackPath, str, str]]:
    """Yields the paths of values that do not fit the schema, with what is wrong and what to do."""
    at, kind = tuple(error.instance_path), error.kind.as_dict()
    name = plain(dotted(at), 120)
    match error.kind.name:
        case "additionalProperties":
            known = list(_part(patch.schema, error.schema_path[:-1]).get("properties", ()))
            for key in kind["unexpected"]:
                summary = f"unknown parameter {plain(dotted((*at, key)), 120)} of patch {patch.id}"
                fallback = f"the parameters are {plain(listed(known, 'and'), 300)}" if known else "remove it"
                yield (*at, key), summary, did_you_mean(key, known) or fallback
        case "required":
            path = (*at, kind["property"])
            summary = f"parameter {plain(dotted(path), 120)} of patch {patch.id} is missing"
            yield path, summary, f"add {plain(dotted(path), 120)} under modelyard:patches params"
        case "type" if not secret:
            value, wanted = given(error.instance, at, {}), kinds_of(kind["types"])
            summary = f"parameter {name} of patch {patch.id} is {value}; it must be {wanted}"
            quotes = kind["types"] == ["string"] and isinstance(error.instance, int | float)
            yield at, summary, f'write it in quotes: "{value}"' if quotes else f"write {wanted}"
        case _:
            why = "the value, which may be a secret, does not fit the schema" if secret else plain(error.message, 300)
            what = f"its parameter {name}" if at else "its parameters"
            remedy = "correct the value, or pass another under modelyard:patches params"
            yield at, f"patch {patch.id} cannot take {what}: {why}", remedy


def _part(schema: Any, path: Iterable[str | int]) -> Mapping[str, Any]:
    """The part of a schema at a path; empty if the path goes through a reference."""
    for step in path:
        try:
            schema = schema[step]
        except (KeyError, IndexError, TypeError):
            return {}
    return schema if isinstance(schema, dict) else {}


def _misfit(patch: PatchVersion, summary: str, remedy: str) -> Finding:
    detail = f"the rule is in {patch.file}/{SCHEMA}"
    return Finding("PAT004", Severity.ERROR, summary, detail=detail, remedy=remedy)


def _is_secret(value: Any) -> bool:
    match value:
        case Secret():
            return True
        case dict():
            return any(map(_is_secret, value.values()))
        case list():
            return any(map(_is_secret, value))
    return False


def _encrypted(patch: PatchVersion, name: str) -> Finding:
    return Finding(
        "PAT016",
        Severity.ERROR,
        f"parameter {name} of patch {patch.id} is encrypted, but a plan would show its rendered value",
        field=name,
        remedy="keep the value in a Kubernetes Secret and let the patch refer to it (secretKeyRef)",
    )


def _unknown_fact(patch: PatchVersion, path: str, key: str, known: Facts) -> Finding:
    fallback = "use a fact, such as rayWorker.memory (modelyard explain PAT012 lists them)"
    return Finding(
        "PAT012",
        Severity.ERROR,
        f"{key} of patch {patch.id} has the unknown path {plain(path)!r}",
        field=key,
        file=f"{patch.file}/{META}",
        remedy=did_you_mean(path, _paths(known)) or fallback,
    )


def _impossible(patch: PatchVersion, path: str, key: str, value: Any, remedy: str) -> Finding:
    return Finding(
        "PAT012",
        Severity.ERROR,
        f"{key} of patch {patch.id} has {path} {plain(repr(value))}, which no stack has",
        field=key,
        file=f"{patch.file}/{META}",
        remedy=remedy,
    )


def _paths(known: Mapping[str, Any], lead: str = "") -> Iterator[str]:
    """Yields the paths of the facts that are known."""
    for name, value in known.items():
        if isinstance(value, Mapping) and value:
            yield from _paths(value, f"{lead}{name}.")
        else:
            yield f"{lead}{name}"


def _unknown_patches(library: Library, patch: PatchVersion) -> Iterator[Finding]:
    """Yields the names in ``after`` and ``overrides`` of a project's own patch that no other patch has."""
    keys = {"after": patch.meta.after, "overrides": patch.meta.overrides}
    named = {(key, index): name for key, names in keys.items() for index, name in enumerate(names)}
    if patch.built_in or all(name in library.patches and name != patch.name for name in named.values()):
        return
    known = {*library.patches, *(name.partition("/")[0] for name in built_in_names())} - {patch.name}
    document, _ = parse(patch.meta_text.encode())
    places = document.values if document is not None else {}
    for place, name in named.items():
        if name not in known:
            yield Finding(
                "PAT009",
                Severity.WARNING,
                f"{place[0]} of patch {patch.id} has "
                + ("the patch itself" if name == patch.name else f"the unknown patch {plain(name)!r}"),
                field=place[0],
                file=f"{patch.file}/{META}",
                line=places.get(place, (1, 0))[0],
                detail="a name that no other patch has does not change the order of patches, or what they may override",
                remedy="remove it"
                if name == patch.name
                else did_you_mean(name, known) or "remove it, or add the patch",
            )


def _in_order(selected: list[Selected], findings: list[Finding]) -> tuple[Selected, ...]:
    """Sorts alphabetically, but each patch after those that its ``after`` and ``overrides`` name."""
    waiting = {one.patch.name: one for one in selected}
    placed: dict[str, Selected] = {}
    while waiting:
        ready = [
            name
            for name, one in waiting.items()
            if not {*one.patch.meta.after, *one.patch.meta.overrides} & waiting.keys() - {name}
        ]
        if not ready:
            findings.append(_cycle({name: one.patch for name, one in waiting.items()}))
            break
        for name in ready:
            placed[name] = waiting.pop(name)
    return tuple(placed.values())


def _cycle(waiting: Mapping[str, PatchVersion]) -> Finding:
    """The finding about patches that each wait for another one; some may only wait for those of a cycle."""
    path: list[str] = [min(waiting)]
    while True:
        meta = waiting[path[-1]].meta
        earlier = next(name for name in (*meta.after, *meta.overrides) if name in waiting and name != path[-1])
        if earlier in path:
            break
        path.append(earlier)
    cycle = path[path.index(earlier) :]
    first = waiting[min(cycle)]
    return Finding(
        "PAT009",
        Severity.ERROR,
        f"patches {listed(sorted(cycle), 'and')} are in a cycle of after or overrides",
        field="after" if {*cycle} & {*first.meta.after} else "overrides",
        file=f"{first.file}/{META}",
        remedy="remove one of their after or overrides entries",
    )


def secret_texts(chosen: Iterable[Selected]) -> frozenset[str]:
    """Returns the texts that patches put into secrets."""
    return secrets_in(
        [
            document.body
            for one in chosen
            for rendered in (one.render(), one.render_base())
            for document in rendered.documents
        ]
    )


def hidden_params(selected: Selected) -> dict[str, Any]:
    """Returns the parameters that a stack gives a patch, without secrets."""
    texts = secret_texts([selected])
    return {name: HIDDEN if str(value) in texts else value for name, value in hidden(selected.params).items()}
