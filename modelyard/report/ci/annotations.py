"""Findings as annotations of GitHub Actions: commands in the log that GitHub shows on the lines of the change.

GitHub shows ten annotations per kind and step and drops the others. So the last of them says how many more there
are, and those follow as plain text.
"""

import re
from collections.abc import Iterator

from modelyard.findings import Finding, Severity
from modelyard.report.ci.checked import Checked, sentences
from modelyard.report.finding import ShownFinding, findings_text, gathered
from modelyard.report.style import safe
from modelyard.report.values import NAMES
from modelyard.stack.words import few, plural

MOST = 10
"""Annotations of one kind that GitHub shows per step."""
MOST_ROWS = 200
"""Rows of the summary's table. A step's summary may have 1 MiB, far more than is readable."""

_KINDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "notice"}
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~#@&])")


def document(checked: Checked) -> str:
    """The annotations, one per line."""
    return "".join(f"{line}\n" for line in annotations_text(checked))


def annotations_text(checked: Checked) -> list[str]:
    """The lines for the log: commands, findings without room, and a last line with the count."""
    counted = checked.counted
    checked = _gathered(checked)
    lines: list[str] = []
    rest: list[Finding] = []
    for severity, kind in _KINDS.items():
        found = [finding for finding in checked.findings if _kind(finding) == kind]
        room = len(found) if len(found) <= MOST else MOST - 1
        lines += [_command(finding, kind, checked) for finding in found[:room]]
        if found[room:]:
            rest += found[room:]
            more = f"{plural(len(found) - room, f'more {severity.word}')}: see the log, or the summary of the run"
            lines.append(f"::{kind} title=modelyard check::{_data(more)}")
    lines += findings_text(rest)
    return [*lines, counted]


def _gathered(checked: Checked) -> Checked:
    """The run with findings grouped as text groups them, because room is short."""
    return checked._replace(findings=tuple(_alone(one) for one in gathered(checked.findings)))


def _alone(shown: ShownFinding) -> Finding:
    """One finding that replaces several."""
    names = "; ".join(name for name, _ in shown.fields)
    summary = f"{shown.finding.summary}: {names}" if names else shown.finding.summary
    stacks = few(shown.stacks, NAMES) if shown.stacks else shown.finding.stack
    return shown.finding._replace(summary=summary, stack=stacks)


def _kind(finding: Finding) -> str:
    return "notice" if finding.waived else _KINDS[finding.severity]


def _command(finding: Finding, kind: str, checked: Checked) -> str:
    place = checked.place(finding)
    title = " ".join(filter(None, (finding.code, finding.stack, finding.target)))
    properties = {"file": place.file, "line": str(place.line), "col": str(place.column or ""), "title": title}
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value)
    shown = [*sentences(finding), f"Waived: {finding.waived}" if finding.waived else ""]
    return f"::{kind} {written}::" + "%0A".join(_data(sentence) for sentence in shown if sentence)


def _data(text: str) -> str:
    """Text as the message of a command. It is already one line; only the escape character is left to escape."""
    return safe(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary_markdown(checked: Checked) -> list[str]:
    """The findings as Markdown for the page of a run: a count and a table."""
    return ["### modelyard check", "", f"{checked.counted}.", "", *_table(_gathered(checked))]


def _table(checked: Checked) -> Iterator[str]:
    if not checked.findings:
        return
    yield "| | code | what is wrong | where |"
    yield "|---|---|---|---|"
    for finding in checked.findings[:MOST_ROWS]:
        place = checked.place(finding)
        word = "waived" if finding.waived else finding.severity.word
        what = "<br>".join(_cell(sentence) for sentence in sentences(finding))
        where = f"{_cell(place.file)}:{place.line}" + (f"<br>{_cell(finding.target)}" if finding.target else "")
        yield f"| {word} | {_cell(finding.code)} | {what} | {where} |"
    if len(checked.findings) > MOST_ROWS:
        yield ""
        yield f"{plural(len(checked.findings) - MOST_ROWS, 'more finding')}: see the log."


def _cell(text: str) -> str:
    """Text with Markdown characters escaped."""
    return _MARKDOWN.sub(r"\\\1", safe(text))
