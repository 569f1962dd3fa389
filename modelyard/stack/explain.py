"""Explains config that the gate rejected, in the operator's words. Loaded only when something is wrong.

The ``jsonschema`` package walks the schema and reports which keyword failed where; this module turns each failure into
a mistake with a code, the given value and what to write instead. One mistake per place: the most useful one.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sized
from functools import cache
from math import isfinite
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from modelyard import quantity
from modelyard.findings import MOST_COUNTED
from modelyard.hiding import HIDDEN, hidden_paths
from modelyard.stack import codes
from modelyard.stack.config import StackPath
from modelyard.stack.mistakes import Mistake, given, kinds_of, name
from modelyard.stack.schema import PREFIX, schema_text
from modelyard.stack.words import listed, nearest, plain, quoted
from modelyard.stack.yaml.document import resolve

_MOST_USEFUL = ("type", "enum", "pattern", "format", "exclusiveMinimum", "minimum", "maximum", "minLength", "maxLength")
"""Keywords in the order in which their failures are most useful."""

_FORMS: dict[str, tuple[str, str]] = {
    "release": ("a platform release", 'write year and month in quotes, such as "23.10"'),
    "version": ("a version", 'write major and minor in quotes, such as "11.7"'),
    "python": ("a Python version, 3.8 or newer", 'write major and minor in quotes, such as "3.11"'),
    "folder": ("an absolute path of a folder", "write one such as /home/jovyan/work, without .."),
    "date": ("a day", "write YYYY-MM-DD, such as 2027-03-01"),
    "dns-label": ("a Kubernetes name", "use at most 63 lower-case letters, digits and -, and no - at the ends"),
    "dns-letter": (
        "a Kubernetes name",
        "begin with a letter; use at most 63 lower-case letters, digits and -, and no - at the end",
    ),
    "variable": ("an environment variable", "use letters, digits and _, not beginning with a digit"),
    "label-value": ("the value of a label", "use letters, digits and - _ . between them, at most 63 of them"),
    "label-key": ("the key of a label", "write one such as kubernetes.io/hostname"),
    "dns-name": ("a Kubernetes name", "use lower-case letters, digits, - and ., at most 253 of them"),
    "path": ("a path inside the project", "write it relative to the project's folder"),
    "text": ("plain text", "remove control characters and marks of text direction"),
    "gpu": ("the name of a GPU", "write one that `modelyard gpus` lists"),
    "gpu-name": ("a name for a GPU", "use letters, digits, spaces and . _ + / ( ) -, and begin with a letter or digit"),
    "url": ("an address", "write http:// or https://, host and port"),
    "controller": ("the address of an API server", "write an IP address or host name such as 10.8.0.5, or a URL"),
    "promql": ("a query", "write PromQL without control characters"),
    "queue": ("the name of a queue", "use letters, digits and . _ : / -"),
    "account": ("an AWS account ID", "write its twelve digits in quotes"),
    "vpc": ("the ID of a VPC", "write vpc- and its 8 or 17 digits, such as vpc-0a1b2c3d"),
    "subnet": ("the ID of a subnet", "write subnet- and its 8 or 17 digits, such as subnet-0a1b2c3d"),
    "bucket": ("a bucket", "write s3:// or gs:// and the bucket's name; prefixes are set where the bucket is used"),
    "stage": ("the name of a stage", "use at most 24 lower-case letters, digits and -, and no - at the ends"),
    "server": ("the name of a server", "use at most 46 lower-case letters, digits and -, and no - at the ends"),
    "prefix": ("a prefix of objects", "use letters, digits and - _ . = between single /, with none at its ends"),
    "subfolder": ("a folder of the volume", "use letters, digits and - _ . = between single /, with none at its ends"),
    "region": ("the beginning of a region's name", "write one such as us-, eu-west or us-east-1"),
    "mig-profile": ("a MIG profile", "write one such as 1g.10gb"),
    "image": ("the name of an image", "write registry/repository:tag"),
    "resource": ("the name of a resource", "write one that nodes have, such as nvidia.com/gpu"),
    "spark-version": ("a version of Spark", 'write it in quotes, such as "3.5.7"'),
    "patch-version": ("a patch version", "write v1, v2, …"),
}
"""By format of the schema: what is wanted, and how to write it."""
_INSIDE: dict[str, str] = {"prefix": "its bucket", "subfolder": "its volume"}
"""By format of the schema: what a path must not leave."""


_CORES: dict[str, str] = dict.fromkeys(("cpu", "driverCpu"), "write a number of cores such as 4 or 500m")
_COUNTS: dict[str, str] = {
    "each": "write what one pod can take, such as 8 or 500m, which is half of one",
    "overhead": "write a share such as 0.4",
    "rows": "write a number such as 50M, which is 50 million",
    "parameters": "write a number such as 7G, which is 7 billion",
    "requestRate": "write requests a second, such as 200 or 500m",
    "requestTime": "write seconds, such as 4 or 50m, which is 50 milliseconds",
}
"""How to write quantities that are neither bytes nor cores, by key."""
_LARGE = ("rows", "parameters")
_TEXTS: dict[str, str] = {
    "discount": 'write why the price differs from the list price, such as "reserved for 3 years"; it does not change '
    "the price"
}
"""How to write texts that users take for numbers, by key."""
_NUMBERS: dict[str, str] = {
    "price": "write USD as a number such as 14.69, or delete the entry; the price is then unknown",
    "tflops": "write dense FP16 TFLOPS as a number such as 119.5, without sparsity",
}
"""By format of the schema: how to write a number that need not be whole."""
_LOGINS: Mapping[Any, str] = {
    f"{PREFIX}autoscaling": "and give KEDA a TriggerAuthentication by the parameter authentication of its patches",
    f"{PREFIX}drain": "and pass them in the environment, such as MODELYARD_BROKER_USER, _PASSWORD and _URL",
    f"{PREFIX}resources": "and set context, credentialsSecret or credentials next to it",
}
"""Where the credentials of an address belong, by section."""
_SIZES = ("minItems", "maxItems", "minProperties", "maxProperties")
"""Keywords about the number of items."""


def explain(config: Mapping[str, Any], texts: Mapping[StackPath, str]) -> list[Mistake]:
    """Returns the mistakes in ``config``, one per place, in the order of the paths; empty if the schema holds.

    Args:
        config: by key with its prefix.
        texts: source text of numbers, by path below ``config``.
    """
    return mistakes_in({"config": config}, texts, schema_text(), 1)


def mistakes_in(document: Any, texts: Mapping[StackPath, str], schema: str, below: int = 0) -> list[Mistake]:
    """Returns the mistakes in a document under a schema of the same style, in the form of ``explain``.

    The search stops after the first ``MOST_COUNTED + 1`` mistakes.

    Args:
        document: plain values.
        texts: source text of numbers, by path.
        schema: the text of the schema.
        below: number of leading path parts that the mistakes leave out.
    """
    best: dict[StackPath, tuple[int, Mistake]] = {}
    shown: Mapping[StackPath, str] | None = None
    validator = _validator(schema)
    for error in validator.iter_errors(document):
        # A key is named without its value, so a file with very many unknown keys needs no search for secrets.
        of_key = error.validator == "additionalProperties" or "propertyNames" in error.absolute_schema_path
        if shown is None and not of_key:
            shown = {**texts, **dict.fromkeys((path[below:] for path in hidden_paths(document)), HIDDEN)}
        rank = _MOST_USEFUL.index(error.validator) if error.validator in _MOST_USEFUL else 0
        for mistake in _mistakes(error, shown or texts, below, validator.schema):
            # A missing key is reported at its parent, besides other mistakes there.
            # A key's name and its value can both be wrong.
            beside = mistake.code == codes.MISSING_KEY or (mistake.code == codes.FORM and mistake.at_key)
            place = (*mistake.path, mistake.summary) if beside else mistake.path
            if place not in best or rank < best[place][0]:
                best[place] = (rank, mistake)
            if len(best) > MOST_COUNTED:
                return _in_order(best)
    return _in_order(best)


def _in_order(best: Mapping[StackPath, tuple[int, Mistake]]) -> list[Mistake]:
    return [mistake for _, (_, mistake) in sorted(best.items(), key=lambda item: [str(part) for part in item[0]])]


@cache
def _validator(schema: str) -> Validator:
    kind: Any = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
    made: Validator = kind(json.loads(schema), format_checker=FormatChecker(formats=["date"]))
    return made


def _pattern(_: Validator, pattern: str, instance: Any, __: Mapping[str, Any]) -> Iterator[ValidationError]:
    """Checks ``pattern`` as ECMA 262 and the gate do: ``$`` is the end of the text, not a newline before it."""
    if isinstance(instance, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), instance):
        yield ValidationError("does not match")


def _mistakes(error: ValidationError, texts: Mapping[StackPath, str], below: int, whole: Any) -> Iterator[Mistake]:
    path: StackPath = tuple(error.absolute_path)[below:]
    schema = error.schema if isinstance(error.schema, dict) else {}
    # Typed as possibly unset, which is true only until a validator fills them in.
    value: Any = error.instance
    wanted: Any = error.validator_value
    if "propertyNames" in error.absolute_schema_path:
        if error.validator == "enum":
            yield _unknown_section(value, wanted)
        else:
            # The error has the path of the mapping; the wrong part is the name of one of its keys.
            form = f"write it like {schema['examples'][0]}"
            summary = f"{plain(str(value))} is not a valid key of {name(path)}"
            yield Mistake((*path, value), codes.FORM, summary, form, at_key=True)
    elif error.validator == "additionalProperties":
        known = list(schema["properties"])
        yield from (_unknown(path, key, known) for key in value if key not in known)
    elif error.validator == "required":
        yield from (_missing(path, key, schema) for key in schema["required"] if key not in value)
    elif error.validator == "dependentRequired":
        needed = {key for given_key, keys in wanted.items() if given_key in value for key in keys}
        yield from (_missing(path, key, schema) for key in sorted(needed) if key not in value)
    elif error.validator == "enum":
        yield _choice(path, value, wanted, texts)
    elif error.validator in _SIZES:
        yield _many(path, value, schema, required=_required(error, whole))
    else:
        yield _of_format(path, value, schema, error, texts)


def _unknown_section(key: str, known: list[str]) -> Mistake:
    section, dot, rest = key.removeprefix(PREFIX).partition(".")
    close = nearest(key.removeprefix(PREFIX).removeprefix("config:"), [k.removeprefix(PREFIX) for k in known])
    remedy = f"did you mean {close}?" if close else ""
    meant: StackPath = (PREFIX + close,) if close else ()
    if dot and PREFIX + section in known:
        section, rest = plain(section), plain(rest)
        meant = ()
        remedy = f"nest it, as `pulumi config set --path '{PREFIX}{section}.{rest}' …` does"
    elif not remedy:
        remedy = f"the keys are {listed([k.removeprefix(PREFIX) for k in known], 'and')}"
    return Mistake((key,), codes.UNKNOWN_KEY, f"unknown key {plain(key)}", remedy, at_key=True, meant=meant)


def _unknown(path: StackPath, key: str, known: list[str]) -> Mistake:
    keys = f"{name(path)} has the keys" if path else "the keys are"
    if len(known) == 1:
        keys = f"the only key of {name(path)} is" if path else "the only key is"
    close = nearest(key, known)
    remedy = f"did you mean {close}?" if close else f"{keys} {listed(known, 'and')}"
    meant: StackPath = (*path, close) if close else ()
    summary = f"unknown key {name((*path, key))}"
    return Mistake((*path, key), codes.UNKNOWN_KEY, summary, remedy, at_key=True, meant=meant)


def _missing(path: StackPath, key: str, schema: Mapping[str, Any]) -> Mistake:
    full = name((*path, key))
    if key == "reason":
        remedy = "write why this stack accepts the finding"
        return Mistake(path, codes.WAIVER_REASON, f"{name(path)} has no reason", remedy, at_key=True)
    wanted = schema.get("properties", {}).get(key, {})
    empty = {"array": "[…]", "object": "{…}"}.get(str(wanted.get("type")), '"…"')
    example = json.dumps(wanted["examples"][0], ensure_ascii=False) if wanted.get("examples") else empty
    remedy = f"add `{key}: {example}` to {name(path)}, with your own value"
    if not path:
        full = key
        example = "{model: A10}" if key == PREFIX + "gpu" else '{release: "23.10"}'
        remedy = f"add `{key}: {example}`, with your own value"
    return Mistake(path, codes.MISSING_KEY, f"{full} is missing", remedy, at_key=True, meant=(*path, key))


def _choice(path: StackPath, value: Any, allowed: list[Any], texts: Mapping[StackPath, str]) -> Mistake:
    written, full = given(value, path, texts), name(path)
    if True in allowed:
        remedy = "write true or false"
        return Mistake(path, codes.KIND, f"{full} is {written}; it must be true or false", remedy)
    if full == "kubernetesVersion" and isinstance(value, int | float) and not isinstance(value, bool):
        return _unquoted(path, texts.get(path, str(value)), value, texts)
    words = [str(word) for word in allowed]
    close = nearest(value, words) if isinstance(value, str) else None
    if close is None:
        return Mistake(path, codes.CHOICE, f"{full} is {written}, which is not a valid value", f"write {listed(words)}")
    return Mistake(path, codes.CHOICE, f"{full} is {written}; it must be {listed(words)}", f"did you mean {close}?")


def _unquoted(path: StackPath, text: str, value: Any, texts: Mapping[StackPath, str]) -> Mistake:
    full = name(path)
    written = given(value, path, texts)
    summary = f"{full} is {written} without quotes"
    if isinstance(value, float) and written not in (HIDDEN, str(value)):
        summary += f", which YAML reads as the number {value}"
    return Mistake(
        path, codes.UNQUOTED, summary, f'write it in quotes: "{HIDDEN if written == HIDDEN else plain(text)}"'
    )


def _of_format(
    path: StackPath, value: Any, schema: Mapping[str, Any], error: ValidationError, texts: Mapping[StackPath, str]
) -> Mistake:
    form = schema.get("format")
    if form == "quantity":
        return _quantity(path, value, texts)
    if form == "count":
        return _count(path, value, schema, texts)
    if form == "duration-text":
        return _duration(path, value, texts)
    if form in _NUMBERS:
        return _number(path, value, schema, texts)
    full, written = name(path), given(value, path, texts)
    if error.validator == "type":
        plain_type = schema["type"] == "string" and isinstance(value, bool | int | float)
        if plain_type and "enum" in schema:
            return _choice(path, value, schema["enum"], texts)
        meant = texts.get(path, written)
        meant = (_month(meant) if form == "release" else "") or meant
        if not plain_type:
            return _kind(path, value, schema, texts)
        if path[-1] in _TEXTS:
            return Mistake(path, codes.KIND, f"{full} is {written}; it must be text", _TEXTS[str(path[-1])])
        if "pattern" not in schema or re.search(schema["pattern"], meant):
            return _unquoted(path, meant, value, texts)
    elif form == "finding-code":
        return _finding_code(path, str(value))
    elif form == "reason" and not str(value).strip():
        return Mistake(path, codes.WAIVER_REASON, f"{full} is blank", "write why this stack accepts the finding")
    elif value == "":
        remedy = "write where the numbers come from" if path[-1] == "source" else "give a value"
        return Mistake(path, codes.FORM, f"{full} is empty", remedy)
    elif form in ("url", "controller") and "@" in str(value):
        # Not printed: it may hold a password.
        summary, remedy = f"{full} contains a user or a password", f"write the address without them, {_LOGINS[path[0]]}"
        return Mistake(path, codes.FORM, summary, remedy)
    elif error.validator == "maxLength":
        remedy = "give a shorter text"
        return Mistake(path, codes.FORM, f"{full} is longer than {error.validator_value} characters", remedy)
    elif form in _INSIDE and ".." in str(value).split("/"):
        summary = f"{full} is {written}, which leaves {_INSIDE[form]}"
        return Mistake(path, codes.FORM, summary, f"write a path in {_INSIDE[form]}, without ..")
    wanted, remedy = _FORMS.get(form or "", _FORMS["text"])
    if form in ("dns-label", "label-key", "dns-letter", "server") and not isinstance(resolve(str(value)), str):
        remedy = "choose another: YAML reads it as a number or keyword in every object that has it"
    if written == HIDDEN and form in ("dns-label", "dns-letter", "dns-name"):
        remedy = f"write the name of a Secret, not its content; {remedy}"
    if path[:1] == (f"{PREFIX}patches",) and (found := re.fullmatch(r"([a-z0-9-]+)@(v[1-9][0-9]*)", str(value))):
        remedy = f"write name: {found[1]} and version: {found[2]}"
    if form == "path" and (examples := schema.get("examples")):
        remedy += f", such as {examples[0]}"
    if form == "release" and (month := _month(str(value))):
        remedy = f'did you mean "{month}"?'
    return Mistake(path, codes.FORM, f"{full} is {written}, not {wanted}", remedy)


def _required(error: ValidationError, whole: Any) -> bool:
    """Whether the place of an error is a required key of its mapping."""
    part: Any = whole
    names: Any = ()
    required = False
    for step in list(error.absolute_schema_path)[:-1]:
        # A path of jsonschema leaves references out.
        while isinstance(part, dict) and step not in part:
            part = whole["$defs"][part["$ref"].rpartition("/")[2]]
        required = step in names
        names = part.get("required", ()) if step == "properties" else ()
        part = part[step]
    return required


def _many(path: StackPath, value: Sized, schema: Mapping[str, Any], *, required: bool) -> Mistake:
    """Returns the mistake for a list or mapping with too few or too many items."""
    full, there = name(path), len(value)
    least = schema.get("minItems", schema.get("minProperties", 0))
    most = schema.get("maxItems", schema.get("maxProperties", 0))
    if there < least:
        summary = f"{full} is an empty {'list' if isinstance(value, list) else 'mapping'}"
        return Mistake(path, codes.RANGE, summary, "add a value" if required else "add a value, or remove the key")
    summary = f"{full} has {there} entries; it can have {most}"
    return Mistake(path, codes.RANGE, summary, f"keep {most} of them" + (", or fewer" if most > 1 else ""))


def _kind(path: StackPath, value: Any, schema: Mapping[str, Any], texts: Mapping[StackPath, str]) -> Mistake:
    wanted, written = kinds_of(schema["type"]), given(value, path, texts)
    needed = [key for key in schema.get("required", ()) if key in schema.get("properties", ())]
    if isinstance(value, str) and len(needed) == 1 and written != HIDDEN:
        remedy = f"write {{{needed[0]}: {written}}}"
    elif value is None:
        remedy = "give a value, or remove the key if it is optional"
    elif schema["type"] == "array" and isinstance(value, Mapping):
        remedy = "write a list: begin each item with `- `"
    else:
        examples = schema.get("examples") if schema["type"] == "array" else None
        remedy = f"write {wanted}" + (f", such as {json.dumps(examples[0])}" if examples else "")
    return Mistake(path, codes.KIND, f"{name(path)} is {written}; it must be {wanted}", remedy)


def _month(text: str) -> str:
    """Returns the release that ``23.7`` or ``23.10.4`` probably means; empty if that is unclear."""
    found = re.fullmatch(r"([0-9]{2})\.([0-9]{1,2})(?:\..*)?", text)
    return f"{found[1]}.{int(found[2]):02}" if found and 1 <= int(found[2]) <= 12 else ""


def _quantity(path: StackPath, value: Any, texts: Mapping[StackPath, str]) -> Mistake:
    full, written, key = name(path), given(value, path, texts), str(path[-1])
    example = {**_CORES, **_COUNTS}.get(key, "write an amount such as 16Gi")
    wanted = "number" if key in _COUNTS else "Kubernetes quantity"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return Mistake(path, codes.KIND, f"{full} is {written}; it must be a {wanted}", example)
    try:
        # If a section appears twice, the texts may belong to the numbers of the other one.
        amount = quantity.parse(value if isinstance(value, str) else texts.get(path, value))
    except ValueError:
        remedy = (_meant(value, key) if isinstance(value, str) else "") or example
        return Mistake(path, codes.QUANTITY, f"{full} is {written}, not a {wanted}", remedy)
    if amount == 0:
        return Mistake(path, codes.RANGE, f"{full} is {written}; it must be above zero", example)
    return Mistake(path, codes.RANGE, f"{full} is {written}; it cannot be negative", example)


def _meant(text: str, key: str) -> str:
    """Returns what to write instead of a misspelt amount; empty if that is unclear."""
    meant = quantity.suggest(text)
    if key in _LARGE:
        # B is a billion, and no count has a binary unit.
        meant = meant.partition(" or ")[0]
        if meant.endswith("G"):
            return f"write {meant} for {meant[:-1]} billion"
    elif key in _COUNTS:
        # These are small, so m is a thousandth, and they have no unit of bytes.
        number = text.strip().removesuffix("m")
        meant = "".join(text.split()) if quantity.suggest(number) == number.strip() else ""
    return f"did you mean {meant}?" if meant else ""


def _count(path: StackPath, value: Any, schema: Mapping[str, Any], texts: Mapping[StackPath, str]) -> Mistake:
    full, written = name(path), given(value, path, texts)
    least = schema["minimum"]
    remedy = f"write a whole number, {least} or more"
    try:
        number = None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = None
    # Python reads nan and inf as numbers; 1e400 is a number too large for a float.
    if number is None or (not isfinite(number) and not re.search("[0-9]", str(value))):
        return Mistake(path, codes.KIND, f"{full} is {written}; it must be a whole number", remedy)
    if number < 0:
        return Mistake(path, codes.RANGE, f"{full} is {written}; it cannot be negative", remedy)
    if isfinite(number) and number != number // 1:
        return Mistake(path, codes.RANGE, f"{full} is {written}; it cannot be a fraction", remedy)
    if number < least:
        return Mistake(path, codes.RANGE, f"{full} is {written}; it must be {least} or more", remedy)
    if number > schema["maximum"]:
        remedy = f"write a whole number, {least} to {schema['maximum']}"
        return Mistake(path, codes.RANGE, f"{full} is {written}; it is too large", remedy)
    return Mistake(path, codes.KIND, f"{full} is {written}; it must be written as a whole number", remedy)


def _number(path: StackPath, value: Any, schema: Mapping[str, Any], texts: Mapping[StackPath, str]) -> Mistake:
    full, written = name(path), given(value, path, texts)
    remedy = _NUMBERS[schema["format"]]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Mistake(path, codes.KIND, f"{full} is {written}; it must be a number", remedy)
    if value < 0:
        return Mistake(path, codes.RANGE, f"{full} is {written}; it cannot be negative", remedy)
    return Mistake(path, codes.RANGE, f"{full} is {written}; it must be {schema['maximum']:,} or less", remedy)


def _duration(path: StackPath, value: Any, texts: Mapping[StackPath, str]) -> Mistake:
    full, written = name(path), given(value, path, texts)
    remedy = "write seconds, or text such as 6h5m or 90m"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value <= 0:
            return Mistake(path, codes.RANGE, f"{full} is {written}; it must be above zero", remedy)
        if value != value // 1:
            return Mistake(path, codes.RANGE, f"{full} is {written}; seconds are whole numbers", remedy)
        remedy = "give seconds or text such as 6h5m, not milliseconds"
        return Mistake(path, codes.RANGE, f"{full} is {written}: more than 31 days", remedy)
    if not isinstance(value, str):
        return Mistake(path, codes.KIND, f"{full} is {written}; it must be a duration", remedy)
    return Mistake(path, codes.DURATION, f"{full} is {written}, not a duration above zero", remedy)


def _finding_code(path: StackPath, value: str) -> Mistake:
    full = name(path)
    families = listed(codes.FAMILIES, "and")
    if re.fullmatch(r"(CFG|PAT)[0-9]{3}", value):
        remedy = "correct what the finding names, and remove the waiver"
        return Mistake(path, codes.WAIVER_CODE, f"{full} is {value}: findings about files cannot be waived", remedy)
    found = re.fullmatch(r"([A-Za-z]+)[ _-]?([0-9]{1,3})", value)
    close = nearest(found[1], codes.FAMILIES) if found else None
    remedy = f"did you mean {close}{int(found[2]):03}?" if found and close else f"the families are {families}"
    return Mistake(path, codes.WAIVER_CODE, f"{full} is {quoted(value)}, not the code of a finding", remedy)
