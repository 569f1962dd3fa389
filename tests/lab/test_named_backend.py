"""The real engine sends its token only to a server that the operator set, not to one that only the project sets."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.build import ready_toolset
from tests.support.web_servers import Quiet, listening

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "pul-s3cret"


@pytest.fixture
def seen() -> Iterator[tuple[str, list[str | None]]]:
    found: list[str | None] = []

    class Handler(Quiet):
        def do_GET(self) -> None:
            found.append(self.headers.get("Authorization"))
            self.answer(b"{}", 401)

        do_POST = do_GET

    with listening(Handler) as url:
        yield url, found


@pytest.mark.parametrize("words", [("ledger", "dev"), ("drift", "dev"), ("destroy", "dev", "--yes")], ids=" ".join)
def test_the_token_goes_only_to_the_server_that_the_operator_names(
    words: tuple[str, ...], seen: tuple[str, list[str | None]], tmp_path: Path
) -> None:
    url, found = seen
    shutil.copytree(ROOT / "stacks", tmp_path / "stacks")
    shutil.copytree(ROOT / "patches", tmp_path / "patches")
    (tmp_path / "Pulumi.yaml").write_text(f"name: it\nruntime: python\nmain: stacks/\nbackend: {{url: '{url}'}}\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")} | {
        "PATH": f"{ready_toolset().bin}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "PULUMI_ACCESS_TOKEN": TOKEN,
        "KUBECONFIG": os.devnull,
    }

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        command = (sys.executable, "-c", "import sys; from modelyard.cli import main; sys.exit(main())", *words)
        return subprocess.run(
            command, cwd=tmp_path, env=environment | more, capture_output=True, text=True, timeout=60, check=False
        )

    done = run()
    assert done.returncode == 2
    assert "Pulumi.yaml:4:16 cannot be used" in " ".join(done.stderr.split())
    assert found == []
    # If the operator sets the same server, it gets the token, so the check above can fail.
    run(PULUMI_BACKEND_URL=url)
    assert f"token {TOKEN}" in found
