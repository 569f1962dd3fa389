"""JupyterLab's button Submit Job and panel GPU Jobs, on the server's side: both ask the command ``modelyard``.

Owns the requests of the page (``handlers``), the command and its answers (``command``), and which files of the server
a request may mean (``files``).

Does not judge, render, or talk to a cluster: all that is the command's.
"""

from typing import Any

from modelyard_jupyterlab.handlers import handlers
from modelyard_jupyterlab.settings import Modelyard

__all__ = ["Modelyard"]


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "modelyard_jupyterlab"}]


def _load_jupyter_server_extension(serverapp: Any) -> None:
    settings = Modelyard(parent=serverapp)
    serverapp.web_app.settings["modelyard"] = settings
    serverapp.web_app.add_handlers(".*$", handlers(serverapp.web_app.settings["base_url"]))
    serverapp.log.info("modelyard: notebooks are submitted with %s", " ".join(settings.command))
