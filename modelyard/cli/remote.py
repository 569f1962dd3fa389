"""Show where remote resources run: on rented machines, with region and price, or in a remote cluster."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.common import chosen_stack, project_root, stack_and_name
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import json_option, renamed_option, stack_argument
from modelyard.cli.printing import say, say_errors, say_json
from modelyard.cli.streams import style_for
from modelyard.report.style import safe, wrapped

if TYPE_CHECKING:
    from modelyard.stack import Stack
    from modelyard.stack.jobs import Resource
    from modelyard.workloads.remote import Own


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this resource, or the resource of this job")
    renamed_option(
        parser,
        "--out-dir",
        "--write",
        metavar="DIR",
        help="also write the files that each job needs, into DIR/STACK/JOB",
    )
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Resolves, prints and writes."""
    from modelyard.findings import ordered
    from modelyard.hardware.instances import provider_of
    from modelyard.report.remote import RemoteResource, remote_document, remote_text
    from modelyard.stack import waive
    from modelyard.stack.config import about_entries
    from modelyard.workloads.remote import check_remote, offers
    from modelyard.workloads.sizing import check_jobs, sized

    root = project_root(args)
    named, name = stack_and_name(root, args.stack, args.name)
    stack = chosen_stack(root, named)
    own = _own_prices(root, stack)
    chosen = _named(stack, name)
    # A plan reports findings about the waivers themselves, because it knows all findings.
    everything = sized(stack.config)
    of_jobs = about_entries(check_jobs(stack, everything), _remote_entries(stack))
    judged, _ = waive((*check_remote(stack, own, everything), *of_jobs), stack, date.today())
    wrong = ordered(finding for finding in judged if finding.blocks)
    made = []
    for one in chosen:
        provider = provider_of(stack.config, one)
        # Those of another type too: an error says that they cannot be launched.
        jobs = [job for job in stack.config.jobs if job.resource == one.name]
        launcher = provider.launched_by if provider is not None else ""
        codes = tuple(sorted({finding.code for finding in about_entries(wrong, stack.config.entries(one, *jobs))}))
        names = tuple(job.name for job in jobs)
        made.append(RemoteResource(one, names, offers(stack.config, one, own), launcher, codes))
    if args.out_dir is not None:
        from modelyard.cli.outputs import refuse_own_folders

        refuse_own_folders(root, Path(args.out_dir), [stack.name])
        if wrong:
            sys.stderr.write("nothing was written: correct the errors first\n")
        else:
            from modelyard.stack.words import plural

            written = _write(stack, chosen, own, Path(args.out_dir))
            sys.stderr.write(f"{plural(written, 'file')} written to {safe(str(args.out_dir))}\n")
    if args.json:
        say_json(remote_document(stack.name, stack.file, made))
    elif not made:
        words = f"{stack.name} has no remote resources; set remote in a resource of modelyard:resources"
        say(wrapped(words, 0, style_for(args, sys.stdout).columns))
    else:
        say(remote_text(stack.name, made, style_for(args, sys.stdout)))
    say_errors(wrong, args)
    return Exit.FINDINGS if wrong else Exit.FINE


def _own_prices(root: Path, stack: "Stack") -> "Own":
    """The prices of whole machines in the stack's price file."""
    from modelyard.plan.cost.prices import NO_GPU
    from modelyard.plan.cost.project import prices_of

    prices, findings = prices_of(root, stack)
    if prices is None:
        raise Stop(Exit.USAGE, f"the price file of {stack.name} cannot be read", "", findings)
    return {
        (kind, region): (price.usd, price.date, price.source)
        for (kind, region, gpu), price in prices.machines.items()
        if gpu != NO_GPU
    }


def _remote_entries(stack: "Stack") -> frozenset[str]:
    """The remote resources and their jobs in the stack file, with jobs whose resource is not defined."""
    home = {None, *(one.name for one in stack.config.resources if one.remote is None)}
    jobs = (job for job in stack.config.jobs if job.resource not in home)
    return stack.config.entries(*jobs, *(one for one in stack.config.resources if one.name not in home))


def _named(stack: "Stack", name: str | None) -> "Sequence[Resource]":
    """All remote resources, or the one that a name or a job selects."""
    from modelyard.stack.names import instead

    remote = [one for one in stack.config.resources if one.remote is not None]
    if name is None:
        return remote
    of_job = {job.name: job.resource for job in stack.config.jobs}
    found = [one for one in remote if one.name in (name, of_job.get(name))]
    if not found:
        resources = [one.name for one in stack.config.resources]
        if (on := of_job.get(name)) is not None and on not in resources:
            raise Stop(
                Exit.USAGE, f"job {name} uses resource {on}, which is not defined", instead(on, resources, "resources")
            )
        known = {
            *(one.name for one in remote),
            *(job for job, on in of_job.items() if on in {one.name for one in remote}),
        }
        remedy = instead(name, known, "remote resources")
        raise Stop(Exit.USAGE, f"{name!r} is neither a remote resource nor a job on one", remedy)
    return found


def _write(stack: "Stack", chosen: "Sequence[Resource]", own: "Own", folder: Path) -> int:
    """Writes the files of every launch; returns their number.

    Each job has its own folder in the stack's folder, and folders of other jobs are left alone: the files that launched
    a running machine also end it.
    """
    from modelyard.cli.folder import replace_generated
    from modelyard.workloads.remote.cluster import cluster_files
    from modelyard.workloads.remote.copies import copy_jobs
    from modelyard.workloads.remote.launch import launch_files, launches

    by_job: dict[str, dict[str, str]] = {}
    for one in chosen:
        files: dict[str, str] = {}
        if one.remote is not None and one.remote.cluster is not None:
            files |= cluster_files(stack.config, one)
        for launch in launches(stack, one, own):
            files |= launch_files(launch)
        mine: dict[str, dict[str, str]] = {}
        for name, text in files.items():
            job, _, file = name.partition("/")
            mine.setdefault(job, {})[file] = text
        by_job |= {job: made | copy_jobs(stack, one, job, made) for job, made in mine.items()}
    return replace_generated(folder, ((f"{stack.name}/{job}", made) for job, made in by_job.items())).written
