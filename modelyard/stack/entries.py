"""Reads a project's files with lists of entries, such as the hardware file, with the care of a stack file."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from modelyard.findings import MOST_COUNTED, Finding, Severity
from modelyard.stack import codes
from modelyard.stack.mistakes import Mistake, of_mistake, of_problem, without_renamed
from modelyard.stack.schema import gate
from modelyard.stack.yaml.document import Document, parse
from modelyard.stack.yaml.source import TextProblem

EntryChecks = Callable[[Document], Iterable[Iterator[Mistake]]]


def parse_entries(
    content: bytes, shown: str, what: str, *, start: str, schema: str, checks: EntryChecks
) -> tuple[Document | None, list[Finding]]:
    """Returns the document of a file, None if it has an error, and all findings about it.

    Args:
        content: the bytes of the file.
        shown: its path in findings.
        what: the file in words: ``hardware file``.
        start: the keys with which it may start, in words.
        schema: its JSON Schema.
        checks: what the schema cannot check; assumes no shape, so that all errors are found at once.
    """
    document, problems = parse(content)
    findings = [of_problem(problem, shown) for problem in problems[: MOST_COUNTED + 1]]
    if document is not None and isinstance(document.value, dict):
        found = [mistake for check in checks(document) for mistake in islice(check, MOST_COUNTED + 1)]
        if not gate(schema).is_valid(document.value):
            from modelyard.stack.explain import mistakes_in

            found += mistakes_in(document.value, document.texts, schema)
        findings += [of_mistake(mistake, document, shown, nowhere=(1, 1)) for mistake in without_renamed(found)]
    elif document is not None:
        shape = f"the {what} is {'empty' if document.value is None else 'not a mapping'}"
        findings.append(of_problem(TextProblem(codes.SHAPE, shape, 1, 1, remedy=f"start with {start}"), shown))
    return None if any(finding.severity is Severity.ERROR for finding in findings) else document, findings


def entries(document: Document, section: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yields the mappings in a list with their indexes; assumes no shape."""
    items = document.value.get(section)
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            yield index, item
