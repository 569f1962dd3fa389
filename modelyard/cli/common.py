"""Shared by several verbs: find the project and its stacks, and plan them."""

import os
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modelyard.cli.exit import Exit, Stop
from modelyard.findings import Finding, loud

if TYPE_CHECKING:
    # A verb that only shows its help, or completes a word, plans nothing.
    from modelyard.plan.project import Planned
    from modelyard.plan.values import Plan
    from modelyard.stack import Stack

STACK = "MODELYARD_STACK"
"""Environment variable that names the stack where the command line names none."""
DEFAULT_STACK = f"default: ${STACK}, or the project's only stack"


def stack_options(parser: ArgumentParser, *, many: bool = True) -> None:
    """Adds the options that choose stacks and their starting state."""
    if many:
        stacks_argument(parser)
    else:
        stack_argument(parser)
    parser.add_argument(
        "--live", action="store_true", help="use the cluster of the stack's context, not the recorded platform"
    )
    verbose_option(parser)


def stacks_argument(parser: ArgumentParser) -> None:
    """Adds the arguments that choose one or more stacks."""
    parser.add_argument("stacks", nargs="*", metavar="STACK", help=f"names of stacks, such as dev; {DEFAULT_STACK}")
    parser.add_argument("--all", action="store_true", help="every stack of the project")


def stack_argument(parser: ArgumentParser) -> None:
    """Adds the argument that names a stack."""
    parser.add_argument("stack", nargs="?", metavar="STACK", help=f"name of a stack, such as dev; {DEFAULT_STACK}")


def verbose_option(parser: ArgumentParser) -> None:
    """Adds the option that shows what reading a cluster took."""
    parser.add_argument(
        "--verbose", action="store_true", help="report on standard error how many requests were sent to the cluster"
    )


def renamed_option(parser: ArgumentParser, name: str, before: str, **settings: Any) -> None:
    """Adds an option, which its earlier name still sets; the help shows the new one only."""
    action = parser.add_argument(name, **settings)
    parser.add_argument(before, **{**settings, "dest": action.dest, "help": SUPPRESS})


def json_option(parser: ArgumentParser) -> None:
    """Adds the option for machine-readable output."""
    parser.add_argument("--json", action="store_true", help="print JSON (its schema: modelyard schema)")


def project_root(args: Namespace) -> Path:
    """The nearest folder upward that holds Pulumi.yaml; ends the run if that file is invalid."""
    from modelyard.stack import check_project, find_project

    start = Path(args.directory or ".")
    if not start.is_dir():
        raise Stop(Exit.USAGE, f"{start} is not a folder", "give -C the folder of a project")
    root = find_project(start.resolve())
    if root is None:
        raise Stop(
            Exit.USAGE,
            f"no Pulumi.yaml in {start.resolve()} or above it",
            "run inside a project, or name its folder with -C DIR",
        )
    wrong = check_project(root)
    if wrong:
        raise Stop(Exit.USAGE, f"the project in {root} cannot be used", "", wrong)
    return root


def stack_files(root: Path, names: Sequence[str], everything: bool) -> dict[str, Path]:
    """The requested stack files, by stack name, sorted."""
    from modelyard.stack import discover, misnamed

    known = {found.name: found.path for found in discover(root)}
    if everything and names:
        raise Stop(Exit.USAGE, "both --all and names of stacks were given", "give one of them")
    if everything:
        if not known:
            raise Stop(Exit.USAGE, "the project has no stack files", "add stacks/Pulumi.<name>.yaml")
        # Do not silently skip a misnamed stack file.
        return dict(sorted({**{found.name: found.path for found in misnamed(root)}, **known}.items()))
    names = names or [_named(sorted(known), None, more=", or give --all")]
    missing = [name for name in names if name not in known]
    if missing:
        raise Stop(Exit.USAGE, f"unknown stack {', '.join(map(repr, missing))}", near_stack(missing[0], known))
    return {name: known[name] for name in dict.fromkeys(names)}


def stack_name(root: Path, named: str | None) -> str:
    """The name of the stack that the command line names, or of the default one; there may be none of that name."""
    from modelyard.stack import discover

    return _named(sorted(found.name for found in discover(root)), named)


def _named(known: Sequence[str], named: str | None, *, more: str = "") -> str:
    """As ``stack_name``; ``more`` is what else can be done where no stack is named and there is no default."""
    name = named or default_stack(known)
    if name is None:
        raise Stop(Exit.USAGE, "no stack was given", f"name one of {', '.join(known) or 'none'}{more}, or set {STACK}")
    return name


def stack_and_name(root: Path, first: str | None, second: str | None) -> tuple[str | None, str | None]:
    """The stack and the name of a command line with ``[STACK] [NAME]``, where one word may be either."""
    from modelyard.stack import discover

    known = [found.name for found in discover(root)]
    if first is None or second is not None or first in known or default_stack(known) is None:
        return first, second
    return None, first


def default_stack(known: Sequence[str]) -> str | None:
    """The stack of a command line that names none, if the environment or the project says which."""
    return os.environ.get(STACK) or (known[0] if len(known) == 1 else None)


def chosen_stack(root: Path, named: str | None) -> "Stack":
    """The stack that the command line names, or the default one."""
    from modelyard.plan.project import load_stack

    name = stack_name(root, named)
    (path,) = stack_files(root, [name], False).values()
    stack, findings = load_stack(root, path)
    if stack is None:
        raise Stop(Exit.USAGE, f"{name} cannot be read", "", findings)
    return stack


def near_stack(name: str, known: Iterable[str]) -> str:
    """A suggestion for an unknown stack name."""
    from modelyard.stack.words import did_you_mean

    have = sorted(known)
    stacks = f"stacks are {', '.join(have) or 'none'}"
    return f"{close} The {stacks}" if (close := did_you_mean(name, have)) else f"the {stacks}"


def plan_one(root: Path, file: Path, live: bool, verbose: bool = False) -> "Planned":
    """Plans one stack file; ends the run if a cluster is unreachable."""
    from modelyard.plan.project import plan_live, plan_recorded

    if not live:
        return plan_recorded(root, file, date.today())
    from modelyard.cluster.connection import ClusterError

    try:
        planned = plan_live(root, file, date.today())
    except ClusterError as error:
        raise Stop(Exit.UNREACHABLE, error.summary, error.remedy) from error
    asked = planned.asked
    if verbose and asked is not None and planned.stack is not None:
        words = f"{asked.requests} requests, at most {asked.at_once} at once, {asked.seconds:.2f} s"
        sys.stderr.write(f"{planned.stack.name}: {words}\n")
    return planned


def with_jobs(planned: "Planned") -> "Planned":
    """Adds what training backends report about jobs that a live plan waits for or leaves running.

    Returns the plan unchanged where there are no such jobs.
    """
    from modelyard.plan.drains import left_behind

    plan, stack = planned.plan, planned.stack
    if plan is None or stack is None or plan.source != "live" or drain_is_off():
        return planned
    if not (plan.drains or left_behind(stack, plan)):
        return planned
    from modelyard.plan.job_status import with_job_status

    return planned._replace(plan=with_job_status(stack, plan, date.today()))


def drain_is_off() -> bool:
    """Whether the environment turns waiting for jobs off."""
    from modelyard.probes.values import NO_DRAIN

    return bool(os.environ.get(NO_DRAIN))


def need_engine() -> None:
    """Ends the run if the engine is missing, before any slow work or question."""
    from shutil import which

    if which("pulumi") is None:
        from modelyard.cluster.engine_state import INSTALL, NO_ENGINE

        raise Stop(Exit.UNREACHABLE, NO_ENGINE, INSTALL)


def the_plan(args: Namespace, root: Path) -> "Planned":
    """Plans the one stack that the arguments name, or ends the run with its findings."""
    name = stack_name(root, args.stack)
    (path,) = stack_files(root, [name], False).values()
    result = plan_one(root, path, args.live, args.verbose)
    if result.plan is None:
        raise Stop(Exit.USAGE, f"{name} cannot be planned", "", loud(result.findings))
    return result


def chosen_target(plan: "Plan", name: str) -> str:
    """The full name of a target, from a full name, a unique part of one, or a workload (``rayWorker``).

    Also accepts a target that could not be planned.
    """
    from modelyard.report.part import target_names

    names = target_names(plan)
    matches = [name] if name in names else [full for full in names if name in full] or _of_role(plan, name)
    if len(matches) == 1:
        return matches[0]
    raise Stop(
        Exit.USAGE,
        f"{name!r} matches {'several targets' if matches else 'no target'} of {plan.stack}",
        "targets: " + (", ".join(matches or names) or "none"),
    )


def _of_role(plan: "Plan", name: str) -> list[str]:
    """Targets of a workload such as ``rayWorker``, also written ``ray-worker``."""
    role = name.replace("-", "").lower()
    found = [target for target in plan.everything if role and target.role.lower() == role]
    # The autoscaler of a Deployment belongs to its workload too, but is not meant here.
    deployments = [target for target in found if target.key.kind == "Deployment"]
    return list(dict.fromkeys(target.name for target in deployments or found))


def planned_target(plan: "Plan", name: str) -> str:
    """The full name of a planned target; ends the run with the findings of a target without a plan."""
    from modelyard.report.part import unplanned

    full = chosen_target(plan, name)
    errors = unplanned(plan).get(full, ())
    if errors:
        codes = list(dict.fromkeys(finding.code for finding in errors))
        raise Stop(
            Exit.FINDINGS,
            f"{full} cannot be planned: it has {', '.join(codes)}",
            f"modelyard explain {codes[0]} explains it",
            errors,
        )
    return full


def say_errors(findings: Iterable[Finding], args: Namespace) -> None:
    """Prints the errors that stop an apply to standard error, for verbs that print something else."""
    say_findings([finding for finding in findings if finding.blocks], args)


def say_findings(findings: Sequence[Finding], args: Namespace) -> None:
    """Prints findings to standard error."""
    if findings:
        from modelyard.cli.app import style_for
        from modelyard.report.finding import findings_text

        sys.stderr.write("\n".join(findings_text(findings, style_for(args, sys.stderr))) + "\n")


def exit_code(findings: Iterable[Finding], unplanned: bool) -> Exit:
    """The exit code: bad input comes before findings, findings before success."""
    if unplanned:
        return Exit.USAGE
    return Exit.FINDINGS if any(finding.blocks for finding in findings) else Exit.FINE


def say(lines: Iterable[str]) -> None:
    """Prints lines to standard output in one write."""
    sys.stdout.write("\n".join(lines) + "\n")
