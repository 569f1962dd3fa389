"""Contexts under other names, for who asks by a name that the kubeconfig does not have any more."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from yaml import YAMLError, safe_load

from modelyard.files import read_text
from modelyard.temporary import write_private

_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
"""Keys of a cluster or a user that name a file, as seen from the folder of the kubeconfig."""
MAX_BYTES = 4 * 1024 * 1024
"""Of the largest kubeconfig, and of the largest file that one names. One of 100 clusters has about 500,000."""


def known_contexts() -> frozenset[str] | None:
    """Names of the kubeconfig's contexts; None where there is none, as in a pod with a service account."""
    found = [set(named(document, "contexts")) for _, document in _documents()]
    return frozenset().union(*found) if found else None


def with_aliases(names: Mapping[str, str | None], folder: Path) -> str:
    """Gives contexts another name in front of their own, in a kubeconfig that nobody else may read.

    Args:
        names: by new name the context that it stands for; None: the current one. Unknown contexts are left out.
        folder: for the file, the caller's alone, who also removes it: it may hold credentials.

    Returns:
        What ``KUBECONFIG`` is to be for who asks by the new names too; empty where there is nothing to name.
    """
    made: dict[str, list[dict[str, Any]]] = {"clusters": [], "users": [], "contexts": []}
    for new, old in names.items():
        if (found := _parts(old)) is None:
            continue
        context, cluster, user = found
        own = f"modelyard-way-{new}"
        made["contexts"].append({"name": new, "context": {**context, "cluster": own, "user": own}})
        made["clusters"].append({"name": own, "cluster": cluster})
        made["users"].append({"name": own, "user": user})
    if not made["contexts"]:
        return ""
    file = folder / "kubeconfig"
    write_private(file, json.dumps({"apiVersion": "v1", "kind": "Config", **made}))
    # The first that has a name counts.
    return os.pathsep.join((str(file), *map(str, kubeconfig_paths())))


def _parts(name: str | None) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]] | None:
    """Context, cluster and user of a context, with paths that hold anywhere; None where there is no such context."""
    documents = tuple(_documents())
    wanted = name or next((str(one["current-context"]) for _, one in documents if one.get("current-context")), "")
    for folder, document in documents:
        context = named(document, "contexts").get(wanted)
        if context is None:
            continue
        cluster = named(document, "clusters").get(str(context.get("cluster")))
        user = named(document, "users").get(str(context.get("user")), {})
        return None if cluster is None else (context, _absolute(cluster, folder), _absolute(user, folder))
    return None


def _absolute(part: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    made = {key: str(folder / value) if key in _FILES else value for key, value in part.items()}
    program = made.get("exec")
    if isinstance(program, dict) and os.sep in str(program.get("command", "")):
        # A bare name is looked for on PATH.
        made["exec"] = {**program, "command": str(folder / program["command"])}
    return made


def named(document: Mapping[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """The clusters, users or contexts of a kubeconfig by their names, without what is none."""
    entries = document.get(kind)
    pairs = [
        (one.get("name"), one.get(kind.removesuffix("s")) or {})
        for one in (entries if isinstance(entries, list) else ())
        if isinstance(one, dict)
    ]
    return {name: part for name, part in pairs if isinstance(name, str) and isinstance(part, dict)}


def read_kubeconfig(path: Path) -> Any:
    """What a kubeconfig holds, of whatever form.

    Raises:
        ReadError: the file cannot be read.
        ValueError: it is nested too deeply.
        YAMLError: it is no YAML.
    """
    try:
        return safe_load(read_text(path, limit=MAX_BYTES))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _documents() -> Iterator[tuple[Path, dict[str, Any]]]:
    """The existing kubeconfig files, each with its folder. The connection reports what is wrong with one."""
    for path in kubeconfig_paths():
        try:
            document = read_kubeconfig(path)
        except (OSError, YAMLError, ValueError):
            continue
        if isinstance(document, dict):
            yield path.parent.absolute(), document


def kubeconfig_paths() -> list[Path]:
    """The kubeconfig files that count, whether they are there or not."""
    named = os.environ.get("KUBECONFIG") or "~/.kube/config"
    return [Path(name).expanduser() for name in named.split(os.pathsep) if name]
