"""The requests of the page. Jupyter asks each for a login, a permission, and, where it changes something, XSRF."""

import json
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado import web

from modelyard_jupyterlab.command import Refused, run, text
from modelyard_jupyterlab.files import Outside, inside, seen, shown, state
from modelyard_jupyterlab.settings import Modelyard

OPTIONS: Final = ("flavor", "allocation", "partition", "slice", "team", "priority")
"""Of a submission, each a text or left out."""


LINES: Final = 1000
"""Of a log, the last ones."""
_NAME: Final = "([a-z0-9][a-z0-9.-]*)"
"""The name of a run, which can never pass for an option."""


class Handler(APIHandler):
    """What the requests share."""

    auth_resource = "modelyard"

    @property
    def modelyard(self) -> Modelyard:
        """The administrator's settings."""
        found: Modelyard = self.settings["modelyard"]
        return found

    @property
    def root(self) -> Path:
        """The server's folder."""
        return Path(self.contents_manager.root_dir).resolve()

    @property
    def stack(self) -> list[str]:
        """The stack as the command's argument; none if the command chooses it."""
        return [self.modelyard.stack] if self.modelyard.stack else []

    def file(self, path: Any) -> Path:
        """The file of a path in a request; ends the request where it may not be meant."""
        if not isinstance(path, str) or not path:
            raise web.HTTPError(HTTPStatus.BAD_REQUEST, "the request has no path")
        try:
            return inside(self.root, path)
        except Outside as error:
            raise web.HTTPError(HTTPStatus.BAD_REQUEST, f"{path} is outside the server's folder") from error

    def say(self, answer: dict[str, Any] | Refused) -> None:
        """Answers with what the command said."""
        if isinstance(answer, Refused):
            self.set_status(HTTPStatus.UNPROCESSABLE_ENTITY)
            answer = answer._asdict()
        self.finish(json.dumps(answer))


class Choices(Handler):
    """What a submission can choose."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """What ``modelyard job choices --live`` says."""
        self.say(await run(self.modelyard, "job", "choices", *self.stack, "--live"))


class Jobs(Handler):
    """Submissions."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """How far the job is that will leave its result at ``?result=PATH``."""
        self.finish(json.dumps({"state": state(self.file(self.get_query_argument("result")))}))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Submits the notebook at ``path``; the answer has the job's name and the path of its result."""
        body = self.get_json_body()
        if not isinstance(body, dict):
            raise web.HTTPError(HTTPStatus.BAD_REQUEST, "the request is not a JSON object")
        answer = await run(self.modelyard, *self._words(body))
        if not isinstance(answer, Refused):
            self.set_status(HTTPStatus.CREATED)
            answer["path"] = seen(self.root, Path(answer["result"]))
        self.say(answer)

    def _words(self, body: dict[str, Any]) -> list[str]:
        """The command's arguments. Every value stands behind an ``=``, so that none can pass for an option."""
        options = {name: body[name] for name in OPTIONS if body.get(name) is not None}
        parameters = body.get("parameters", [])
        if not isinstance(parameters, list) or not all(
            isinstance(one, str) for one in [*options.values(), *parameters]
        ):
            raise web.HTTPError(HTTPStatus.BAD_REQUEST, "options must be text, and parameters a list of texts")
        asked = {"stack": self.modelyard.stack, "workspace": self.modelyard.workspace, **options}
        return [
            "job",
            "submit",
            str(self.file(body.get("path"))),
            *(f"--{name}={value}" for name, value in asked.items() if value),
            *(f"--parameter={one}" for one in parameters),
        ]


class Runs(Handler):
    """The user's runs."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """What ``modelyard job list --mine`` says; each run with the ``path`` of its result, or null."""
        answer = await run(self.modelyard, "job", "list", *self.stack, "--mine", "--all")
        if not isinstance(answer, Refused):
            for one in answer["runs"]:
                result = one["result"]
                one["path"] = result and shown(self.root, result, answer["path"], self.modelyard.workspace)
        self.say(answer)


class Run(Handler):
    """One run of the user."""

    @web.authenticated
    @authorized
    async def delete(self, name: str) -> None:
        """Cancels it, unless another user submitted it."""
        self.say(await run(self.modelyard, "job", "cancel", *self.stack, name, "--mine", "--yes"))


class Log(Handler):
    """The log of a run."""

    @web.authenticated
    @authorized
    async def get(self, name: str) -> None:
        """The last lines of it."""
        answer = await text(self.modelyard, "job", "logs", *self.stack, name, f"--tail={LINES}")
        self.say(answer if isinstance(answer, Refused) else {"text": answer})


def handlers(base_url: str) -> list[tuple[str, type[Handler]]]:
    """Addresses below the server's own."""
    return [
        (url_path_join(base_url, "modelyard", "choices"), Choices),
        (url_path_join(base_url, "modelyard", "jobs"), Jobs),
        (url_path_join(base_url, "modelyard", "runs"), Runs),
        (url_path_join(base_url, "modelyard", "runs", _NAME), Run),
        (url_path_join(base_url, "modelyard", "runs", _NAME, "log"), Log),
    ]
