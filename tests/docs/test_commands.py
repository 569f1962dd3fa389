"""Each command on a page is run, and its output is the one that the page shows."""

import argparse
import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from modelyard.stack import load


@pytest.mark.slow
def test_commands_print_the_output_that_the_page_shows(
    page: Path, commands: ModuleType, root: Path, tmp_path: Path
) -> None:
    text = page.read_text(encoding="utf-8")
    clone = commands.needs_git(text)
    if clone and shutil.which("git") is None:
        pytest.skip("git is not on PATH")
    place = commands.Workplace(tmp_path / "project", commands.offline_environment(tmp_path), clone=clone)
    real = commands.renewed(text, page.relative_to(root).as_posix(), place)
    assert real == text, "shown output is not the real one; python docs/commands.py renews it"


def test_each_command_is_in_a_block_that_is_run(page: Path, commands: ModuleType) -> None:
    for block in commands.blocks(page.read_text(encoding="utf-8"), page.name):
        if not block.is_command and "file" not in block.options:
            shown = re.findall(r"^(?:\$ )?(?:modelyard|pulumi|make|git|pip|kubectl) .*", block.body, re.MULTILINE)
            assert shown == [], f"{block.place}: nobody runs this"


def test_make_targets_are_in_the_makefile(page: Path, commands: ModuleType, root: Path) -> None:
    known = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert known >= commands.MAKE | commands.MAKE_IN_LAB
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
        config = value.get("config", value)
        # A file with a cluster and a GPU is a complete stack file.
        whole = config if {"kubernetes:context", "modelyard:gpu"} <= config.keys() else base | config
        file.write_text(yaml.safe_dump({"config": whole}), encoding="utf-8")
        stack, findings = load(file, block.place)
        assert stack is not None, findings
        assert findings == ()


@functools.cache
def options_of(verb: str) -> tuple[frozenset[str], Mapping[str, frozenset[str]]]:
    """Returns the options of a verb and those of each of its subcommands."""
    from modelyard.cli.parser import verb_parser

    def options(parser: argparse.ArgumentParser) -> frozenset[str]:
        return frozenset(name for action in parser._actions for name in action.option_strings)

    parser = verb_parser(verb)
    choices = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return options(parser), {sub: options(below) for each in choices for sub, below in each.items()}


def unknown_names(text: str, codes: Set[str]) -> list[str]:
    """Returns the codes, verbs and options in a text that modelyard does not have."""
    from modelyard.cli.parser import VERBS

    families = "|".join(sorted({code[:3] for code in codes}))
    found = set(re.findall(rf"\b(?:{families})\d{{3}}\b", text))
    # Codes of rules that readers write themselves, and the missing one in the example of POL001.
    unknown = [code for code in sorted(found - codes) if not re.fullmatch("POL9..|POL199", code)]
    for said in re.findall(r"`modelyard ([^`]+)`", text):
        verb, *words = said.split()
        if verb in VERBS:
            own, below = options_of(verb)
            known = own.union(*(names for sub, names in below.items() if sub in words))
            options = {word.partition("=")[0] for word in words if word.startswith("-")}
            unknown += [f"{verb} {option}" for option in sorted(options - known)]
        elif not verb.isupper() and verb not in ("--version", "holds"):  # a finding says that "modelyard holds" a field
            unknown.append(verb)
    return unknown


@pytest.fixture(scope="module")
def codes(doc_script: Callable[[str], ModuleType]) -> set[str]:
    return {rule.code for rule in doc_script("generate").rules.known_rules()}


def test_pages_name_only_verbs_and_codes_that_exist(page: Path, codes: set[str]) -> None:
    assert unknown_names(page.read_text(encoding="utf-8"), codes) == []


def test_generated_pages_name_only_verbs_and_codes_that_exist(
    codes: set[str], doc_script: Callable[[str], ModuleType]
) -> None:
    wrong = {name: unknown_names(text, codes) for name, text in doc_script("generate").committed().items()}
    assert {name: unknown for name, unknown in wrong.items() if unknown} == {}


@pytest.mark.lab
def test_commands_of_a_lab_page_run_on_a_real_cluster(
    lab_page: Path, commands: ModuleType, root: Path, tmp_path: Path
) -> None:
    from lab import Lab

    text = lab_page.read_text(encoding="utf-8")
    offline = commands.offline_environment(tmp_path)
    # The tools of the lab are in the user's cache, also with another home folder for the commands.
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    with Lab.start(tmp_path / "lab", context="dev") as lab:
        lab.install_platform("dev")
        project = tmp_path / "project"
        own = (project / ".venv" / "bin", project / "lab", lab.tools.bin)
        path = os.pathsep.join((*map(str, own), offline["PATH"]))
        environment = {**offline, **lab.variables(), "PATH": path, "XDG_CACHE_HOME": cache}
        place = commands.Workplace(project, environment, lab=True, clone=commands.needs_git(text))
        try:
            for block in commands.blocks(text, lab_page.relative_to(root).as_posix()):
                place.run(block)
        finally:
            down = [str(place.folder / "lab" / "modelyard-lab"), "down", "--all", "--delete"]
            subprocess.run(down, env=environment, check=True, capture_output=True)


def test_a_wrong_exit_code_is_an_error(commands: ModuleType, tmp_path: Path) -> None:
    place = commands.Workplace(tmp_path / "project", commands.offline_environment(tmp_path))
    (block,) = commands.blocks("```sh exit=1\nmodelyard gpus A10\n```\n", "page.md")
    with pytest.raises(commands.Wrong, match=r"page\.md:1: ended with 0, not 1"):
        place.run(block)


def test_a_block_inside_a_list_is_run(commands: ModuleType, tmp_path: Path) -> None:
    place = commands.Workplace(tmp_path / "project", commands.offline_environment(tmp_path))
    text = "1. First\n\n   ```console\n   $ echo one\n   zero\n   ```\n"
    assert commands.renewed(text, "page.md", place) == text.replace("zero", "one")


@pytest.mark.parametrize("info", ["", "bash", "shell", "sh labb", "sh ecit=1"])
@pytest.mark.parametrize("mark", ["```", "~~~", "  ```"])
def test_an_unknown_kind_of_block_is_an_error(info: str, mark: str, commands: ModuleType) -> None:
    with pytest.raises(commands.Wrong, match="unknown kind of code block"):
        list(commands.blocks(f"{mark}{info}\nmodelyard plan\n{mark}\n", "page.md"))


def test_make_targets_run_in_the_copy_of_the_project(commands: ModuleType, tmp_path: Path) -> None:
    place = commands.Workplace(tmp_path / "project", commands.offline_environment(tmp_path))
    (block,) = commands.blocks("```sh\nmake setup  # once\nmake demo > seen\nmake test\n```\n", "page.md")
    assert block.make_targets == ("setup", "test")
    place.run(block)
    assert "3 stacks" in (place.folder / "seen").read_text(encoding="utf-8")
    assert (place.folder / "out").is_dir()


def test_commands_of_a_page_do_not_change_the_real_environment(commands: ModuleType, tmp_path: Path) -> None:
    place = commands.Workplace(tmp_path / "project", commands.offline_environment(tmp_path))
    (block,) = commands.blocks("```sh\ntouch .venv/bin/made-by-a-page\n.venv/bin/python -c pass\n```\n", "page.md")
    place.run(block)
    assert not (Path(sys.prefix) / "bin" / "made-by-a-page").exists()


def test_a_python_block_with_a_syntax_error_is_an_error(commands: ModuleType, tmp_path: Path) -> None:
    place = commands.Workplace(tmp_path / "project", commands.offline_environment(tmp_path))
    (block,) = commands.blocks("```python\ndef rule(:\n```\n", "page.md")
    with pytest.raises(commands.Wrong, match=r"page\.md:1"):
        place.run(block)


def test_shown_output_is_renewed(commands: ModuleType, tmp_path: Path) -> None:
    place = commands.Workplace(tmp_path / "project", commands.offline_environment(tmp_path))
    old = "Before.\n\n```console\n$ echo one\nzero\n$ echo two\n```\n\nAfter.\n"
    assert commands.renewed(old, "page.md", place) == old.replace("zero", "one").replace("two\n```", "two\ntwo\n```")


def test_a_diff_must_match_one_place(commands: ModuleType, tmp_path: Path) -> None:
    place = commands.Workplace(tmp_path / "project", commands.offline_environment(tmp_path))
    (block,) = commands.blocks("```diff file=stacks/Pulumi.dev.yaml\n-no such line\n+another\n```\n", "page.md")
    with pytest.raises(commands.Wrong, match="has 0 places"):
        place.run(block)
