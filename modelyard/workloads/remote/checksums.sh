# Says what stands in a folder, and whether another one has exactly that. POSIX shell, sha256sum, find, diff.
MANIFEST=MANIFEST.sha256

# manifest DIR FILE: writes SHA-256 and path of each file below DIR to FILE, sorted by path.
manifest() (
  LC_ALL=C
  export LC_ALL
  cd "$1"
  if [ -n "$(find . ! -type f ! -type d)" ]; then
    echo "$1 holds links or devices, which are not copied" >&2
    exit 1
  fi
  if [ -z "$(find . -type f ! -path "./$MANIFEST")" ]; then
    echo "$1 holds no files" >&2
    exit 1
  fi
  find . -type f ! -path "./$MANIFEST" -exec sha256sum {} + >"$2.unsorted"
  sort -k 2 "$2.unsorted" >"$2"
  rm "$2.unsorted"
)

# seal DIR: puts the manifest into the folder.
seal() (
  made=$(mktemp)
  manifest "$1" "$made"
  cp "$made" "$1/$MANIFEST"
  rm "$made"
)

# verify DIR [SHA256]: fails unless the folder is what its manifest says, and that manifest the one of this checksum.
verify() (
  if [ ! -f "$1/$MANIFEST" ]; then
    echo "$1 has no manifest: the copy is not whole" >&2
    exit 1
  fi
  if [ -n "${2:-}" ] && [ "$(sha256sum <"$1/$MANIFEST")" != "$2  -" ]; then
    echo "$1 has another manifest than was announced" >&2
    exit 1
  fi
  made=$(mktemp)
  manifest "$1" "$made"
  if ! diff "$1/$MANIFEST" "$made" >&2; then
    echo "$1 is not what its manifest says (< should be there, > is there)" >&2
    exit 1
  fi
  rm "$made"
)
