# Checks that the copy of a folder is complete and unchanged. Needs a POSIX shell, sha256sum, find and diff.
MANIFEST=MANIFEST.sha256

# manifest DIR FILE: writes SHA-256 and path of each file below DIR to FILE, sorted by path.
manifest() (
  LC_ALL=C
  export LC_ALL
  cd "$1"
  if [ -n "$(find . ! -type f ! -type d)" ]; then
    echo "$1 contains links or devices, which are not copied" >&2
    exit 1
  fi
  if [ -z "$(find . -type f ! -path "./$MANIFEST")" ]; then
    echo "$1 contains no files" >&2
    exit 1
  fi
  find . -type f ! -path "./$MANIFEST" -exec sha256sum {} + >"$2.unsorted"
  sort -k 2 "$2.unsorted" >"$2"
  rm "$2.unsorted"
)

# seal DIR: writes the manifest into the folder.
seal() (
  made=$(mktemp)
  manifest "$1" "$made"
  cp "$made" "$1/$MANIFEST"
  rm "$made"
)

# verify DIR [SHA256]: fails if the files differ from the manifest, or the manifest from this checksum.
verify() (
  if [ ! -f "$1/$MANIFEST" ]; then
    echo "$1 has no manifest: the copy is incomplete" >&2
    exit 1
  fi
  if [ -n "${2:-}" ] && [ "$(sha256sum <"$1/$MANIFEST")" != "$2  -" ]; then
    echo "the manifest of $1 does not have the expected SHA-256" >&2
    exit 1
  fi
  made=$(mktemp)
  manifest "$1" "$made"
  if ! diff "$1/$MANIFEST" "$made" >&2; then
    echo "$1 differs from its manifest (<: manifest, >: folder)" >&2
    exit 1
  fi
  rm "$made"
)
