"""Checks values against a JSON Schema and explains what is wrong. Loads the code for explanations on demand."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from modelyard.findings import MOST_COUNTED
from modelyard.schemas import surely_valid
from modelyard.stack.config import StackPath, dotted
from modelyard.untrusted import compiled, pattern_problem, searcher

RULES_SCHEMA = Path(__file__).with_name("policy.schema.json")
ASSERTION_SCHEMA = Path(__file__).with_name("assertion.schema.json")


class Misfit(NamedTuple):
    """One violation of a schema."""

    path: StackPath
    """Path of the value; for a missing or unknown key, the key's path."""
    summary: str
    remedy: str


def misfits_of_file(value: Any, schema: Path) -> list[Misfit]:
    """A value's violations of one of modelyard's own schemas, as ``misfits`` finds them."""
    text = schema.read_text(encoding="utf-8")
    return [] if surely_valid(json.loads(text), value) else misfits(value, text)


def misfits(value: Any, schema: str, name: str = "") -> list[Misfit]:
    """A value's violations of a JSON Schema, in the order of their places, up to a limit.

    Args:
        value: plain YAML or JSON values.
        schema: the schema's text.
        name: the value's name in messages; a part of it is called ``name.part``.

    Raises:
        BadSchema: the schema cannot be used.
    """
    if _gate(schema).is_valid(value):
        return []
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.validators import extend
    from referencing import Registry

    kind: Any = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
    # The empty registry reads nothing; the default one would fetch what a $ref names.
    formats = FormatChecker([])
    formats.checks("regex")(_is_regex)
    explainer = kind(json.loads(schema), format_checker=formats, registry=Registry())
    errors = explainer.iter_errors(value)
    explained = (misfit for error in errors for misfit in _explained(error, (name,) if name else ()))
    return sorted(set(islice(explained, MOST_COUNTED + 1)), key=lambda one: [str(part) for part in one.path])


@lru_cache(maxsize=64)
def _gate(schema: str) -> Any:
    return compiled(json.loads(schema), {"regex": _is_regex})


def _pattern(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, str) and not searcher(pattern).is_valid(instance):
        yield ValidationError("does not match")


def _is_regex(text: Any) -> bool:
    return not pattern_problem(text)


def _explained(error: Any, here: StackPath) -> Iterator[Misfit]:
    from modelyard.stack.mistakes import given, kinds_of
    from modelyard.stack.words import did_you_mean, listed, nearest, plain

    path: StackPath = tuple(error.absolute_path)
    where, schema = dotted((*here, *path)) or "the file", error.schema if isinstance(error.schema, Mapping) else {}
    match error.validator:
        case "additionalProperties":
            known = list(schema.get("properties", {}))
            for key in error.instance:
                if key not in known:
                    full = dotted((*here, *path, key))
                    remedy = "remove it: no key is allowed here"
                    if known:
                        only = (
                            f"the only key is {known[0]}" if len(known) == 1 else f"the keys are {listed(known, 'and')}"
                        )
                        remedy = did_you_mean(str(key), known) or only
                    yield Misfit((*path, key), f"unknown key {plain(full, 120)}", remedy)
        case "required":
            for key in error.validator_value:
                if key not in error.instance:
                    full = dotted((*here, *path, key))
                    meaning = _meaning(schema.get("properties", {}).get(key, {}))
                    yield Misfit((*path, key), f"{full} is missing", f"add {key}: {meaning}".rstrip(": "))
        case "enum":
            words = [str(word) for word in error.validator_value]
            close = nearest(error.instance, words) if isinstance(error.instance, str) else None
            value = given(error.instance, path, {})
            if close:
                yield Misfit(path, f"{where} is {value}; it must be {listed(words)}", f"did you mean {close}?")
            else:
                yield Misfit(path, f"{where} is {value}, which is not a valid value", f"write {listed(words)}")
        case "type":
            wanted, value = kinds_of(schema["type"]), given(error.instance, path, {})
            remedy = f"write {wanted}"
            if isinstance(error.instance, str) and schema["type"] == "array":
                remedy = f"write a list: [{value}]"
            for key, one in schema.get("properties", {}).items():
                if error.instance in one.get("enum", ()):
                    remedy = f"write {{{key}: {value}}}"
            yield Misfit(path, f"{where} is {value}; it must be {wanted}", remedy)
        case _:
            meaning = _meaning(schema)
            wrong = "empty" if error.instance in ("", []) else f"{given(error.instance, path, {})}: {_why(error)}"
            yield Misfit(path, f"{where} is {wrong}", f"write {meaning}" if meaning else "correct the value")


def _why(error: Any) -> str:
    words = {
        "pattern": f"it does not match {error.validator_value}",
        "minLength": f"it must have {error.validator_value} or more characters",
        "minItems": f"it must have {error.validator_value} or more items",
        "minimum": f"it must be {error.validator_value} or more",
        "maximum": f"it must be {error.validator_value} or less",
        "uniqueItems": "it has an item twice",
        "format": f"it is not a {'regular expression' if error.validator_value == 'regex' else error.validator_value}",
    }
    return words.get(str(error.validator), str(error.validator))


def _meaning(schema: Mapping[str, Any]) -> str:
    """The description of a value as the end of a sentence; an abbreviation keeps its capitals."""
    text = str(schema.get("description", "")).rstrip(".")
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"
