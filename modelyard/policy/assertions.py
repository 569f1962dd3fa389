"""Rules without code: ``policies/assertions/*.yaml``, each an assertion about fields of objects.

A field is a path of an object, with ``[*]`` for every item of a list.
"""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from operator import ge, le
from typing import Any, NamedTuple

from modelyard import quantity
from modelyard.findings import MOST_COUNTED, Finding, Severity, first
from modelyard.kube.merge import ABSENT, Key, Path, Value
from modelyard.kube.merge.path import ROOT
from modelyard.patterns import regex
from modelyard.policy.rules import Params, Rule, unknown_kind
from modelyard.policy.shapes import ASSERTION_SCHEMA, misfits_of_file
from modelyard.policy.subject import Subject
from modelyard.stack.config import nearest_place
from modelyard.stack.words import did_you_mean, listed, plain
from modelyard.stack.yaml.document import Document, parse
from modelyard.untrusted import fullmatch, pattern_problem
from modelyard.workloads import FACTS, fact_at, instead_of

EVERY = Value("*")
"""The element of a path that stands for every item of a list and every value of a map."""
PODS = "pod."
"""Prefix of a field in every pod template of an object, wherever its kind keeps them."""


# The operators of assertions: a small set, each a pure function of a field's value and the assertion's value.
class AssertionOperator(NamedTuple):
    """One operator."""

    holds: Callable[[Any, Any], bool]
    """Whether a field with the first value satisfies the second."""
    without: bool
    """Whether a missing field satisfies it."""
    takes: str
    """The form of its value: ``flag``, ``scalar``, ``list``, ``pattern`` or ``quantity``."""
    meaning: str


def text(value: Any) -> str:
    """A scalar as YAML writes it, so that the number 1 and the text "1" are equal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _equal(value: Any, wanted: Any) -> bool:
    return text(value) == text(wanted) if _scalar(value) and _scalar(wanted) else bool(value == wanted)


def _scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _matches(value: Any, pattern: Any) -> bool:
    return _scalar(value) and fullmatch(pattern, text(value))


def _amount(value: Any) -> Any:
    """A quantity as a number, None if the value is no quantity."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return quantity.parse(value)
    except ValueError:
        return None


def _compared(fits: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda value, limit: (found := _amount(value)) is not None and fits(found, _amount(limit))


OPERATORS: dict[str, AssertionOperator] = {
    "exists": AssertionOperator(
        lambda value, wanted: (value is not ABSENT and value is not None) == wanted,
        False,
        "flag",
        "`true`: the field is there; `false`: it is not",
    ),
    "equals": AssertionOperator(
        _equal, False, "scalar", "it is this value; the number 1 and the text `1` are the same"
    ),
    "notEquals": AssertionOperator(
        lambda value, other: not _equal(value, other), True, "scalar", "it is not this value"
    ),
    "in": AssertionOperator(
        lambda value, wanted: any(_equal(value, one) for one in wanted), False, "list", "it is one of these values"
    ),
    "notIn": AssertionOperator(
        lambda value, others: not any(_equal(value, one) for one in others), True, "list", "it is none of these values"
    ),
    "matches": AssertionOperator(
        _matches,
        False,
        "pattern",
        "the whole of it matches this regular expression, which has no look-around and no back-references",
    ),
    "notMatches": AssertionOperator(
        lambda value, pattern: not _matches(value, pattern),
        True,
        "pattern",
        "the whole of it does not match this regular expression",
    ),
    "atLeast": AssertionOperator(
        _compared(ge), False, "quantity", "it is this Kubernetes quantity or more: `16Gi`, `500m`, `4`"
    ),
    "atMost": AssertionOperator(_compared(le), False, "quantity", "it is this Kubernetes quantity or less"),
}
"""The operators by name, in the order of the documentation."""


def fits(takes: str, value: Any) -> str:
    """Why an assertion's value does not fit its operator; empty if it fits."""
    match takes:
        case "flag":
            return "" if isinstance(value, bool) else "is not true or false"
        case "list":
            return "" if isinstance(value, list) and value and all(map(_scalar, value)) else "is not a list of values"
        case "pattern":
            return pattern_problem(value)
        case "quantity":
            return "" if _amount(value) is not None else "is not a Kubernetes quantity such as 16Gi, 500m or 4"
        case _:
            return "" if _scalar(value) else "is not one plain value"


PLACEHOLDERS = ("name", "kind", "field", "value")
"""The placeholders that a message may have in braces."""
_PLACEHOLDER = regex(r"\{([A-Za-z]*)\}")


class Condition(NamedTuple):
    """One entry of ``assert``."""

    path: Path
    in_pods: bool
    """Whether the path starts in each pod template."""
    operator: AssertionOperator
    value: Any
    optional: bool


class Assertion(NamedTuple):
    """The content of an assertion's file, beside what every rule has."""

    conditions: tuple[Condition, ...]
    when: Mapping[str, Any]
    message: str
    remedy: str

    def judge(self, subject: Subject, _: Params) -> Iterator[Finding]:
        """A finding for each place where a condition does not hold."""
        if not all(_fact_holds(subject, path, wanted) for path, wanted in self.when.items()):
            return
        for condition in self.conditions:
            for field, value in _places(subject, condition):
                if value is ABSENT:
                    # If only a part of an object is known, a field that is missing from it may still be set.
                    if condition.optional or not subject.whole or _absent_is_fine(condition):
                        continue
                elif condition.operator.holds(value, condition.value):
                    continue
                yield subject.finding(self._summary(subject, field, value), field=field, remedy=self.remedy)

    def _summary(self, subject: Subject, field: str, value: Any) -> str:
        # A reader of findings may not have the right to read the secret.
        shown = "[secret]" if subject.kind == "Secret" and isinstance(value, str) else _shown(value)
        values = {"name": subject.name, "kind": subject.kind, "field": field, "value": shown}
        return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), self.message)


def load_assertion(content: bytes, shown: str) -> tuple[Rule | None, tuple[Finding, ...]]:
    """The rule in an assertion's file, or what is wrong with the file."""
    document, problems = parse(content)
    found = first(_error(shown, one.message, one.remedy, one.line, one.column) for one in problems if not one.harmless)
    if document is None or found:
        return None, tuple(found)
    wrong: Iterable[_Wrong] = misfits_of_file(document.value, ASSERTION_SCHEMA)
    conditions: list[Condition] = []
    wrong = wrong or list(islice(_read(document.value, conditions), MOST_COUNTED + 1))
    if wrong:
        return None, tuple(first(_error(shown, what, remedy, *_place(document, path)) for path, what, remedy in wrong))
    value, match = document.value, document.value.get("match", {})
    assertion = Assertion(
        tuple(conditions), match.get("when", {}), _line(value["message"]), _line(value.get("remedy", ""))
    )
    return (
        Rule(
            code=value["code"],
            title=_line(value["title"]).rstrip("."),
            page=_page(value),
            level=value.get("level", "mandatory"),
            judge=assertion.judge,
            judge_all=None,
            kinds=frozenset(match.get("kinds", ())),
            roles=frozenset(match.get("roles", ())),
            file=shown,
            line=document.keys[("code",)][0],
        ),
        (),
    )


_Wrong = tuple[tuple[str | int, ...], str, str]
"""Path, what is wrong, what to do."""


def _read(value: Mapping[str, Any], made: list[Condition]) -> Iterator[_Wrong]:
    """Checks of the file that the schema cannot express; adds the conditions to ``made``."""
    for index, entry in enumerate(value["assert"]):
        where: tuple[str | int, ...] = ("assert", index)
        in_pods = entry["field"].startswith(PODS)
        try:
            path = field_path(entry["field"].removeprefix(PODS) if in_pods else entry["field"])
        except ValueError as error:
            summary = f"assert[{index}].field is not a path: {error}"
            yield (*where, "field"), summary, "write a path such as spec.replicas"
            continue
        operator = OPERATORS[entry["operator"]]
        problem = fits(operator.takes, entry["value"])
        if problem:
            summary = f"assert[{index}].value {problem}, which operator {entry['operator']!r} requires"
            yield (*where, "value"), summary, "correct the value, or use another operator"
            continue
        made.append(Condition(path, in_pods, operator, entry["value"], entry.get("optional", False)))
    for word in _PLACEHOLDER.findall(value["message"]):
        if word not in PLACEHOLDERS:
            known = listed([f"{{{one}}}" for one in PLACEHOLDERS], "and")
            remedy = did_you_mean(word, PLACEHOLDERS) or f"use one of {known}"
            yield ("message",), f"message has the unknown placeholder {{{plain(word)}}}", remedy
    kind, remedy = unknown_kind(value.get("match", {}).get("kinds", ()))
    if kind:
        yield ("match", "kinds"), f"match.kinds has the unknown kind {plain(kind)}", remedy
    if "when" in value.get("match", {}):
        for fact, values in value["match"]["when"].items():
            for one in values if isinstance(values, list) else [values]:
                if remedy := instead_of(fact, one):
                    what = f"match.when has {plain(fact)} {plain(repr(one))}, which no stack has"
                    yield ("match", "when", fact), what, remedy
            if fact not in FACTS:
                remedy = did_you_mean(fact, FACTS) or "see the facts in modelyard explain PAT012"
                yield ("match", "when", fact), f"match.when has the unknown fact {plain(fact)}", remedy


def _page(value: Mapping[str, Any]) -> str:
    example = value["example"].rstrip("\n")
    return (
        f"**Why.** {value['why'].strip()}\n\n**Example.**\n\n```yaml\n{example}\n```\n\n**Fix.** {value['fix'].strip()}"
    )


def _fact_holds(subject: Subject, path: str, wanted: Any) -> bool:
    try:
        value = fact_at(subject.facts, path)
    except KeyError:
        # Without a known stack file, an assertion about some stacks says nothing about this one.
        return False
    return value in (wanted if isinstance(wanted, list) else [wanted])


def _places(subject: Subject, condition: Condition) -> Iterator[tuple[str, Any]]:
    """The fields of the object that a condition is about, with their values."""
    if not condition.in_pods:
        yield from ((str(path), value) for path, value in values_at(subject.object, condition.path))
        return
    for template in subject.templates:
        pod = {"metadata": template.metadata, "spec": template.spec}
        yield from ((template.at(str(path)), value) for path, value in values_at(pod, condition.path))


def _absent_is_fine(condition: Condition) -> bool:
    return condition.operator.without or (condition.operator is OPERATORS["exists"] and condition.value is False)


def _shown(value: Any) -> str:
    if value is ABSENT or value is None:
        return "(none)"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return plain(text(value))


def _line(value: str) -> str:
    return " ".join(value.split())


def _place(document: Document, path: Iterable[str | int]) -> tuple[int, int]:
    """Line and column of the value, of its key, or of what is around it."""
    return nearest_place(ChainMap(document.keys, document.values), tuple(path), (1, 1))


def _error(file: str, summary: str, remedy: str, line: int = 0, column: int = 0) -> Finding:
    return Finding("POL004", Severity.ERROR, summary, file=file, line=line, column=column, remedy=remedy)


def field_path(text: str) -> Path:
    """The path of a field, in modelyard's usual notation, with ``[*]`` for every item.

    Raises:
        ValueError: what is wrong, with the column.
    """
    if not text or text.startswith("."):
        raise ValueError(f"{text!r}, column 1: expected a field name")
    return Path.parse(text.replace("[*]", '[="*"]'))


def values_at(value: Any, path: Path, at: Path = ROOT) -> Iterator[tuple[Path, Any]]:
    """Each place that a path leads to from ``at``, with its value; ABSENT if the object has nothing there.

    ``[*]`` of an empty or missing list leads nowhere: there is nothing to check.
    """
    if not path:
        yield at, value
        return
    element, left = path[0], Path(path[1:])
    if element == EVERY:
        for step, item in _items(value):
            yield from values_at(item, left, at / step)
        return
    found = _one(value, element)
    if found is not ABSENT:
        yield from values_at(found, left, at / element)
    elif EVERY not in left:
        # A later ``[*]`` stands for items that do not exist.
        yield Path((*at, *path)), ABSENT


def _one(value: Any, element: Any) -> Any:
    match element:
        case str():
            return value.get(element, ABSENT) if isinstance(value, Mapping) else ABSENT
        case int():
            return value[element] if isinstance(value, list | tuple) and element < len(value) else ABSENT
        case Key(fields):
            for item in value if isinstance(value, list | tuple) else ():
                if isinstance(item, Mapping) and all(item.get(name) == wanted for name, wanted in fields):
                    return item
            return ABSENT
        case _:
            return element.value if isinstance(value, list | tuple) and element.value in value else ABSENT


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    """Steps into a list or map: items by name if they have one, as merge keys would."""
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            name = item.get("name") if isinstance(item, Mapping) else None
            yield (Key((("name", name),)) if isinstance(name, str) else index), item
