"""The shell scripts around a remote job: it imports and verifies its data, runs, and writes its model.

They contain no credentials: those come from the environment, one set for reading and another for writing, and the job
itself gets neither.
"""

import shlex
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from modelyard.stack.remote import Bucket

GRACE: Final = 60
"""Seconds between the request to stop and the kill."""
_END: Final = "END_OF_MODELYARD_JOB"


class Tool(NamedTuple):
    """How to copy one kind of storage. ``{}`` is the set's name, ``READ`` or ``WRITE``."""

    variables: tuple[str, ...]
    """Environment variables of one set."""
    passes: str
    """Passes the set to one command."""
    sync: str
    """Makes the second equal to the first, and deletes what the first lacks; copies only differences of large trees."""
    copy: str
    """Copies one file."""
    clear: str = ""
    """Empties the destination, if ``sync`` would treat a file of equal size as unchanged."""


TOOLS: Final = {
    "s3": Tool(
        ("{}_ACCESS_KEY_ID", "{}_SECRET_ACCESS_KEY", "{}_SESSION_TOKEN"),
        'AWS_ACCESS_KEY_ID="${}_ACCESS_KEY_ID" AWS_SECRET_ACCESS_KEY="${}_SECRET_ACCESS_KEY" '
        'AWS_SESSION_TOKEN="${{}_SESSION_TOKEN:-}"',
        "aws s3 sync --only-show-errors --delete",
        "aws s3 cp --only-show-errors",
        "aws s3 rm --only-show-errors --recursive",
    ),
    "gs": Tool(
        ("{}_ACCESS_TOKEN",),
        'CLOUDSDK_AUTH_ACCESS_TOKEN="${}_ACCESS_TOKEN"',
        "gcloud storage rsync --recursive --checksums-only --delete-unmatched-destination-objects",
        "gcloud storage cp",
    ),
}
"""By scheme of a bucket's URL. Both tools use these variables instead of a machine's identity."""


class BucketFolder(NamedTuple):
    """A part of a bucket with its URL."""

    bucket: Bucket
    prefix: str

    @property
    def scheme(self) -> str:
        """``s3`` or ``gs``."""
        return self.bucket.url.partition("://")[0]

    @property
    def url(self) -> str:
        """URL of the bucket with the prefix."""
        return f"{self.bucket.url}/{self.prefix}"

    @property
    def tool(self) -> Tool:
        """The tool that copies it."""
        return TOOLS[self.scheme]


@cache
def checksums() -> str:
    """Returns the shell functions ``manifest``, ``seal`` and ``verify``."""
    return files(__package__ or "").joinpath("checksums.sh").read_text(encoding="utf-8")


def secrets_of(data: BucketFolder | None, model: BucketFolder | None) -> tuple[str, ...]:
    """Returns the environment variables to set before the job is launched."""
    read = () if data is None else tuple(name.format("READ") for name in data.tool.variables)
    write = () if model is None else tuple(name.format("WRITE") for name in model.tool.variables)
    return (*read, *write)


def job_script(
    command: tuple[str, ...], seconds: int, data: BucketFolder | None, model: BucketFolder | None, serves: bool
) -> str:
    """Returns what the machine runs: everything inside one time limit that the script itself enforces.

    ``MODELYARD_DATA_MANIFEST``, if set, is the SHA-256 of the dataset's manifest, as the export printed it.
    """
    lines = ["set -eu", "umask 077", 'work="${MODELYARD_WORK:-/tmp/modelyard}"', 'mkdir -p "$work/data" "$work/model"']
    lines += [checksums().rstrip("\n")]
    if data is not None:
        lines += _set("READ", data)
        lines += [
            f'READ {data.tool.sync} {shlex.quote(data.url)} "$work/data"',
            'verify "$work/data" "${MODELYARD_DATA_MANIFEST:-}"',
            'chmod -R a-w "$work/data"',
        ]
    unset = "".join(f" -u {name}" for name in secrets_of(data, model))
    named = 'MODELYARD_DATA="$work/data" MODELYARD_MODEL="$work/model"'
    lines += [f"env{unset} {named} {shlex.join(command)}"]
    if model is not None and not serves:
        sealed = f"{model.url}/MANIFEST.sha256"
        lines += _set("WRITE", model)
        lines += [
            'seal "$work/model"',
            'mv "$work/model/$MANIFEST" "$work/manifest"',
            *([f"WRITE {model.tool.clear} {shlex.quote(model.url)}/"] if model.tool.clear else []),
            f'WRITE {model.tool.sync} "$work/model" {shlex.quote(model.url)}',
            "# The manifest is written last: a model that has one is complete.",
            f'WRITE {model.tool.copy} "$work/manifest" {shlex.quote(sealed)}',
        ]
    inner = "\n".join(lines)
    return (
        f"job=$(mktemp)\ncat >\"$job\" <<'{_END}'\n{inner}\n{_END}\n"
        f'timeout --signal=TERM --kill-after={GRACE} {seconds} sh "$job"\n'
    )


def export_script(data: BucketFolder) -> str:
    """Returns a script: ``sh export.sh DIR`` writes the dataset to the bucket and prints its manifest's SHA-256."""
    sealed = f"{data.url}/MANIFEST.sha256"
    lines = [
        "#!/bin/sh",
        f"# Replaces everything below {data.url}/ with the dataset in the folder $1. Credentials come from the",
        "# environment.",
        "set -eu",
        ': "${1:?is missing: sh export.sh DIR, the folder of the dataset}"',
        checksums().rstrip("\n"),
        "made=$(mktemp)",
        'manifest "$1" "$made"',
        *([f"{data.tool.clear} {shlex.quote(data.url)}/"] if data.tool.clear else []),
        f'{data.tool.sync} "$1" {shlex.quote(data.url)}',
        f'{data.tool.copy} "$made" {shlex.quote(sealed)}',
        "sha256sum <\"$made\" | cut -d ' ' -f 1",
        'rm "$made"',
    ]
    return "\n".join(lines) + "\n"


def import_script(model: BucketFolder) -> str:
    """Returns a script for the platform: ``sh import.sh DIR`` fetches the model, verifies it, and then makes it DIR.

    DIR must not exist, or must be empty. Until the model is verified, it is in a folder next to DIR, on the same
    volume, so that half a model, or another one, is never used. Unless SIGKILL ends the script, it removes that folder.
    """
    lines = [
        "#!/bin/sh",
        f"# Downloads the model in {model.url} to the folder $1, and verifies it. Credentials come from the",
        "# environment.",
        "set -eu",
        ': "${1:?is missing: sh import.sh DIR, a folder for the model}"',
        checksums().rstrip("\n"),
        'if [ -e "$1" ] && ! rmdir "$1"; then',
        '  echo "$1 is not an empty folder; name one that does not exist yet" >&2',
        "  exit 1",
        "fi",
        'mkdir -p "$(dirname "$1")"',
        "# Without a trailing slash, so that the temporary folder is next to $1.",
        'to=$(dirname "$1")/$(basename "$1")',
        'part=$(mktemp -d "$to.part.XXXXXX")',
        "trap 'rm -rf \"$part\"' EXIT",
        "trap 'exit 130' HUP INT TERM",
        "# mktemp makes a folder for one user; the model gets the usual mode.",
        'mkdir "$part/model"',
        f'{model.tool.sync} {shlex.quote(model.url)} "$part/model"',
        'verify "$part/model"',
        'if [ -e "$to" ]; then',
        '  echo "$to was created while the model was downloaded" >&2',
        "  exit 1",
        "fi",
        'mv "$part/model" "$to"',
    ]
    return "\n".join(lines) + "\n"


def _set(name: str, part: BucketFolder) -> list[str]:
    """Returns a function that runs a command with one set of credentials."""
    return [f"{name}() {{", f'  {part.tool.passes.replace("{}", name)} "$@"', "}"]
