"""Stands in for ``curl``: the notes of a merge request, kept in the file that FAKE_SERVER names, and an archive."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

ARCHIVE = "https://get.pulumi.com/releases/sdk/pulumi-v3.259.0-linux-x64.tar.gz"
ME = {"id": 42, "username": "project_11_bot"}
"""The user of the token."""


def main(words: list[str]) -> int:
    options = {name: words[words.index(name) + 1] for name in ("--header", "--request", "--form") if name in words}
    (url,) = (word for word in words if word.startswith("https://"))
    assert {"--fail", "--silent", "--show-error"} <= set(words), "a failure would go unseen"
    if url == ARCHIVE:
        # Whatever else is in the environment could be a credential.
        assert set(os.environ) <= {"PATH", "PWD", "SHLVL", "_", "LC_CTYPE", "FAKE_ARCHIVE"}, sorted(os.environ)
        shutil.copy(os.environ["FAKE_ARCHIVE"], words[words.index("--output") + 1])
        return 0
    server = Path(os.environ["FAKE_SERVER"])
    state: dict[str, Any] = json.loads(server.read_text()) if server.exists() else {"comments": [], "requests": []}
    method = options.get("--request", "GET")
    state["requests"].append({"method": method, "path": url, "token": options["--header"]})
    if method == "GET" and urlsplit(url).path == "/api/v4/user":
        sys.stdout.write(json.dumps(ME))
    elif method == "GET":
        asked = {name: int(value) for name, (value,) in parse_qs(urlsplit(url).query).items() if value.isdigit()}
        end = asked.get("page", 1) * asked["per_page"]
        sys.stdout.write(json.dumps(state["comments"][end - asked["per_page"] : end]))
    else:
        name, _, value = options["--form"].partition("=")
        assert name == "body", name
        assert value.startswith("<"), value
        body = Path(value[1:]).read_text()
        if method == "POST":
            state["comments"].append({"id": 100 + len(state["comments"]), "author": ME, "body": body})
        else:
            (one,) = (note for note in state["comments"] if str(note["id"]) == url.rpartition("/")[2])
            one["body"] = body
        sys.stdout.write("{}")
    server.write_text(json.dumps(state))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
