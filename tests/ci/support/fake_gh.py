"""Stands in for ``gh api``: the comments of a pull request, kept in the file that FAKE_SERVER names."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

SERVER = Path(os.environ["FAKE_SERVER"])


def main(words: list[str]) -> int:
    assert words.pop(0) == "api", words
    flags = {word for word in words if word in ("--paginate", "--silent")}
    words = [word for word in words if word not in flags]
    options = {name: words[words.index(name) + 1] for name in ("--method", "--jq", "--field") if name in words}
    (path,) = (word for word in words if word not in options and word not in options.values())
    state: dict[str, Any] = json.loads(SERVER.read_text()) if SERVER.exists() else {"comments": [], "requests": []}
    method = options.get("--method", "GET")
    state["requests"].append({"method": method, "path": path, "token": os.environ.get("GH_TOKEN", "")})
    if method == "GET":
        sys.stdout.write(_filtered(state["comments"], options["--jq"]))
    else:
        name, _, value = options["--field"].partition("=")
        assert name == "body", name
        assert value.startswith("@"), value
        body = Path(value[1:]).read_text()
        assert len(body) <= 65_536, "GitHub takes no longer comment"
        _store(state["comments"], method, path, body)
    SERVER.write_text(json.dumps(state))
    return 0


def _store(comments: list[dict[str, Any]], method: str, path: str, body: str) -> None:
    if method == "POST":
        comments.append({"id": 100 + len(comments), "user": {"type": "Bot"}, "body": body})
        return
    assert method == "PATCH", method
    (one,) = (comment for comment in comments if str(comment["id"]) == path.rpartition("/")[2])
    one["body"] = body


def _filtered(comments: list[dict[str, Any]], query: str) -> str:
    if jq := shutil.which("jq"):
        done = subprocess.run(
            [jq, "--raw-output", query], input=json.dumps(comments), text=True, stdout=subprocess.PIPE
        )
        assert done.returncode == 0, query
        return done.stdout
    mark = os.environ["MARK"]
    ours = (one["id"] for one in comments if one["user"]["type"] == "Bot" and one["body"].startswith(mark))
    return "".join(f"{number}\n" for number in ours)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
