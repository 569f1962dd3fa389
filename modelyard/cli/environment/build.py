"""Build a locked Python environment on the shared volume of a namespace, with a Job.

The same lock is built only once in a namespace, even if two builds run at the same time.
"""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from modelyard.cli.common import chosen_stack, project_root, reached
from modelyard.cli.environment import chosen_environment, namespace_for
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import json_option, stack_argument
from modelyard.cli.printing import say_json, say_wrapped
from modelyard.cli.submitting import not_taken, wait_for_end

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.cluster.present import BuildState
    from modelyard.runs.jobs import Submission


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_argument(parser)
    parser.add_argument("name", metavar="NAME", help="name of one of its Python environments")
    parser.add_argument("--team", metavar="T", help="in this team's namespace (default: the platform's)")
    parser.add_argument(
        "--dry-run", action="store_true", help="only ask the API server whether it would accept the Job"
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="run a finished build again, such as after the volume was emptied; an existing Python environment is kept",
    )
    parser.add_argument("--wait", action="store_true", help="wait until the build ends; exit code 1 if it failed")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Looks for an earlier build, and creates the Job if there is none."""
    from modelyard.cluster.connection import connect
    from modelyard.cluster.present import build_state
    from modelyard.plan.project import library_of
    from modelyard.report.environment import build_document, build_text
    from modelyard.runs.jobs import environment_build

    root = project_root(args)
    stack = chosen_stack(root, args.stack, "Python environment", args.name)
    environment = chosen_environment(stack, args.name)
    namespace = namespace_for(stack, args.team)
    made = environment_build(stack, library_of(root), environment, namespace)
    if not made.objects:
        raise Stop(Exit.FINDINGS, "nothing was built", "", [one for one in made.findings if one.blocks])
    key = made.key
    with reached():
        client = connect(stack.context)
        before = build_state(client, namespace, key.name)
        state: str = before
        if before in ("none", "failed") or (before == "built" and args.again):
            state = _created(client, made, before, dry=args.dry_run)
        if args.wait and state == "building":
            if not args.json:
                say_wrapped(build_text(environment, key, state, before))
            ended = wait_for_end(client, key, again="build again")
            state = "built" if ended == "succeeded" else ended
    if args.json:
        say_json(build_document(stack.name, environment, key, state, new=state != before))
    else:
        say_wrapped(build_text(environment, key, state, before))
    return Exit.FINDINGS if state == "failed" else Exit.FINE


def _created(client: "Client", made: "Submission", before: "BuildState", *, dry: bool) -> str:
    """The state after creating the Job, or in a dry run the state that would follow."""
    from modelyard.cluster.answer import Deletion, Refusal
    from modelyard.cluster.creating import create_all
    from modelyard.cluster.live import read
    from modelyard.cluster.present import build_state
    from modelyard.cluster.writing import OvertakenError, RefusedError, delete

    key = made.key
    if before != "none":
        if dry:
            # The earlier build has the same name and is deleted first.
            return "checked"
        if (found := read(client, key)) is not None:
            try:
                delete(client, Deletion(key, found["metadata"]["uid"]))
            except (OvertakenError, RefusedError) as error:
                raise Stop(
                    Exit.FINDINGS,
                    f"the previous build's Job cannot be deleted: {error}",
                    "try again, or delete that Job",
                ) from error
    answer = create_all(client, made.objects, dry=dry)
    if not isinstance(answer, Refusal):
        return "checked" if dry else "building"
    # Another run may have created the Job first: it is the same build.
    if (now := build_state(client, key.namespace, key.name)) != "none":
        return now
    raise not_taken(answer)
