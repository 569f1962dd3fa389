"""Split stacks into waves, canaries first, and write the pipeline that applies and verifies them in this order.

By default, it splits all stacks of the project. --max-failures applies to each wave separately, but a wave always fails
if a canary or all of its stacks fail. For --query, the pipeline needs the address of the Prometheus server in its
variable PROMETHEUS_URL.
"""

import os
import re
import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.common import matching, near_label, near_stack, project_root, stack_files
from modelyard.cli.exit import Exit, Stop, ended_by
from modelyard.cli.options import change_and_label_options, chosen_format
from modelyard.cli.streams import style_for
from modelyard.cli.verify import gate_options
from modelyard.hiding import hidden_text
from modelyard.stack import durations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from modelyard.plan.waves import Gate, Wave
    from modelyard.report.waves import ProjectSource

FORMATS = ("text", "json", "github", "gitlab", "operator")
_ORGANIZATION = "organization"
_REPOSITORY = re.compile(r"(https?|ssh)://[^\s/]+/\S+|[^\s/:@]+@[^\s/:]+:\S+")


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    change_and_label_options(parser)
    parser.add_argument(
        "--canary",
        action="append",
        default=[],
        metavar="STACK|KEY=VALUE",
        help="a stack, or the stacks with a label, for the first wave (repeatable)",
    )
    split = parser.add_mutually_exclusive_group()
    split.add_argument(
        "--by",
        metavar="KEY",
        help="a wave for each value of this label, in alphabetical order; stacks without it come last",
    )
    split.add_argument(
        "--percent",
        type=percentages,
        default=(),
        metavar="P,P,100",
        help="cumulative percentages of the stacks that are not canaries, one wave for each, such as 10,50,100",
    )
    gate_options(parser)
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="text (default), json, github (a workflow), gitlab (a child pipeline), operator (objects of the Pulumi "
        "Kubernetes Operator)",
    )
    parser.add_argument("--json", action="store_true", help="short for --format json")
    parser.add_argument(
        "--repo-url", metavar="URL", help="for operator: URL of the git repository (default: in CI the repository's)"
    )
    parser.add_argument(
        "--organization",
        type=_organization,
        default=_ORGANIZATION,
        metavar="NAME",
        help="for operator: organization in Pulumi Cloud (default: organization, the name that "
        "self-managed backends use)",
    )
    parser.add_argument("--out", metavar="FILE", help="write to this file; replaces an existing one")


def _organization(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", text):
        raise ArgumentTypeError(f"{text!r} is not the name of an organization; use letters, digits, -, _ and .")
    return text


def percentages(text: str) -> tuple[int, ...]:
    """Shares such as ``10,50,100``."""
    words = text.split(",")
    shares = tuple(int(word) for word in words if word.isdecimal())
    if len(shares) != len(words) or list(shares) != sorted(set(shares)) or shares[0] < 1 or shares[-1] != 100:
        raise ArgumentTypeError(f"{text!r} is not a list of rising shares that ends with 100, such as 10,50,100")
    return shares


def run(args: Namespace) -> Exit:
    """Splits and prints, or writes the file."""
    from modelyard.plan.waves import Gate, waves

    root = project_root(args)
    every = stack_files(root, [], True)
    files = matching(root, every, args.changed_since, args.label)
    labels = _labels(root, every)
    if args.by is not None and files:
        _check_label(args.by, {name: labels[name] for name in files})
    canaries = _canaries(args.canary, labels)
    found = waves(tuple(files), labels, canaries=canaries, by=args.by, percent=args.percent)
    if canaries and not canaries & files.keys():
        sys.stderr.write("no canary: none of the canary stacks is among the chosen stacks\n")
    gate = Gate(tuple(args.query), args.timeout, args.bake, args.max_failures)
    text = _text(root, args, found, gate)
    if args.out is None:
        sys.stdout.write(text)
        return Exit.FINE
    from modelyard.cli.outputs import refuse_own_files
    from modelyard.files import write_output

    refuse_own_files(root, [Path(args.out)])
    write_output(Path(args.out), text, root)
    sys.stderr.write(f"written to {args.out}\n")
    return Exit.FINE


def _labels(root: Path, files: Mapping[str, Path]) -> dict[str, Mapping[str, str]]:
    """The labels of each stack; ends the run if a stack file has errors."""
    from modelyard.findings import loud
    from modelyard.plan.project import load_stack

    labels = {}
    for name, path in files.items():
        stack, findings = load_stack(root, path)
        if stack is None:
            raise Stop(Exit.USAGE, f"{name} cannot be read", "", loud(findings))
        labels[name] = stack.config.labels
    return labels


def _check_label(key: str, labels: Mapping[str, Mapping[str, str]]) -> None:
    """Ends the run if none of these stacks has a label: then all would be in one wave."""
    from modelyard.stack.words import did_you_mean

    known = sorted({name for own in labels.values() for name in own})
    if key not in known:
        remedy = did_you_mean(key, known) or "add it to modelyard:labels of a stack"
        raise Stop(Exit.USAGE, f"none of the chosen stacks has the label {key}", remedy)


def _canaries(wanted: "Sequence[str]", labels: Mapping[str, Mapping[str, str]]) -> set[str]:
    canaries: set[str] = set()
    for word in wanted:
        key, equals, value = word.partition("=")
        named = {name for name, own in labels.items() if own.get(key) == value} if equals else {word} & labels.keys()
        if not named and equals:
            remedy = near_label(key, value, labels.values())
            raise Stop(Exit.USAGE, f"no stack has the label {word} (--canary)", remedy)
        if not named:
            raise Stop(Exit.USAGE, f"unknown stack {word!r} (--canary)", near_stack(word, labels))
        canaries |= named
    return canaries


def _text(root: Path, args: Namespace, found: "Sequence[Wave]", gate: "Gate") -> str:
    from modelyard.plan.waves import too_large
    from modelyard.report import waves as report
    from modelyard.report.style import PLAIN

    form = chosen_format(args) or "text"
    if (most := report.MATRIX.get(form)) and (large := too_large(found, most)):
        remedy = "make smaller waves: --percent" + " instead of --by" * (args.by is not None)
        raise Stop(Exit.USAGE, f"{large}; {form} starts at most {most} jobs at a time", remedy)
    command = shlex.join(("modelyard", "waves", *_words(args)))
    match form:
        case "github":
            if not found:
                raise Stop(Exit.USAGE, "no stacks match, and a workflow needs a job", "choose other stacks")
            if any("${{" in query for query in args.query):
                raise Stop(Exit.USAGE, "a query has ${{, which GitHub would replace", "write the query without it")
            return report.github(found, gate, command)
        case "gitlab":
            return report.gitlab(found, gate, command)
        case "operator":
            return report.operator(found, _source(root, args), command)
        case "json":
            from modelyard.report.json import json_text

            return json_text(report.waves_document(found, gate)) + "\n"
        case _:
            style = style_for(args, sys.stdout) if args.out is None else PLAIN
            return "\n".join(report.waves_text(found, gate, style)) + "\n"


def _words(args: Namespace) -> Iterator[str]:
    """The options of the command line that a pipeline depends on."""
    from modelyard.plan.waves import TIMEOUT

    if args.changed_since:
        yield from ("--changed-since", args.changed_since)
    for key, value in args.label:
        yield from ("--label", f"{key}={value}")
    for one in args.canary:
        yield from ("--canary", one)
    if args.by:
        yield from ("--by", args.by)
    if args.percent:
        yield from ("--percent", ",".join(map(str, args.percent)))
    for query in args.query:
        yield from ("--query", query)
    if args.timeout != TIMEOUT:
        yield from ("--timeout", durations.text(args.timeout))
    if args.bake:
        yield from ("--bake", durations.text(args.bake))
    if args.max_failures:
        yield from ("--max-failures", str(args.max_failures))
    yield from ("--format", str(args.format))
    if args.format != "operator":
        return
    if args.repo_url is not None:
        yield from ("--repo-url", args.repo_url)
    if args.organization != _ORGANIZATION:
        yield from ("--organization", args.organization)


def _source(root: Path, args: Namespace) -> "ProjectSource":
    from modelyard.plan.waves import TIMEOUT
    from modelyard.preview.git import RevisionError
    from modelyard.preview.revisions import commit_of, prefix_of
    from modelyard.report.code_host import repository_url
    from modelyard.report.waves import ProjectSource
    from modelyard.stack import project_name

    if args.query or args.timeout != TIMEOUT or args.bake or args.max_failures:
        raise Stop(
            Exit.USAGE,
            "the operator cannot verify stacks between waves: a wave starts when the earlier applies have succeeded",
            "drop --query, --timeout, --bake and --max-failures, or choose --format github or gitlab",
        )
    url = repository_url(os.environ) if args.repo_url is None else args.repo_url
    if not url:
        raise Stop(Exit.USAGE, "the operator needs the URL of the git repository", "give --repo-url URL")
    if args.repo_url is not None and not _REPOSITORY.fullmatch(url):
        words = f"--repo-url {hidden_text(url)!r} is not the address of a git repository"
        raise Stop(Exit.USAGE, words, "begin it with https:// or ssh://, or write git@HOST:PATH")
    with ended_by(Exit.USAGE, RevisionError):
        return ProjectSource(project_name(root), url, commit_of(root, "HEAD"), prefix_of(root), args.organization)
