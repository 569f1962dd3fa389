"""Annotations of GitHub Actions: read back as GitHub's runner reads them."""

import re
from typing import Any

import pytest

from modelyard.findings import Finding, Severity
from modelyard.report.ci.annotations import MOST, annotations_text, summary_markdown
from modelyard.report.ci.checked import Checked

ERROR = Finding(
    "GPU001",
    Severity.ERROR,
    "L4 is not supported",
    stack="prod",
    remedy="choose A10",
    file="s/p.yaml",
    line=10,
    column=5,
)
STACKS = {"prod": "s/p.yaml"}
COMMAND = re.compile(r"^::(?P<kind>\w+)(?: (?P<properties>.*?))?::(?P<message>.*)$")


def lines(*findings: Finding, folder: str = "") -> list[str]:
    return annotations_text(Checked(findings, STACKS, folder=folder))


def command(line: str) -> tuple[str, dict[str, str], str]:
    """A command as the runner takes it apart: properties end at the first ``::``, escapes are undone last."""
    found = COMMAND.match(line)
    assert found is not None, line
    properties = dict(part.split("=", 1) for part in (found["properties"] or "").split(",") if part)
    undone = {key: plain(value).replace("%3A", ":").replace("%2C", ",") for key, value in properties.items()}
    return found["kind"], undone, plain(found["message"])


def plain(text: str) -> str:
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def test_an_error_stands_on_its_line_with_what_to_do() -> None:
    kind, properties, message = command(lines(ERROR)[0])
    assert kind == "error"
    assert properties == {"file": "s/p.yaml", "line": "10", "col": "5", "title": "GPU001 prod"}
    assert re.fullmatch(r"L4 is .*\.\n.*: choose A10\.", message)


def test_files_are_named_from_the_root_of_the_repository() -> None:
    assert command(lines(ERROR, folder="infra")[0])[1]["file"] == "infra/s/p.yaml"


def test_kinds_are_those_of_github_and_the_gravest_come_first() -> None:
    made = lines(
        ERROR._replace(severity=Severity.ADVICE),
        ERROR._replace(severity=Severity.WARNING),
        ERROR,
        ERROR._replace(waived="x"),
    )
    assert [command(line)[0] for line in made[:-1]] == ["error", "warning", "notice", "notice"]


@pytest.mark.parametrize("text", ["50% of a:b, c", "100%0A", "A\nb\r\nc", "::error::no", "x::y"])
def test_every_text_is_one_command_and_comes_back(text: str) -> None:
    first, last = lines(ERROR._replace(summary=text, detail="", remedy="", file=text, stack=""))
    kind, properties, message = command(first)
    assert kind == "error"
    assert properties.keys() == {"file", "line", "col", "title"}
    assert "\n" not in first
    assert message.split() == [*f"{text}.".replace("::error", "\\x3a:error").split()]
    assert last == lines(ERROR)[-1]


def test_annotations_beyond_the_limit_of_github_are_counted() -> None:
    many = [ERROR._replace(line=number) for number in range(1, MOST + 6)]
    assert [command(line)[1]["line"] for line in lines(*many[:MOST])[:-1]] == [str(one.line) for one in many[:MOST]]
    made = lines(*many, ERROR._replace(severity=Severity.WARNING))
    commands = [command(line) for line in made if line.startswith("::")]
    errors = [one for one in commands if one[0] == "error"]
    assert len(errors) == MOST
    assert errors[-1][2].startswith("6 more errors")
    assert [one[0] for one in commands[MOST:]] == ["warning"]
    assert sum("  error   GPU001" in line for line in made) == 6


def test_many_fields_of_one_owner_are_one_annotation_on_the_line_of_the_first() -> None:
    fields = ("spec.replicas", "spec.paused")
    many = [
        Finding("OWN002", Severity.ERROR, f"keda keeps writing {name}", "prod", "worker", name, file="t", line=line)
        for line, name in enumerate(fields, 4)
    ]
    first, last = lines(*many)
    _, properties, message = command(first)
    assert (properties["file"], properties["line"]) == ("t", "4")
    assert "2 fields" in message
    assert last == lines(ERROR)[-1]


def test_the_summary_counts_and_lists_findings(golden: Any) -> None:
    made = summary_markdown(Checked((ERROR,), STACKS, folder="infra"))
    golden(*made, "", *summary_markdown(Checked((), STACKS)))


def test_user_text_is_escaped_as_markdown() -> None:
    row = summary_markdown(Checked((ERROR._replace(summary="a|b <img> [x](y) `c` @all #1", remedy=""),), STACKS))[-1]
    assert row.count(" | ") == 3
    for raw in ("a|b", "<img>", "[x]", "`c`"):
        assert raw not in row


def test_a_long_list_ends_with_the_number_of_further_findings() -> None:
    many = tuple(ERROR._replace(line=number) for number in range(1, 302))
    made = summary_markdown(Checked(many, STACKS))
    assert made[-1].startswith("101 more findings")
    assert len("\n".join(made)) < 1024 * 1024
