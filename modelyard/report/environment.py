"""Python environments as text and as JSON."""

from collections.abc import Iterable, Mapping
from typing import Any

from modelyard.hiding import hidden_file
from modelyard.kube.state import ObjectKey
from modelyard.report.style import PLAIN, Style, facts_text, safe, table
from modelyard.stack.config import Config
from modelyard.stack.environments import Environment, Files, Lock
from modelyard.stack.words import plural
from modelyard.workloads.environments.conda import channels_of
from modelyard.workloads.facts.environments import build_name

EnvironmentBuilds = Mapping[str, Mapping[str, str]]
"""State of the build by namespace, by name of the Python environment."""
SHORT = 12
"""Characters of a digest in texts."""
_UNBUILT = {"building": "is being built", "failed": "could not be built"}


def list_text(stack: str, config: Config, built: EnvironmentBuilds | None = None, style: Style = PLAIN) -> list[str]:
    """One line per Python environment."""
    rows = []
    for one in config.environments:
        row = (one.name, one.python, _lock_state(one), _short(one), ", ".join(_users(config, one)) or "-")
        rows.append(row if built is None else (*row, _built_words(built.get(one.name, {}))))
    head = ("ENVIRONMENT", "PYTHON", "LOCK", "DIGEST", "USED BY")
    title = f"{stack}: {plural(len(rows), 'Python environment')}"
    return [style.bold(safe(title)), "", *table(rows, head if built is None else (*head, "BUILT IN"), style)]


def show_text(config: Config, environment: Environment, style: Style = PLAIN) -> list[str]:
    """A Python environment, and every package of its lock."""
    files = _files(environment)
    lists, state = _lists(environment), _lock_state(environment)
    image = environment.image or config.runtime.image or "none"
    facts = (
        ("python", environment.python),
        ("image", image),
        ("conda", ", ".join(lists["conda"])),
        ("channels", ", ".join(lists["channels"])),
        ("list", ", ".join(lists["requirements"])),
        ("index", f"pip.conf of Secret {environment.index_secret}" if environment.index_secret else "PyPI"),
        ("claim", environment.claim),
        ("lock", f"{files.lock_file} ({_LOCK_WORDS.get(state, state)})" if files.lock_file else ""),
        ("digest", files.digest),
        ("used by", ", ".join(_users(config, environment)) or "nothing"),
    )
    lines = [style.bold(safe(environment.name)), *facts_text(facts, 11, style)]
    packages = files.lock.packages if files.lock is not None else ()
    if packages:
        rows: list[tuple[str, ...]] = [(each.name, each.version) for each in packages]
        if environment.conda:
            rows = [(*row, each.source) for row, each in zip(rows, packages, strict=True)]
        head = ("PACKAGE", "VERSION", "FROM") if environment.conda else ("PACKAGE", "VERSION")
        lines += ["", *table(rows, head, style, indent=2)]
    return lines


def lock_text(environment: Environment, before: Lock | None, *, changed: bool) -> list[str]:
    """What a lock changed."""
    files = _files(environment)
    if files.lock is None:
        return []
    total = plural(len(files.lock.packages), "package")
    if not changed:
        return [f"{files.lock_file} stays as it is: {total}"]
    lines = [f"{files.lock_file} is written: {total}"]
    if before is not None:
        lines += [f"  {safe(words)}" for words in _changes(before, files.lock)]
    return lines


def build_text(environment: Environment, job: ObjectKey, state: str, before: str) -> list[str]:
    """The result of a build."""
    namespace, name = job.namespace, job.name
    where = f"Python environment {environment.name} ({_short(environment)})"
    if state == before == "built":
        return [f"{where} is built in {namespace} already"]
    if state == "checked":
        return [f"{where} would be built in {namespace}: job {name}"]
    words = {
        "built": f"{where} is built in {namespace}",
        "failed": f"{where} could not be built in {namespace}",
        "building": f"{where} is being built in {namespace}: job {name}",
    }[state]
    return [words] if state == "built" else [words, f"its log: kubectl logs --namespace {namespace} job/{name}"]


def list_document(stack: str, config: Config, built: EnvironmentBuilds | None = None) -> dict[str, Any]:
    """``environment list --json``."""
    items = [_document(config, one) for one in config.environments]
    if built is not None:
        items = [{**item, "built": dict(built.get(item["name"], {}))} for item in items]
    return {"formatVersion": 1, "stack": stack, "environments": items}


def show_document(stack: str, config: Config, environment: Environment) -> dict[str, Any]:
    """``environment show --json``."""
    packages = _packages(_files(environment).lock)
    return {"formatVersion": 1, "stack": stack, **_document(config, environment), "packages": packages}


def lock_document(stack: str, environment: Environment, before: Lock | None, *, changed: bool) -> dict[str, Any]:
    """``environment lock --json``."""
    files = _files(environment)
    return {
        "formatVersion": 1,
        "stack": stack,
        "name": environment.name,
        "file": files.lock_file,
        "changed": changed,
        "before": None if before is None else _packages(before),
        "packages": _packages(files.lock),
    }


def build_document(stack: str, environment: Environment, job: ObjectKey, state: str, *, new: bool) -> dict[str, Any]:
    """``environment build --json``."""
    return {
        "formatVersion": 1,
        "stack": stack,
        "name": environment.name,
        "digest": _files(environment).digest,
        "namespace": job.namespace,
        "job": job.name,
        "state": state,
        "new": new,
    }


def _document(config: Config, one: Environment) -> dict[str, Any]:
    files = _files(one)
    return {
        "name": one.name,
        "python": one.python,
        "image": one.image or config.runtime.image,
        **_lists(one),
        "lock": files.lock_file,
        "locked": _locked(one),
        "digest": files.digest or None,
        "job": build_name(one.name, files.digest) if files.digest else None,
        "usedBy": _users(config, one),
    }


def _lists(one: Environment) -> dict[str, list[str]]:
    """What the environment asks for, without secrets: its list is a file that may hold anything."""
    lists = {
        "conda": one.conda,
        "channels": channels_of(one),
        "requirements": _files(one).requirements,
    }
    return {name: hidden_file("\n".join(lines)) for name, lines in lists.items()}


def _files(one: Environment) -> Files:
    return one.files or Files()


def _packages(lock: Lock | None) -> list[dict[str, str]]:
    return [] if lock is None else [each._asdict() for each in lock.packages]


def _short(one: Environment) -> str:
    return _files(one).digest[:SHORT] or "none"


_LOCK_WORDS = {"yes": "up to date", "no": "missing", "of another list": "made from an earlier list"}


def _locked(one: Environment) -> str:
    files = _files(one)
    if files.lock is None:
        return "no"
    return "yes" if files.lock.made_of == files.made_of and not files.faults else "of another list"


def _lock_state(one: Environment) -> str:
    """As ``_locked``, and for a lock that cannot be used why not."""
    files = _files(one)
    if files.lock is None and any(fault.file == files.lock_file for fault in files.faults):
        return "damaged"
    if files.lock is not None and files.lock.python != one.python:
        return f"for Python {files.lock.python}"
    return _locked(one)


def _users(config: Config, one: Environment) -> list[str]:
    """The users of a Python environment, as ``job train``."""
    users = [f"job {job.name}" for job in config.jobs if job.environment == one.name]
    users += [f"resource {each.name}" for each in config.resources if each.environment == one.name]
    return [*users, "notebooks"] if config.notebooks.environment == one.name else users


def _built_words(states: Mapping[str, str]) -> str:
    built = [where for where, state in states.items() if state == "built"]
    others = [f"{where}: {_UNBUILT[state]}" for where, state in states.items() if state in _UNBUILT]
    return ", ".join((*built, *others)) or "nowhere"


def _changes(before: Lock, after: Lock) -> Iterable[str]:
    old, new = ({(each.name, each.source): each.version for each in lock.packages} for lock in (before, after))
    for key in sorted({*old, *new}):
        name = key[0]
        if key not in new:
            yield f"- {name} {old[key]}"
        elif key not in old:
            yield f"+ {name} {new[key]}"
        elif old[key] != new[key]:
            yield f"~ {name} {old[key]} → {new[key]}"
