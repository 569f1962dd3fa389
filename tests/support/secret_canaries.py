"""Secrets planted in a project, and the search for them in what verbs print."""

import argparse
import base64
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from modelyard.cli.parser import verb_parser

PLAIN = "kanari"
"""Begins every planted secret, and nothing that modelyard itself prints; encoded or not, it is looked for."""


def canary(number: int) -> str:
    return f"{PLAIN}{number:03}x7secret"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


ENVIRONMENT = {
    "MODELYARD_BROKER_PASSWORD": canary(1),
    "MODELYARD_RAY_TOKEN": canary(2),
    "MODELYARD_PROMETHEUS_TOKEN": canary(3),
    "PULUMI_ACCESS_TOKEN": canary(4),
    "PULUMI_CONFIG_PASSPHRASE": canary(5),
    "AWS_SECRET_ACCESS_KEY": canary(6),
    "AWS_SESSION_TOKEN": canary(7),
    "GITHUB_TOKEN": canary(8),
    "PIP_INDEX_URL": f"http://user:{canary(9)}@127.0.0.1:1/simple",
    "HTTPS_PROXY": f"http://user:{canary(10)}@127.0.0.1:1",
}
PLACES: Mapping[str, str] = {
    "stack": "dev",
    "stacks": "dev",
    "what": "dev",
    "job": "train",
    "run": "train-1",
    "name": "train",
    "target": "ray-head",
    "field": "containers[name=ray-head]",
    "source": "dev",
    "pipeline": "nightly",
    "card": "a100",
    "shell": "bash",
}
OF_VERBS: Mapping[tuple[str, str], str] = {
    ("promote", "target"): "staging",
    ("job", "what"): "train",
    ("patches", "name"): "zz-mine",
    ("schema", "name"): "plan",
}
NOT_RUN = {"--help", "--follow", "--release", "--write", "--wait"}
"""Options that wait for a cluster, and those that write the user's own words back into the user's own files."""


def repository(root: Path) -> None:
    for words in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "--all"),
        ("commit", "--quiet", "-m", "one"),
    ):
        who = ("-c", "user.name=dev", "-c", "user.email=dev@example.com")
        subprocess.run(["git", "-C", str(root), *who, *words], check=True, capture_output=True)


def leaves(parser: argparse.ArgumentParser, *words: str) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Each verb that runs, those of verbs that consist of others among them."""
    within = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in within:
        for name, sub in action.choices.items():
            yield from leaves(sub, *words, name)
    if not within:
        yield words, parser


def lines(verb: str, out: Path) -> Iterator[tuple[str, ...]]:
    """A verb's command lines: without options, and with each of them, whatever the parser knows."""
    for words, parser in leaves(verb_parser(verb), verb):
        options: list[tuple[str, ...]] = [()]
        places = ["--base", "main"] if verb == "preview" else []
        words += ("--timeout", "0") if verb == "verify" else ()  # no cluster answers, however long it waits
        for action in parser._actions:
            if not action.option_strings:
                place = OF_VERBS.get((verb, action.dest), PLACES.get(action.dest, ""))
                places += [place] if place else []
                continue
            name = action.option_strings[-1]
            if name in NOT_RUN or action.dest in ("help", "directory", "colour"):
                continue
            if action.choices:
                options += [(name, str(choice)) for choice in action.choices]
            elif action.nargs == 0:
                # Previews take longest, and their flags have a format each.
                options += [(name,)] if verb != "preview" else []
            elif action.dest == "output":
                files = [(name, f"{out}/{verb}.{end}") for end in ("json", "html", "md")]
                options += [tuple(word for file in files for word in file)] if verb == "preview" else files
            elif action.dest == "out":
                options.append((name, f"{out}/{verb}.json"))
        # The line without options comes last: what it writes, the others would find done.
        for option in (*options[1:], ()):
            # No stack is named beside all of them.
            yield (*words, *([] if option == ("--all",) else places), *option)


def leaked(text: str) -> list[str]:
    return [line for line in text.splitlines() if PLAIN in line or encoded(PLAIN) in line]


NO_NAMES = (canary(20), encoded(canary(21)))
"""Parameters whose names suggest nothing. ``fmt`` fills in no template, and cannot know what they become."""


def checked(result: Any, words: tuple[str, ...]) -> None:
    text = result.text
    for known in NO_NAMES if words[0] == "fmt" else ():
        text = text.replace(known, "")
    assert not leaked(text), (words, leaked(text)[:3])
    assert result.code != 70, (words, result.text)
