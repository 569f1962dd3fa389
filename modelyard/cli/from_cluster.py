"""Writes the stack file of a platform that is in a cluster, and records the platform."""

import re
import sys
from argparse import Namespace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.common import reached
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.outputs import Undo, create, missing_folders
from modelyard.cli.printing import note
from modelyard.cli.signals import ended_by_signal
from modelyard.report.style import safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightkube import Client

    from modelyard.cluster.platform_objects import PlatformObjects
    from modelyard.kube.state import ClusterState
    from modelyard.plan import Plan
    from modelyard.plan.first_plan import Effect
    from modelyard.report.style import Style
    from modelyard.stack import Stack
    from modelyard.workloads.discovery import Discovery, OpenQuestion, PatchOff

SCHEMA = "stack.schema.json"
"""Name of the JSON Schema beside the stack files, if the project has one."""


def from_cluster(args: Namespace, root: Path, undo: Undo, name: str | None = None) -> list[str]:
    """Writes the stack file and the recorded platform, and returns what to print.

    Args:
        args: the verb's arguments.
        root: the project's folder.
        undo: receives what removes the files again.
        name: name of the stack; None: that of the context.
    """
    from modelyard.cluster.connection import connect, current_context
    from modelyard.cluster.platform_objects import platform_objects

    with ended_by_signal("init was stopped; it writes all files or none"), reached():
        client = connect(args.context, "--context")
        context = str(args.context or current_context())
        file = _new_file(root, name, context)
        note(f"reading the cluster of context {context} …")
        objects = platform_objects(client, args.namespace)
        if objects.unread:
            note(f"these credentials may not list {', '.join(objects.unread)}")
        found = _settled(objects, args)
        return _written(args, root, file, context=context, client=client, found=found, undo=undo)


def _new_file(root: Path, name: str | None, context: str) -> Path:
    """The path of the stack file, which does not exist yet."""
    from modelyard.stack.project import FILE_NAME, stack_folder

    # Clouds put the cluster's own name last: arn:aws:eks:eu-west-1:1234:cluster/prod.
    stack = name or re.sub(r"[^A-Za-z0-9_.-]+", "-", context.rpartition("/")[2]).strip("-.")
    if not FILE_NAME.fullmatch(f"Pulumi.{stack}.yaml"):
        raise Stop(
            Exit.USAGE, f"{stack!r} is not a name for a stack", "give --stacks a name of letters, digits, -, _ and ."
        )
    file = stack_folder(root) / f"Pulumi.{stack}.yaml"
    if file.exists():
        raise Stop(
            Exit.USAGE, f"{file.relative_to(root)} exists already", "give --stacks another name, or move the file away"
        )
    return file


def _settled(objects: "PlatformObjects", args: Namespace) -> "Discovery":
    """The platform, after the questions that only a person can answer."""
    from modelyard.cli.question import choice
    from modelyard.workloads.discovery import discover

    answers = {"namespace": args.namespace} if args.namespace else {}
    while True:
        found = discover(objects.objects, objects.nodes, objects.pods, answers)
        if not found.namespace:
            raise _no_platform(found, args.namespace)
        if args.yes or not found.questions:
            return found
        if not sys.stdin.isatty():
            raise _uncertain(found.questions)
        question = found.questions[0]
        chosen = choice(safe(question.words), [safe(option.words) for option in question.options])
        if chosen is None:
            raise _uncertain(found.questions)
        answers[question.about] = question.options[chosen].value


def _no_platform(found: "Discovery", namespace: str | None) -> Stop:
    where, remedy = "the cluster", "check --context"
    if namespace:
        where, remedy = f"namespace {namespace}", "leave out --namespace to look in all namespaces"
    elif found.other_namespaces:
        remedy = f"check --context (found only: {'; '.join(found.other_namespaces)})"
    summary = f"{where} has no training workers: no pods that run Ray or Celery workers were recognized"
    return Stop(Exit.USAGE, safe(summary), safe(f"{remedy}, or write the stack file by hand"))


def _uncertain(questions: "tuple[OpenQuestion, ...]") -> Stop:
    lines = [f"{one.words} {one.why[0].upper()}{one.why[1:]}." for one in questions]
    summary = "\n".join(map(safe, ("init has open questions; no file was written", *lines)))
    named = "name it with --namespace, " if any(one.about == "namespace" for one in questions) else ""
    remedy = f"{named}answer at a terminal, or give --yes to take the best guesses, marked in the file"
    return Stop(Exit.USAGE, summary, remedy)


def _written(
    args: Namespace, root: Path, file: Path, *, context: str, client: "Client", found: "Discovery", undo: Undo
) -> list[str]:
    """Plans the platform as it is, turns off what would change it, writes the stack file and records the platform."""
    from modelyard.cli.record import write_platform
    from modelyard.cli.streams import style_for
    from modelyard.cluster.live import snapshot, state_of
    from modelyard.cluster.recorded import forget_recorded, recorded_folder
    from modelyard.files import refuse_links
    from modelyard.plan.first_plan import first_plan
    from modelyard.plan.project import shown, wanted_objects
    from modelyard.stack.project import stack_of
    from modelyard.workloads.discovery import stack_text

    place, name = shown(root, file), stack_of(file.name)
    schema = SCHEMA if (file.parent / SCHEMA).is_file() else ""
    text_with = partial(stack_text, found, context=context, kubernetes=_kubernetes(client), schema=schema)
    everything = _loaded(root, text_with(), name, place)
    taken = snapshot(client, wanted_objects(root, everything))
    state, today = state_of(taken), date.today()
    off = [_off(one) for one in first_plan(root, everything, state, today)[1]]
    text = text_with(off=off)
    stack = _loaded(root, text, name, place)
    plan, _ = first_plan(root, stack, state, today)
    style = style_for(args, sys.stdout)
    before, after = _found(found, style), _next(plan, off, style)
    refuse_links(file, root)
    create(file, text, undo)
    # Last, because it may replace an earlier recorded platform, which it does as a whole or not at all.
    folder = recorded_folder(root, name)
    undo += [one.rmdir for one in missing_folders(folder)]
    undo += [] if folder.exists() else [partial(forget_recorded, root, name)]
    recorded = write_platform(root, stack, name, taken)
    return [*before, "", f"wrote {safe(place)}", recorded, "", *_others(state, stack), *after]


def _others(state: "ClusterState", stack: "Stack") -> "Iterator[str]":
    """The line about objects that another stack has patched."""
    from modelyard.plan.ownership import stacks_on
    from modelyard.stack.words import few

    if others := sorted(stacks_on(state) - {stack.full_name}):
        yield f"Stack {safe(few(others))} patches this platform already. Only one stack can patch an object (OWN015)."


def _kubernetes(client: "Client") -> str:
    """The minor version of the cluster if a stack file can have it, else an empty text."""
    from modelyard.cluster.live import server_version
    from modelyard.kube.merge.schema import supported_versions

    minor = ".".join(server_version(client).removeprefix("v").split(".")[:2])
    return minor if minor in supported_versions() else ""


def _loaded(root: Path, text: str, name: str, place: str) -> "Stack":
    from modelyard.stack import project_name
    from modelyard.stack.loader import load_text

    stack, findings = load_text(text, name, place)
    if stack is None:
        summary = "this version of modelyard cannot describe the platform; no file was written"
        raise Stop(Exit.FINDINGS, summary, "", findings)
    return stack._replace(project=project_name(root))


def _off(effect: "Effect") -> "PatchOff":
    """A patch with the lines that a plan would have about it."""
    from modelyard.report.fields import rows_of, rows_text
    from modelyard.report.style import PLAIN
    from modelyard.workloads.discovery import PatchOff

    lines = [f"{effect.patch} needs {one}, which cannot be patched." for one in effect.missing]
    lines += [f"{effect.patch} creates {one}." for one in effect.creates]
    for name, changes in effect.changes.items():
        lines += [f"{effect.patch} changes {name}:", *rows_text(rows_of(changes, one_container=True), 2, PLAIN)]
    return PatchOff(effect.patch, tuple(map(safe, lines)) or (f"{effect.patch} changes no value; it takes ownership.",))


def _found(found: "Discovery", style: "Style") -> list[str]:
    """What was found, and why it was recognized."""
    from modelyard.report.style import table

    why = {one.about: f"guess: {one.why}" for one in found.questions}
    rows = [
        *((role, one.place, why.get(role, ", ".join(one.evidence[:2]))) for role, one in found.roles.items()),
        ("training", found.training, why.get("training", found.training_evidence)),
        ("GPU", found.gpu, why.get("gpu", found.gpu_nodes)),
    ]
    titles = ("PART", f"IN NAMESPACE {found.namespace}", "WHY")
    return table((map(str, row) for row in rows), titles, style)


def _next(plan: "Plan", off: "Sequence[PatchOff]", style: "Style") -> list[str]:
    """What is wrong with the platform today, what the patches would change, and what to do."""
    from modelyard.report.finding import findings_text, tally
    from modelyard.report.style import hanging
    from modelyard.stack.words import plural

    errors = [one for one in plan.findings if one.blocks]
    lines = (
        [
            f"The platform breaks {plural(len(errors), 'rule')} today:",
            *findings_text(errors, style),
            "Before the first apply, correct these values and turn on the patches that set them, or add waivers.",
            "",
        ]
        if errors
        else []
    )
    if others := [one for one in plan.findings if not one.blocks]:
        lines += [f"{'Also' if errors else 'Found'}: {tally(others)} (modelyard check {safe(plan.stack)} --notes)", ""]
    if plan.acts:
        lines.append(f"The first plan changes something: modelyard plan {safe(plan.stack)} shows it")
    else:
        lines.append("The first plan changes nothing.")
    if off:
        number = plural(len(off), "patch is", "patches are")
        lines += hanging(f"{number} off: {', '.join(one.name for one in off)}", 2, style.columns)
        lines += hanging(
            f"Turn one on in {plan.file}, where a comment shows what it changes, and run:", 2, style.columns
        )
        lines.append(f"  modelyard plan {safe(plan.stack)}")
    return lines
