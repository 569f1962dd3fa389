"""The page that compares feature by feature, from the rows in ``docs/compared``.

A file there follows one vendor's page from its first requirement to its last. Its ``stack`` has settings for all of its
rows, and ``files`` what the project has besides. A row says what the vendor's page wants (``feature``) and how that is
done here (``here``), and shows it in one of three ways:

- ``run`` is a command, ``exit`` its exit code, and ``expect`` the texts that it prints, in this order; with ``file``
  they are in a file that it writes. ``stack`` has the settings of the row. ``refuse`` has settings with which the
  command (or ``run`` of ``refuse``) ends with exit code 1 (or its ``exit``), and what it prints then.
- ``lab`` is a test on a real cluster, or in a simulated AWS account.
- ``missing: true`` means that the feature is not there.

``mutate`` is a change of one line of the product that takes the feature away: ``docs/compare.py --mutate`` makes it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from generators.markdown import code, page, table
from generators.paths import DOCS

NAMES = ("instabase", "aizen", "hopsworks", "gemini")
"""The compared pages, in the order in which they are shown."""
_SHORT = 70
"""The most letters of settings, or of a text that is printed, that are shown in a table."""
INTRO = (
    "Four products show what people want from shared GPUs. Each table follows one vendor's page, from its first "
    "requirement to its last, in our words. Each row shows how modelyard does the same, and which command or test "
    "proves it.",
    "A command runs on the example stack that it names, with a few more settings. The file linked above each table has "
    "these settings, the exit code, the text that the command must print, and, for a limit, a value beyond it that "
    "must be refused. `make test-slow` runs all commands; `python docs/compare.py` prints the results. Tests in "
    "`tests/lab` run the real Pulumi engine and a real Kubernetes API server, many of them with the real Kueue, "
    "KubeRay, KEDA and Prometheus; nodes and their pods are simulated. Cloud parts are tested in a simulated AWS "
    "account: no cloud was used.",
)


class Mutation(NamedTuple):
    """A change of one line of the product."""

    file: str
    old: str
    new: str


class Call(NamedTuple):
    """A command, and what it must do."""

    command: str
    stack: Mapping[str, Any]
    """Settings of the stack, without the prefix ``modelyard:``."""
    exit: int
    expect: Sequence[str]
    file: str
    """The file that has the texts; empty: the output has."""


class Row(NamedTuple):
    """A row of a table."""

    name: str
    feature: str
    here: str
    files: Mapping[str, str]
    calls: Sequence[Call]
    """Its command, and the same with what is refused; none if a test of the lab shows the row, or nothing does."""
    lab: str
    missing: bool
    mutate: Mutation | None
    shown: str
    """What shows it, as Markdown."""


class Compared(NamedTuple):
    """What one vendor's page wants."""

    name: str
    title: str
    rows: Sequence[Row]


def compared() -> Iterator[Compared]:
    """Every compared page."""
    for name in NAMES:
        document = yaml.safe_load((DOCS / "compared" / f"{name}.yaml").read_text(encoding="utf-8"))
        stack, files = document.get("stack", {}), document.get("files", {})
        yield Compared(name, document["title"], [_row(name, row, stack, files) for row in document["rows"]])


def _row(page_name: str, row: Mapping[str, Any], stack: Mapping[str, Any], files: Mapping[str, str]) -> Row:
    settings = merged(stack, row.get("stack", {}))
    calls = []
    if "run" in row:
        calls.append(Call(row["run"], settings, row.get("exit", 0), _texts(row["expect"]), row.get("file", "")))
    if refuse := row.get("refuse"):
        refused = merged(settings, refuse["stack"])
        calls.append(Call(refuse.get("run", row["run"]), refused, refuse.get("exit", 1), _texts(refuse["expect"]), ""))
    return Row(
        name=f"{page_name}/{row['name']}",
        feature=row["feature"],
        here=row["here"],
        files={**files, **row.get("files", {})},
        calls=calls,
        lab=row.get("lab", ""),
        missing=row.get("missing", False),
        mutate=Mutation(**row["mutate"]) if "mutate" in row else None,
        shown=_shown(row),
    )


def _texts(value: str | Sequence[str]) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


def merged(under: Any, over: Any) -> Any:
    """Settings over others: mappings merge, so do lists of named items, and null removes a key of them."""
    if isinstance(under, Mapping) and isinstance(over, Mapping):
        both = {**under, **{key: merged(under.get(key), value) for key, value in over.items()}}
        return {key: value for key, value in both.items() if value is not None or key not in under}
    if _named(under) and _named(over):
        named = {one["name"]: one for one in under}
        return list((named | {one["name"]: merged(named.get(one["name"]), one) for one in over}).values())
    return over


def _named(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) and "name" in one for one in value)


def compared_page() -> str:
    """The page."""
    parts: list[list[str] | str] = [*INTRO]
    for each in compared():
        file = f"compared/{each.name}.yaml"
        rows = [
            (row.feature, row.here if not row.missing else f"**Not yet:** {row.here}", row.shown) for row in each.rows
        ]
        parts += [
            f"## {each.title}",
            f"Settings and expected output: [{file}]({file}).",
            table(("vendor feature", "in modelyard", "shown by"), rows),
        ]
    return page("Feature by feature", *parts)


def _shown(row: Mapping[str, Any]) -> str:
    """What shows a row: a test of the lab, or a command, with its settings if these are short."""
    if "lab" in row:
        file, _, test = row["lab"].partition("::")
        return f"[{test.removeprefix('test_').replace('_', ' ')}](../{file})"
    if "run" not in row:
        return ""
    shown = code(row["run"]) + _with(row) + _prints(row)
    if refuse := row.get("refuse"):
        first = _texts(refuse["expect"])[0].partition(" ")[0]
        known = f"[{first}](rules/{first}.md)" if re.fullmatch("[A-Z]{3}[0-9]{3}", first) else ""
        shown += f"; {known or ('refused' if refuse.get('exit', 1) else 'also')}{_with(refuse)}"
    return shown


def _prints(row: Mapping[str, Any]) -> str:
    """The file that a command writes, or the last text that it must print, if that says more than its exit code."""
    if "file" in row:
        return f" writes {code(row['file'])}"
    text = _texts(row["expect"])[-1]
    if " diff " in row["run"]:
        text = " ".join(text.replace("+ ", "").removeprefix("+").split())
    return "" if text.startswith("1 stack checked") or len(text) > _SHORT else f" prints {code(text)}"


def _with(part: Mapping[str, Any]) -> str:
    if "stack" not in part:
        return ""
    settings = yaml.safe_dump(part["stack"], default_flow_style=True, sort_keys=False, width=1000).strip()[1:-1]
    return f" with {code(settings)}" if len(settings) <= _SHORT else ""
