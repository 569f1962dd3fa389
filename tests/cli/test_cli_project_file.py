"""Wrong project files: each command reports them with a line."""

from typing import Any

import pytest

VALID = "name: x\nruntime: python\n"
COMMANDS = [
    ("check", "--all"),
    ("check", "dev"),
    ("show", "dev"),
    ("plan", "dev"),
    ("render", "dev"),
    ("preview", "--base", "HEAD"),
    ("patches",),
    ("fmt", "--check"),
    ("promote", "dev", "staging"),
    ("ledger", "dev"),
    ("drift", "dev"),
    ("apply", "dev"),
    ("destroy", "dev"),
    ("record", "dev"),
    ("diff", "dev"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=[" ".join(words) for words in COMMANDS])
def test_every_command_reports_a_damaged_project_file(project: Any, refused: Any, words: tuple[str, ...]) -> None:
    (project.root / "Pulumi.yaml").write_text("name: x\nruntime: {\n")
    result = refused(*words, code=2)
    assert "CFG004" in result.text
    assert "Pulumi.yaml:2:10" in result.text


@pytest.mark.parametrize("words", COMMANDS, ids=[" ".join(words) for words in COMMANDS])
def test_no_command_reads_stack_files_outside_the_project(project: Any, refused: Any, words: tuple[str, ...]) -> None:
    (project.root / "stacks").rename(project.root.parent / "stacks")
    (project.root / "Pulumi.yaml").write_text("name: x\nruntime: python\nmain: .\nstackConfigDir: ../stacks\n")
    result = refused(*words, code=2)
    assert result.errors == ["CFG018"]
    assert "Pulumi.yaml:4:17" in result.text


@pytest.mark.parametrize(
    ("text", "code", "place", "words"),
    [
        ("{", "CFG004", "Pulumi.yaml:", "the text is not YAML"),
        ("", "CFG007", "Pulumi.yaml:1:1", "the project file is empty, not a mapping"),
        ("- a\n", "CFG007", "Pulumi.yaml:1:1", "the project file is a list, not a mapping"),
        ("runtime: python\n", "CFG009", "Pulumi.yaml:1:1", "the project has no name"),
        ("name: x\n", "CFG009", "Pulumi.yaml:1:1", "the project has no runtime"),
        ("name: 5\nruntime: python\n", "CFG018", "Pulumi.yaml:1:7", "name is 5, not text"),
        ("name: x\nruntime: go\n", "CFG018", "Pulumi.yaml:2:10", 'runtime is "go", but the program is Python'),
        ("name: x\nruntime: {options: {}}\n", "CFG018", "Pulumi.yaml:2:10", "runtime is without a name"),
        ("name: x\nruntime: python\nmain: stakcs/\n", "CFG018", "Pulumi.yaml:3:7", 'main is "stakcs/"'),
        (f"name: x\nruntime: python\nmain: {'x' * 5000}\n", "CFG018", "Pulumi.yaml:3:7", "does not exist"),
        ("name: x\nruntime: python\nmain:\n", "CFG018", "Pulumi.yaml:3", "main is empty"),
        ("name: x\nruntime: python\nconfig: envs\n", "CFG018", "Pulumi.yaml:3:9", "write stackConfigDir"),
        ("name: x\nruntime: python\nstackConfigDir: /a\n", "CFG018", "Pulumi.yaml:3:17", "absolute path"),
        ("name: x\nruntime: python\nstackConfigDir: [a]\n", "CFG018", "Pulumi.yaml:3:17", "not text"),
        (f"{VALID}config:\n  modelyard:gpu: {{value: {{model: A10}}}}\n", "CFG008", "Pulumi.yaml:4:3", "modelyard:gpu"),
        (f"{VALID}config: {{modelyard:training: ray}}\n", "CFG008", "Pulumi.yaml:3:10", "modelyard:training"),
        ("name: modelyard\nruntime: python\nconfig: {gpu: {default: 1}}\n", "CFG008", "Pulumi.yaml:3:10", "sets gpu"),
        ("name: x\nname: y\nruntime: python\n", "CFG006", "Pulumi.yaml:2:1", "name"),
        ("name: \x00\n", "CFG002", "Pulumi.yaml:1:7", "control character"),
        # These files are not read to the end, so a missing name is no finding.
        ("[" * 20_000, "CFG003", "Pulumi.yaml:1:65", "nested deeper than 64 levels"),
        ('{"a":' * 200, "CFG003", "Pulumi.yaml:1:321", "nested deeper than 64 levels"),
        ("name: x\nruntime: !mine python\n", "CFG005", "Pulumi.yaml:2:10", "the value has a tag"),
        ("name: x\nruntime: python\n---\nname: y\n", "CFG005", "Pulumi.yaml:3:1", "a second document"),
        ("name: x\nruntime: *none\n", "CFG005", "Pulumi.yaml:2:10", "without an anchor before it"),
    ],
)
def test_wrong_project_files(project: Any, refused: Any, text: str, code: str, place: str, words: str) -> None:
    (project.root / "Pulumi.yaml").write_text(text)
    result = refused("check", "--all", code=2)
    assert result.errors == [code]
    assert place in result.text
    assert words in result.words


@pytest.mark.parametrize(
    "text",
    [
        "name: x\nruntime: python\n",
        "name: x\nruntime: {name: python, options: {toolchain: uv}}\nmain: .\n",
        "name: x\nruntime: python\nconfig: {aws:region: {value: eu}}\nplugins: {}\nwhatever: [1]\n",
        f"{VALID}config: {{modelyard:training: {{type: string}}, training: {{default: ray}}, 5: 6}}\n",
        "x: &a {name: python}\nname: x\nruntime: *a\n",
    ],
)
def test_other_keys_of_pulumi_are_accepted(project: Any, run: Any, text: str) -> None:
    (project.root / "Pulumi.yaml").write_text(text)
    assert run("check", "--all").code == 0


def test_a_stack_folder_with_an_impossible_name(project: Any, refused: Any) -> None:
    (project.root / "Pulumi.yaml").write_text('name: x\nruntime: python\nstackConfigDir: "a\\0b"\n')
    assert "no stack files" in refused("check", "--all", code=2).words


def test_all_errors_are_reported_together(project: Any, refused: Any) -> None:
    (project.root / "Pulumi.yaml").write_text("name: ''\nruntime: nodejs\nmain: 5\n")
    assert refused("check", "--all", code=2).errors == ["CFG018"] * 3
