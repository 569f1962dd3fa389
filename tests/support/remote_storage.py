"""A stand-in for the AWS command line whose storage is a folder, and files to copy."""

from pathlib import Path

AWS = """#!/bin/sh
# Storage in $STORE: aws s3 sync|cp|rm [--options] SOURCE TARGET. Notes whose key each call had.
set -eu
echo "$AWS_ACCESS_KEY_ID $2" >>"$STORE/calls"
verb=$2; shift 2
while [ "${1#--}" != "$1" ]; do shift; done
place() { case $1 in s3://*) echo "$STORE/${1#s3://}" ;; *) echo "$1" ;; esac; }
from=$(place "$1")
if [ "$verb" = rm ]; then rm -rf "$from"; exit; fi
to=$(place "$2")
mkdir -p "$(dirname "$to")"
# As aws does, sync leaves a file alone that has the same size and is not older.
if [ "$verb" = sync ]; then mkdir -p "$to"; cp -R -u -p "$from/." "$to"; else cp "$from" "$to"; fi
"""


def tree(folder: Path) -> Path:
    """Files with names that shells stumble over."""
    for name, text in (
        ("a.csv", "1,2\n"),
        ("deep/b c.csv", "3\n"),
        ("deep/-n", "x"),
        ("é'\"$HOME", "y"),
        ("empty", ""),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
