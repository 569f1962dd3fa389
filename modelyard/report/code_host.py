"""Links to the lines of a repository's files on its code host: GitHub, GitLab or Bitbucket."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlsplit

Link = Callable[[str], str]
"""The address of a place such as ``stacks/Pulumi.dev.yaml:12:5``; empty for a place without one."""
_PLACE = re.compile(r"(?P<file>.+?)(?::(?P<line>\d+))?(?::\d+)?")
_FORMS = {
    "github": ("{url}/blob/{commit}/{path}", "#L{line}"),
    "gitlab": ("{url}/-/blob/{commit}/{path}", "#L{line}"),
    "bitbucket": ("{url}/src/{commit}/{path}", "#lines-{line}"),
}
"""The address of a file at a commit, and what a line adds."""
_HOST = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]")


class CodeHost(NamedTuple):
    """A repository on a code host."""

    url: str
    """Its address, without credentials."""
    form: str
    """A key of ``_FORMS``."""
    folder: str
    """The project's folder in the repository, empty if it is the repository."""

    def link(self, commit: str, place: str) -> str:
        """The address of a place at a commit; empty if the place is in no file of the project."""
        found = _PLACE.fullmatch(place)
        if found is None:
            return ""
        parts = [*self.folder.split("/"), *found["file"].split("/")]
        if place.startswith("/") or ".." in parts:
            return ""
        path = "/".join(quote(part, safe="") for part in parts if part)
        file, line = _FORMS[self.form]
        address = file.format(url=self.url, commit=commit, path=path)
        return address + (line.format(line=found["line"]) if found["line"] else "")


class Links(NamedTuple):
    """The links of a preview."""

    host: CodeHost
    base: str
    """Full name of the base commit."""
    head: str
    gone: frozenset[str] = frozenset()
    """Files that only the base has."""

    def at(self, part: str) -> Link:
        """The links of a part of the findings (``new``, ``waived``, ``relaxed``, ``moved``, ``fixed``, ``still``)."""
        if part == "relaxed":
            # Some of these findings have the lines of the base, some those of the head.
            return no_link
        return self._at_base if part == "fixed" else self._at_head

    def _at_base(self, place: str) -> str:
        return self.host.link(self.base, place)

    def _at_head(self, place: str) -> str:
        return self.host.link(self.base if place in self.gone else self.head, place)


def no_link(_place: str) -> str:
    """No address for any place."""
    return ""


def no_links(_part: str) -> Link:
    """No address in any part of the findings."""
    return no_link


def code_host(url: str, folder: str, environment: Mapping[str, str]) -> CodeHost:
    """The repository at an address.

    Args:
        url: its address; credentials in it are dropped.
        folder: the project's folder in it.
        environment: environment variables, which in CI say which code host it is.

    Raises:
        ValueError: it is no web address.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(f"[{host}]" if ":" in host else host):
        raise ValueError("not a web address")
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port is not None else ""
    path = quote(parts.path.rstrip("/").removesuffix(".git"), safe="/%")
    form = next((form for form in _FORMS if form in host), "") or _form_in_ci(environment)
    return CodeHost(f"{parts.scheme}://{host}{port}{path}", form, folder)


def repository_url(environment: Mapping[str, str]) -> str:
    """The repository's address as GitHub Actions, GitLab or Bitbucket set it; empty elsewhere."""
    server, name = environment.get("GITHUB_SERVER_URL"), environment.get("GITHUB_REPOSITORY")
    if server and name:
        return f"{server}/{name}"
    return environment.get("CI_PROJECT_URL") or environment.get("BITBUCKET_GIT_HTTP_ORIGIN") or ""


def _form_in_ci(environment: Mapping[str, str]) -> str:
    """The form of the code host that runs the CI; GitHub's elsewhere."""
    variables = {"CI_PROJECT_URL": "gitlab", "BITBUCKET_GIT_HTTP_ORIGIN": "bitbucket"}
    return next((form for name, form in variables.items() if environment.get(name)), "github")
