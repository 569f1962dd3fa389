"""Writes the reference: ``python docs/generate.py`` makes docs/reference/ from what the program itself reads.

The stack file from its JSON Schema, the command line from its parsers, the findings from their explanations, patches
and cards from their tables. Nothing there is written by hand; a test compares.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "reference"
_NOTE = "<!-- Made by docs/generate.py; change what it reads instead. -->\n"
Schema = Mapping[str, Any]


def reference() -> dict[str, str]:
    """Every page of the reference by file name."""
    made = {
        "stack-file.md": _stack_file(),
        "command-line.md": _command_line(),
        "exit-codes.md": _exit_codes(),
        "findings.md": _findings(),
        "patches.md": _patches(),
        "gpus.md": _gpus(),
    }
    index = ["# Reference", "", "Made from the program's own schemas and tables.", ""]
    index += [f"- [{text.splitlines()[1].removeprefix('# ')}]({name})" for name, text in made.items()]
    return {"README.md": _NOTE + "\n".join(index) + "\n", **made}


def _page(title: str, *parts: Iterable[str] | str) -> str:
    lines = [f"# {title}", ""]
    for part in parts:
        lines += [part] if isinstance(part, str) else part
        lines.append("")
    text = "\n".join(lines)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return f"{_NOTE}{text.strip()}\n"


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    names = list(header)
    lines = [names, ["---"] * len(names), *(list(row) for row in rows)]
    return ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines]


def _code(value: object) -> str:
    if isinstance(value, str):
        return f"`{value}`" if value else ""
    return f"`{json.dumps(value, ensure_ascii=False)}`"


# The stack file


def _stack_file() -> str:
    from modelyard.stack.config import Targets

    schema = json.loads(files("modelyard.stack").joinpath("stack.schema.json").read_text(encoding="utf-8"))
    for target, (deployment, container) in zip(
        schema["$defs"]["targets"]["properties"].values(), Targets(), strict=True
    ):
        target["default"] = {"deployment": deployment, "container": container}
    sections = schema["properties"]["config"]["properties"]
    required = schema["properties"]["config"]["required"]
    overview, details = [], []
    for key, section in sections.items():
        found = _resolved(section, schema)
        title = key.removeprefix("modelyard:")
        inner = _resolved(found["items"], schema) if "items" in found else found
        linked = f"[{_code(key)}](#{title.lower()})" if "properties" in inner else _code(key)
        form = "list" if "items" in found else _form(found) if "properties" not in found else "mapping"
        overview.append((linked, form, _default(found, key in required), found.get("description", "")))
        if "properties" in inner:
            details += [f"## {title}", "", _code(key) + ": " + found.get("description", ""), ""]
            details += [*_keys(inner, schema), ""]
    forms = [
        (name, schema["$defs"][definition].get("description", meaning))
        for name, definition, meaning in (
            ("whole number", "count", ""),
            ("quantity", "quantity", ""),
            ("duration", "duration", ""),
            ("true or false", "flag", ""),
        )
    ]
    return _page(
        "Stack file",
        schema["description"],
        "`modelyard schema stack` prints the JSON Schema that this page is made from; "
        "[the guide](../guides/stack-files.md) explains the sections.",
        "## Keys of `config`",
        "",
        _table(("key", "value", "default", "meaning"), overview),
        "Keys of other namespaces (`kubernetes:context`, `aws:region`) and Pulumi's own top-level keys pass through. "
        "Any other `modelyard:` key is an error.",
        details,
        "## Forms of values",
        _table(("form", "how it is written"), forms),
    )


def _resolved(schema: Schema, root: Schema) -> dict[str, Any]:
    """A schema with its reference filled in; its own keys win."""
    if "$ref" not in schema:
        return dict(schema)
    target = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}


def _keys(section: Schema, root: Schema) -> list[str]:
    rows = []
    for key, value in section["properties"].items():
        found = _resolved(value, root)
        inner = found.get("properties")
        form = "mapping of " + ", ".join(map(_code, inner)) if inner else _form(found)
        default = _default(found, key in section.get("required", ()))
        rows.append((_code(key), form, default, found.get("description", "")))
    return _table(("key", "value", "default", "meaning"), rows)


_FORMS = {
    "quantity": "quantity",
    "duration-text": "duration",
    "date": "day",
    "release": "`YY.MM` in quotes",
    "version": "`major.minor` in quotes",
    "finding-code": "finding code",
    "gpu": "card",
    "image": "image",
    "dns-label": "Kubernetes name",
    "dns-name": "Kubernetes name",
    "patch-version": "`v1`, `v2`, …",
}


def _form(schema: Schema) -> str:
    if "enum" in schema:
        return "true or false" if True in schema["enum"] else ", ".join(map(_code, schema["enum"]))
    form = schema.get("format")
    if form == "count":
        return f"whole number, {schema['minimum']} or more"
    return _FORMS.get(form or "", {"object": "mapping", "array": "list"}.get(str(schema.get("type")), "text"))


def _default(schema: Schema, required: bool) -> str:
    if required:
        return "required"
    if "default" not in schema:
        return ""
    value = schema["default"]
    if isinstance(value, dict) and value:
        return ", ".join(map(_code, value.values()))
    if schema.get("format") == "duration-text":
        from modelyard.stack.durations import text

        return _code(text(value))
    return _code(value)


# The command line


def _command_line() -> str:
    from modelyard.cli.app import VERBS, global_options, overview, verb_parser

    common = argparse.ArgumentParser(add_help=False)
    global_options(common)
    shared = {action.dest for action in common._actions}
    parts: list[str] = []
    for name in VERBS:
        parser = verb_parser(name)
        actions = [action for action in parser._actions if action.dest not in shared and action.dest != "help"]
        parts += [f"## {name}", "", " ".join((parser.description or "").split()), ""]
        parts += ["```text", " ".join((f"modelyard {name}", *_usage(actions))), "```", ""]
        parts += [*_actions(actions), ""] if actions else []
    everywhere = [action for action in overview()._actions if action.dest != "version"]
    return _page(
        "Command line",
        "The project is the nearest folder upward that holds `Pulumi.yaml`. Colours are on for a terminal and off in a "
        "pipe or with `NO_COLOR`. [Exit codes](exit-codes.md) are the same for every verb.",
        _table(("verb", "what it does"), ((f"[{_code(name)}](#{name})", verb.help) for name, verb in VERBS.items())),
        "Options of every verb, before it or behind it:",
        _actions(everywhere),
        parts,
    )


def _usage(actions: Iterable[argparse.Action]) -> Iterator[str]:
    positional = []
    for action in actions:
        if action.option_strings:
            words = _option(action, action.option_strings[-1])
            yield words if action.required else f"[{words}]"
        else:
            shown = _metavar(action)
            positional.append(
                {"*": f"[{shown} ...]", "?": f"[{shown}]", None: shown}.get(action.nargs, shown)  # type: ignore[arg-type]
            )
    yield from positional


def _actions(actions: Iterable[argparse.Action]) -> list[str]:
    rows = []
    for action in actions:
        shown = ", ".join(_option(action, name) for name in action.option_strings) or _metavar(action)
        rows.append((_code(shown), (action.help or "").replace("%(default)s", str(action.default))))
    return _table(("argument", "meaning"), rows)


def _option(action: argparse.Action, name: str) -> str:
    return name if action.nargs == 0 else f"{name} {_metavar(action)}"


def _metavar(action: argparse.Action) -> str:
    if action.choices and action.metavar is None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return str(action.metavar or action.dest.upper())


def _exit_codes() -> str:
    from modelyard.cli.exit import EXIT_CODES

    return _page(
        "Exit codes",
        "Every verb ends with one of these. The [guide for CI](../guides/ci.md) shows how to use them.",
        _table(("code", "meaning"), ((_code(str(code.value)), words) for code, words in EXIT_CODES.items())),
        "An interrupted run (Ctrl-C) ends with `130`.",
    )


# Findings


def _findings() -> str:
    from modelyard.explanations import explanations

    known = explanations()
    heads = {
        page.name.removesuffix(".md"): page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        for page in files("modelyard.explanations").iterdir()
        if page.name.endswith(".md")
    }
    rows = [(f"[{code}](#{_anchor(f'{code} {one.title}')})", one.title) for code, one in known.items()]
    parts: list[str] = []
    for family, head in sorted(heads.items()):
        parts += [f"## {head}", ""]
        for code, one in known.items():
            if code.startswith(family):
                parts += [f"### {code} {one.title}", "", one.body, ""]
    return _page(
        "Findings",
        "A finding has a code, a severity, the place it is about and what to do. Errors stop an apply and set the exit "
        "code 1; warnings and notes do not. `modelyard explain CODE` prints the text below. All but `CFG` findings can "
        "be [waived](../guides/stack-files.md#waivers) with a reason and a day.",
        _table(("code", "title"), rows),
        parts,
    )


def _anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    kept = "".join(letter for letter in heading.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


# Patches and cards


def _patches() -> str:
    from modelyard.catalog import load_library

    library = load_library(ROOT)
    parts: list[str] = []
    for name, versions in library.patches.items():
        for version, patch in versions.items():
            state = "released" if f"{name}/{version}" in library.released else "not released"
            parts += [f"## {patch.id}", "", f"{patch.meta.description} ({state})", ""]
            parts += _meta_lines(patch.meta)
            rows = []
            for parameter, spec in patch.schema.get("properties", {}).items():
                fact = patch.meta.params.get(parameter, "")
                source = _code(fact) if fact else ""
                if parameter in patch.defaults and patch.defaults[parameter] not in (None, []):
                    source = " or ".join(filter(None, (source, f"default {_code(patch.defaults[parameter])}")))
                rows.append((_code(parameter), _types(spec), source, spec.get("description", "")))
            parts += ["", *_table(("parameter", "type", "from", "meaning"), rows), ""]
    return _page(
        "Patches",
        "The patches of this project. A parameter comes from a fact of the stack file unless the stack passes another "
        "value under `modelyard:patches`. [The guide](../guides/own-patch.md) makes a new one.",
        parts,
    )


def _meta_lines(meta: Any) -> Iterator[str]:
    if meta.when is None:
        yield "- taken by stacks that list it"
    elif meta.when:
        yield "- taken when " + " and ".join(
            f"{_code(fact)} is {_code(value) if isinstance(value, str) else str(value).lower()}"
            for fact, value in meta.when.items()
        )
    else:
        yield "- taken by every stack"
    if meta.phase != "normal":
        yield f"- phase {_code(meta.phase)}"
    if meta.after:
        yield "- merged after " + ", ".join(map(_code, meta.after))
    if meta.overrides:
        yield "- overrides " + ", ".join(map(_code, meta.overrides))


def _types(spec: Schema) -> str:
    kinds = spec.get("type", "any")
    words = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    return f"{words}, {spec['minimum']} or more" if "minimum" in spec else words


def _gpus() -> str:
    from modelyard.hardware.table import table

    def marked(value: object, mark: str) -> str:
        return f"{value} ({mark})" if mark else str(value)

    rows = [
        (
            _code(row.id),
            row.supported,
            row.rule,
            marked("unknown" if row.tflops is None else f"{row.tflops:g}", row.tflops_mark),
            marked(row.memory_gb, row.memory_mark),
            marked(row.nvlink, row.nvlink_mark),
            marked(row.compute, row.compute_mark),
            ", ".join(map(_code, row.products)),
        )
        for row in table()
    ]
    whys = [(f"{_code(row.id)} {row.name}", row.why) for row in table()]
    return _page(
        "Cards",
        "Support is decided for platform images of CUDA 11.7; `modelyard gpus --cuda 12.4` answers for another. "
        "Throughput is FP16 on tensor cores without sparsity. Numbers that nobody could trace to a primary source are "
        "marked. [The guide](../guides/hardware.md) has the rules, "
        "[the data's own page](../../modelyard/hardware/data/README.md) the sources.",
        _table(
            (
                "card",
                "supported",
                "decided by",
                "TFLOPS",
                "memory, GB",
                "NVLink",
                "compute capability",
                "node label `nvidia.com/gpu.product`",
            ),
            rows,
        ),
        "## Why",
        _table(("card", "reason"), whys),
    )


def main() -> int:
    """Writes the pages, and removes those that are no longer made."""
    pages = reference()
    OUT.mkdir(exist_ok=True)
    for path in OUT.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (OUT / name).write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
