"""A JupyterLab with the extension, installed from its wheel, and its own workspace."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from lab.state import free_numbers
from tests.lab.support.notebook_files import ROOT
from tests.lab.support.program_environments import programs

EXTENSION = ROOT / "extensions" / "jupyterlab"
PATIENCE = 60


class Jupyter(NamedTuple):
    """A running server."""

    address: str
    token: str

    @property
    def lab(self) -> str:
        """The URL for a browser."""
        return f"{self.address}lab?token={self.token}"

    def ask(
        self, path: str, body: Any = None, *, token: str | None = None, method: str | None = None
    ) -> tuple[int, Any]:
        """Status and JSON of a request; a body makes it a POST unless a method is given."""
        request = urllib.request.Request(
            f"{self.address}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {self.token if token is None else token}"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")


def install(folder: Path) -> dict[str, str]:
    """Installs the extension's wheel below an empty folder; returns the variables with which Jupyter finds it."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=EXTENSION, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    pip = [str(programs("notebooks") / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--prefix", str(folder / "prefix"), str(wheel)], check=True)
    (packages,) = (folder / "prefix").glob("lib/python*/site-packages")
    return {
        "PYTHONPATH": str(packages),
        "JUPYTER_PATH": str(folder / "prefix" / "share" / "jupyter"),
        "JUPYTER_CONFIG_PATH": str(folder / "prefix" / "etc" / "jupyter"),
    }


@contextmanager
def jupyter(
    folder: Path, work: Path, settings: Mapping[str, Any], env: Mapping[str, str], config: Path | None = None
) -> Iterator[Jupyter]:
    """A server with the workspace ``work`` and its own files below ``folder``.

    Args:
        settings: traits such as ``Modelyard.stack``; they override those of ``config``.
        env: variables, including those that ``install`` returned.
        config: an administrator's ``jupyter_server_config.py``.
    """
    (port,) = free_numbers(1)
    token = secrets.token_hex(16)
    traits = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": str(work),
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "IdentityProvider.token": token,
        **settings,
    }
    own = _configured(folder, traits, config)
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [str(programs("notebooks") / "jupyter-lab")],
            cwd=work,
            env={**os.environ, **env, **own},
            stdout=log,
            stderr=log,
        )
        try:
            made = Jupyter(f"http://127.0.0.1:{port}/", token)
            _wait(made, server, folder / "log")
            yield made
        finally:
            server.terminate()
            server.wait(PATIENCE)


def _configured(folder: Path, traits: Mapping[str, Any], config: Path | None) -> dict[str, str]:
    """The variables of a server with these traits and separate folders."""
    own = {name: folder / name.lower() for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    settings = own["JUPYTER_CONFIG_DIR"]
    (settings / "labconfig").mkdir(parents=True)
    # Turns off the question about Jupyter news.
    quiet = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (settings / "labconfig" / "page_config.json").write_text(json.dumps(quiet))
    parts: dict[str, dict[str, Any]] = {}
    for name, value in traits.items():
        section, _, trait = name.partition(".")
        parts.setdefault(section, {})[trait] = value
    (settings / "jupyter_server_config.json").write_text(json.dumps(parts))
    if config is not None:
        shutil.copy(config, settings / "jupyter_server_config.py")
    return {name: str(path) for name, path in own.items()}


def _wait(made: Jupyter, server: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < until:
        try:
            if made.ask("api/status")[0] == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"the server does not answer\n{log.read_text()}")
