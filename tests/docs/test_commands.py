"""Every command that a page shows is run, and what it shows as output is the output."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from modelyard.stack import load


def test_commands_do_what_the_page_says(page: Path, commands: ModuleType, root: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    clone = commands.needs_git(text)
    if clone and shutil.which("git") is None:
        pytest.skip("git is not on PATH")
    place = commands.Workplace(tmp_path / "project", commands.offline_environment(tmp_path), clone=clone)
    real = commands.renewed(text, page.relative_to(root).as_posix(), place)
    assert real == text, "shown output is not the real one; python docs/commands.py renews it"


def test_make_targets_are_in_the_makefile(page: Path, commands: ModuleType, root: Path) -> None:
    known = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    shown = {target for block in commands.blocks(text, page.name) for target in block.make_targets}
    shown |= set(re.findall(r"`make ([a-z-]+)`", text))
    assert shown <= known


def test_stack_snippets_are_valid(page: Path, commands: ModuleType, root: Path, tmp_path: Path) -> None:
    base = yaml.safe_load((root / "stacks" / "Pulumi.dev.yaml").read_text(encoding="utf-8"))["config"]
    for block in commands.blocks(page.read_text(encoding="utf-8"), page.name):
        if block.language != "yaml" or not re.search(r"^\s*modelyard:", block.body, re.MULTILINE):
            continue
        value = yaml.safe_load(block.body)
        file = tmp_path / f"Pulumi.snippet{block.line}.yaml"
        file.write_text(yaml.safe_dump({"config": base | value.get("config", value)}), encoding="utf-8")
        stack, findings = load(file, block.place)
        assert stack is not None, findings
        assert findings == ()


def test_pages_name_only_verbs_and_codes_that_exist(page: Path) -> None:
    from modelyard.cli.app import VERBS, verb_parser
    from modelyard.explanations import explanations

    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"\b(?:CFG|GPU|RES|RAY|CEL|PAT|OWN|AUT)\d{3}\b", text)) <= explanations().keys()
    for said in re.findall(r"`modelyard ([^`]+)`", text):
        verb, *words = said.split()
        assert verb in VERBS or verb.isupper(), said
        if verb in VERBS:
            known = {name for action in verb_parser(verb)._actions for name in action.option_strings}
            assert {word.partition("=")[0] for word in words if word.startswith("-")} <= known, said


@pytest.mark.lab
def test_commands_do_it_on_a_real_cluster(lab_page: Path, commands: ModuleType, root: Path, tmp_path: Path) -> None:
    from lab import Lab

    offline = commands.offline_environment(tmp_path)
    # The lab's tools lie in the user's cache, wherever the commands think that home is.
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    with Lab.start(tmp_path / "lab", context="dev") as lab:
        lab.install_platform("dev")
        path = os.pathsep.join((str(lab.tools.bin), offline["PATH"]))
        environment = {**offline, **lab.variables(), "PATH": path, "XDG_CACHE_HOME": cache}
        place = commands.Workplace(tmp_path / "project", environment, lab=True)
        try:
            for block in commands.blocks(lab_page.read_text(encoding="utf-8"), lab_page.relative_to(root).as_posix()):
                place.run(block)
        finally:
            down = [str(place.folder / "lab" / "modelyard-lab"), "down", "--all", "--delete"]
            subprocess.run(down, env=environment, check=True, capture_output=True)


def test_a_wrong_exit_code_is_seen(commands: ModuleType, tmp_path: Path) -> None:
    place = commands.Workplace(tmp_path / "project", commands.offline_environment(tmp_path))
    (block,) = commands.blocks("```sh exit=1\nmodelyard gpus A10\n```\n", "page.md")
    with pytest.raises(commands.Wrong, match=r"page\.md:1: ended with 0, not 1"):
        place.run(block)


def test_an_unknown_kind_of_block_is_seen(commands: ModuleType) -> None:
    for info in ("", "bash", "sh labb", "sh ecit=1"):
        with pytest.raises(commands.Wrong, match="unknown kind of code block"):
            list(commands.blocks(f"```{info}\nmodelyard plan\n```\n", "page.md"))


def test_shown_output_is_renewed(commands: ModuleType, tmp_path: Path) -> None:
    place = commands.Workplace(tmp_path / "project", commands.offline_environment(tmp_path))
    old = "Before.\n\n```console\n$ echo one\nzero\n$ echo two\n```\n\nAfter.\n"
    assert commands.renewed(old, "page.md", place) == old.replace("zero", "one").replace("two\n```", "two\ntwo\n```")


def test_a_diff_must_fit_once(commands: ModuleType, tmp_path: Path) -> None:
    place = commands.Workplace(tmp_path / "project", commands.offline_environment(tmp_path))
    (block,) = commands.blocks("```diff file=stacks/Pulumi.dev.yaml\n-no such line\n+another\n```\n", "page.md")
    with pytest.raises(commands.Wrong, match="has 0 places"):
        place.run(block)
