"""Stands in for ``curl``: the notes of a merge request, kept in the file that FAKE_SERVER names, and an installer."""

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

SERVER = Path(os.environ["FAKE_SERVER"])
ME = {"id": 42, "username": "project_11_bot"}
"""The user of the token."""


def main(words: list[str]) -> int:
    options = {name: words[words.index(name) + 1] for name in ("--header", "--request", "--form") if name in words}
    (url,) = (word for word in words if word.startswith("https://"))
    assert {"--fail", "--silent", "--show-error"} <= set(words), "a failure would go unseen"
    if url == "https://get.pulumi.com":
        sys.stdout.write("true\n")
        return 0
    state: dict[str, Any] = json.loads(SERVER.read_text()) if SERVER.exists() else {"comments": [], "requests": []}
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
    SERVER.write_text(json.dumps(state))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
