"""The facts that patches and assertions may ask for, from the tables of ``modelyard/workloads/facts``."""

import json
from collections.abc import Iterable
from typing import Any

from generators.markdown import code, page, table
from generators.schema import resolved


def facts() -> str:
    """The page of facts."""
    from modelyard.workloads import FACTS
    from modelyard.workloads.facts.remote import REMOTE

    return page(
        "Facts",
        "A fact is a value of a stack that a patch's `meta.yaml` (`params`, `when`, `for`) or an assertion "
        "(`match.when`) refers to by its path. For a field that a fact decides, `modelyard blame` shows the line of "
        "the stack file that sets the fact. "
        "[The guide](../guides/own-patch.md) uses facts in a patch.",
        "A duration is a number of seconds. "
        "A patch may also use several facts together: `autoscaling` contains all facts whose paths begin with it. "
        "A patch with `mode: submitted` can also use facts of its run, such as `run` ([PAT012](../rules/PAT012.md)).",
        _table(FACTS.values()),
        "## Remote clusters",
        "A patch with `cluster: remote` can also use these facts. In the third column, `remote` is `remote.cluster` "
        "of a resource.",
        _table(REMOTE),
    )


def _table(rows: Iterable[Any]) -> list[str]:
    return table(("fact", "meaning", "set by"), ((code(fact.path), _meaning(fact), _source(fact)) for fact in rows))


def _meaning(fact: Any) -> str:
    return fact.meaning or _described(fact.source)


def _described(path: Iterable[str]) -> str:
    """The description of a key of the stack file; ``remote`` is a remote cluster."""
    from modelyard.stack.schema import PREFIX, schema_text

    schema = json.loads(schema_text())
    keys = schema["properties"]["config"]["properties"].items()
    here = {"properties": {key.removeprefix(PREFIX): value for key, value in keys}}
    here["properties"]["remote"] = schema["$defs"]["cluster"]
    for part in path:
        here = resolved(here["properties"][part], schema)
    return str(here["description"])


def _source(fact: Any) -> str:
    from modelyard.stack.config import dotted

    if not fact.source:
        return f"no key of modelyard: {fact.why}"
    others = (f"{code(dotted(one.source))} {one.words}" for one in fact.other_sources)
    return "; ".join((code(dotted(fact.source)), *others))
