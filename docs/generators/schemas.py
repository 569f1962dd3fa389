"""A page for each published JSON Schema: of files that the program reads, and of documents that it prints.

The schema of stack files has a page of a different form (``stack_file``).
"""

import json
from collections.abc import Iterator
from typing import Any

from generators.markdown import code, heading, page, prose, table
from generators.paths import ROOT
from generators.schema import Schema, keys, own_sections, sections
from modelyard.cli.schema import SCHEMAS

FOLDER = "reference/schemas"
_FILES = "Files of a project"
_FILE_SCHEMAS = frozenset(("assertion", "hardware", "policy", "prices"))
_DOCUMENTS = "Documents that `--json` prints"


def published() -> dict[str, dict[str, Any]]:
    """Every ``*.schema.json`` of the program, by the name in its ``$id``, sorted."""
    found = {}
    for path in (ROOT / "modelyard").rglob("*.schema.json"):
        schema = json.loads(path.read_text(encoding="utf-8"))
        found[schema["$id"].rpartition(":")[2]] = schema
    return dict(sorted(found.items()))


def pages() -> dict[str, str]:
    """The pages by path below docs/, with an index."""
    made = {name: _page(name, schema) for name, schema in published().items() if name != "stack"}
    rows: dict[str, list[tuple[str, str]]] = {_FILES: [], _DOCUMENTS: []}
    for name, text in made.items():
        link = f"[{heading(text)}]({name}.md)"
        rows[_FILES if name in _FILE_SCHEMAS else _DOCUMENTS].append((link, published()[name].get("description", "")))
    rows[_FILES].insert(0, ("[Stack file](../stack-file.md)", published()["stack"]["description"]))
    index = page(
        "Files and JSON documents",
        "Each file and document has a JSON Schema (2020-12). `modelyard schema NAME` prints it, and these pages are "
        f"generated from it. NAME is one of {', '.join(map(code, sorted(SCHEMAS)))}.",
        *([f"## {title}", "", *table(("page", "content"), found)] for title, found in rows.items()),
    )
    return {f"{FOLDER}/README.md": index} | {f"{FOLDER}/{name}.md": text for name, text in made.items()}


def _page(name: str, schema: Schema) -> str:
    title = schema["title"].removeprefix("modelyard ")
    return page(title[0].upper() + title[1:], *_parts(name, schema))


def _parts(name: str, schema: Schema) -> Iterator[list[str] | str]:
    yield prose(schema.get("description", ""))
    if name in SCHEMAS:
        yield f"`modelyard schema {name}` prints the JSON Schema from which this page is generated."
    if "properties" in schema:
        yield from _mapping(schema, schema, "", "##")
        return
    for key, definition in schema.get("$defs", {}).items():
        if definition.get("title"):
            yield [f"## {definition['title']}", "", prose(definition.get("description", ""))]
            yield from _mapping(definition, schema, f"{key}.", "###")


def _mapping(schema: Schema, root: Schema, before: str, mark: str) -> Iterator[list[str]]:
    """The keys of a mapping, and under headings those of its inner mappings."""
    yield keys(schema, root, linked=own_sections(schema, root, before))
    for title, section in sections(schema, root, before):
        yield [f"{mark} {title}", "", prose(section.get("description", ""))]
        yield keys(section, root, linked=own_sections(section, root, f"{title}."))
