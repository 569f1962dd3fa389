"""Expressions of GitHub Actions, such as ``${{ !cancelled() && needs.a.outputs.b == 'c' }}``: what the examples use."""

import re
from collections.abc import Callable, Mapping
from typing import Any

_TOKEN = re.compile(r"\s*(?:(&&|\|\||==|!=|[!(),])|'((?:[^']|'')*)'|(-?\d+(?:\.\d+)?)|([A-Za-z_][\w.*-]*))")
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_STATUS = re.compile(r"\b(always|cancelled|failure|success)\(")
Functions = Mapping[str, Callable[..., Any]]
_FUNCTIONS: Functions = {
    "contains": lambda values, value: any(_same(one, value) for one in values),
    "join": lambda values, separator: separator.join(map(_text, values)),
}


def interpolated(text: str, values: Mapping[str, Any], functions: Functions) -> str:
    """A text with its expressions replaced by what they come to."""
    return _EXPRESSION.sub(lambda found: _text(evaluate(found[1], values, functions)), text)


def holds(condition: Any, values: Mapping[str, Any], functions: Functions) -> bool:
    """Whether a step or job runs. A condition that asks for no status holds only after success."""
    text = str(condition).strip() if condition is not None else "success()"
    text = text.removeprefix("${{").removesuffix("}}") if text.startswith("${{") else text
    return bool(functions["success"]() or _STATUS.search(text)) and _true(evaluate(text, values, functions))


def evaluate(text: str, values: Mapping[str, Any], functions: Functions) -> Any:
    """What an expression comes to."""
    return _Reader(text, values, functions).whole()


def _true(value: Any) -> bool:
    return value not in (None, "", 0, False)


def _text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _number(value: Any) -> float:
    try:
        return float(value or 0)
    except ValueError:
        return float("nan")


def _same(one: Any, other: Any) -> bool:
    """Equality of values of different types is that of numbers, and letter case does not count."""
    if isinstance(one, str) and isinstance(other, str):
        return one.casefold() == other.casefold()
    return one == other if type(one) is type(other) else _number(one) == _number(other)


class _Reader:
    def __init__(self, text: str, values: Mapping[str, Any], functions: Functions) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.values, self.functions = values, functions
        place = 0
        while text[place:].strip():
            found = _TOKEN.match(text, place)
            assert found is not None, f"not understood: {text[place:]!r}"
            kinds = ("mark", "text", "number", "name")
            self.tokens.append(
                next((kind, part) for kind, part in zip(kinds, found.groups(), strict=True) if part is not None)
            )
            place = found.end()

    def whole(self) -> Any:
        value = self.either()
        assert self.tokens == [], f"left over: {self.tokens}"
        return value

    def taken(self, *marks: str) -> str | None:
        if self.tokens and self.tokens[0][0] == "mark" and self.tokens[0][1] in marks:
            return self.tokens.pop(0)[1]
        return None

    def either(self) -> Any:
        value = self.both()
        while self.taken("||"):
            other = self.both()
            value = value if _true(value) else other
        return value

    def both(self) -> Any:
        value = self.compared()
        while self.taken("&&"):
            other = self.compared()
            value = other if _true(value) else value
        return value

    def compared(self) -> Any:
        value = self.single()
        while mark := self.taken("==", "!="):
            value = _same(value, self.single()) is (mark == "==")
        return value

    def single(self) -> Any:
        if self.taken("!"):
            return not _true(self.single())
        if self.taken("("):
            value = self.either()
            assert self.taken(")")
            return value
        kind, text = self.tokens.pop(0)
        match kind:
            case "text":
                return text.replace("''", "'")
            case "number":
                return float(text)
            case _:
                return self.called(text) if self.taken("(") else self.named(text)

    def called(self, name: str) -> Any:
        arguments = []
        while not self.taken(")"):
            arguments.append(self.either())
            self.taken(",")
        return {**_FUNCTIONS, **self.functions}[name](*arguments)

    def named(self, name: str) -> Any:
        if name in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[name]
        value: Any = self.values
        first, *rest = name.split(".")
        assert first in value, f"there is no context {first}"
        value = value[first]
        for part in rest:
            if part == "*":
                value = list(value.values())
            elif isinstance(value, list):
                value = [one.get(part) for one in value]
            else:
                value = value.get(part) if isinstance(value, Mapping) else None
        return value
