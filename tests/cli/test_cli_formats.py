"""``modelyard check`` in the formats of CI systems: what is written where, and the exit codes."""

import json
import os
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

Project = Any
Run = Any
BAD = ("model: A10", "model: L4")
BROKEN = ("perWorker: 1", "perWorker: many")


@pytest.fixture(autouse=True)
def no_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_STEP_SUMMARY", "MODELYARD_DOCS_URL"):
        monkeypatch.delenv(name, raising=False)


def levels(sarif: str) -> list[str]:
    return [result["level"] for result in json.loads(sarif)["runs"][0]["results"]]


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github"])
@pytest.mark.parametrize(("edits", "code"), [((), 0), ((BAD,), 1), ((BROKEN,), 2)])
def test_every_format_has_the_same_exit_code(
    project: Project, run: Run, form: str, edits: tuple[tuple[str, str], ...], code: int
) -> None:
    project.edit(*edits)
    assert run("check", "--all", "--format", form).code == code


def test_format_json_prints_the_same_as_option_json(run: Run) -> None:
    assert run("check", "--all", "--format", "json").out == run("check", "--all", "--json").out


def test_sarif_has_errors_and_warnings(project: Project, run: Run) -> None:
    project.edit(BAD, ("timeout: 6h30m", "timeout: 1h"))
    assert levels(run("check", "dev", "--format", "sarif").out) == ["error", "warning"]


def test_sarif_with_notes_has_waived_findings_too(project: Project, run: Run) -> None:
    project.edit(BAD)
    day = date.today() + timedelta(days=30)
    items = [f"- {{code: {code}, reason: slower is fine, expires: {day}}}" for code in ("GPU001", "RES101")]
    project.add("\n".join(["modelyard:waivers:", *items]))
    result = run("check", "dev", "--format", "sarif", "--notes")
    assert result.code == 0
    found = json.loads(result.out)["runs"][0]["results"]
    waived = {one["ruleId"]: one["suppressions"][0]["justification"] for one in found if "suppressions" in one}
    assert waived == dict.fromkeys(("GPU001", "RES101"), "slower is fine")
    assert "error" not in [one["level"] for one in found]
    assert "note" in [one["level"] for one in found if "suppressions" not in one]


def test_sarif_links_to_the_documentation_if_its_address_is_set(
    project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODELYARD_DOCS_URL", "https://example.com")
    project.edit(("timeout: 6h30m", "timeout: 1h"))
    (rule,) = json.loads(run("check", "dev", "--format", "sarif").out)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["helpUri"] == f"https://example.com/rules/{rule['id']}.html"


def test_files_are_named_from_the_root_of_the_repository(project: Project, run: Run) -> None:
    (project.root.parent / ".git").mkdir()
    project.edit(BAD)
    inside = f"::error file={project.root.name}/stacks/Pulumi.dev.yaml,line="
    assert inside in run("check", "dev", "--format", "github").out
    (project.root / ".git").write_text("gitdir: ../other\n")
    assert "::error file=stacks/Pulumi.dev.yaml,line=" in run("check", "dev", "--format", "github").out


def test_one_run_writes_every_file_and_text_for_the_log(project: Project, run: Run) -> None:
    project.edit(BAD)
    result = run("check", "--all", "--output", "a.sarif", "--output", "out/b.xml", "--output", "c.json")
    assert result.code == 1
    assert result.out == run("check", "--all").out
    assert levels(Path("a.sarif").read_text()).count("error") == 1
    assert ElementTree.parse("out/b.xml").getroot().get("failures") == "1"
    assert json.loads(Path("c.json").read_text())["formatVersion"] == 1
    assert "out/b.xml" in result.err


def test_annotations_count_what_text_counts(run: Run) -> None:
    total = run("check", "--all").out.splitlines()[-1]
    assert "notes" in total
    assert run("check", "--all", "--format", "github").out.splitlines()[-1] == total


def test_annotations_and_a_file_are_written_together(project: Project, run: Run) -> None:
    project.edit(BAD)
    result = run("check", "--all", "--format", "github", "--output", "a.sarif")
    assert result.out.startswith("::error file=")
    assert "error" in levels(Path("a.sarif").read_text())


def test_format_sets_the_format_of_a_file_without_an_extension(run: Run) -> None:
    run("check", "--all", "--format", "junit", "--output", "report")
    assert Path("report").read_text().startswith("<?xml")


def test_files_have_no_colours(project: Project, run: Run) -> None:
    project.edit(("timeout: 6h30m", "timeout: 1h"))
    result = run("check", "--all", "--colour", "always", "--output", "a.txt")
    assert "\x1b[" in result.out
    assert "\x1b[" not in Path("a.txt").read_text()


def test_options_that_contradict_each_other_are_refused(refused: Run, golden: Any) -> None:
    golden(
        refused("preview", "--json", "--format", "html", code=2),
        *(
            refused("check", "--all", *line.split(), code=2)
            for line in (
                "--format sarif --json",
                "--output report",
                "--output a.sarif --output report --format junit",
                "--format github --output report",
                "--format yaml",
                "--output stacks/Pulumi.dev.yaml/a.sarif",
                "--output .",
            )
        ),
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_file_that_cannot_be_written_is_not_changed(project: Project, refused: Run) -> None:
    (project.root / "a.sarif").write_text("before")
    project.root.chmod(0o500)
    try:
        refused("check", "--all", "--output", "a.sarif", code=2)
    finally:
        project.root.chmod(0o700)


def test_the_summary_of_a_step_is_appended(
    project: Project, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    run("check", "--all")
    assert summary.read_text() == "before\n"
    project.edit(BAD)
    run("check", "--all", "--format", "github")
    text = summary.read_text()
    assert text.startswith("before\n### modelyard check\n")
    assert "| error | GPU001 | L4 " in text


def test_the_same_stacks_give_the_same_bytes(run: Run) -> None:
    for form in ("sarif", "junit", "github"):
        assert run("check", "--all", "--format", form).out == run("check", "--all", "--format", form).out


def test_a_finding_has_the_line_of_a_patch(project: Project, run: Run) -> None:
    project.patch("mine", "# target: deployment-ray-head\napiVersion: apps/v1\nkind: Deployment\nspec:\n  replica: 1\n")
    out = run("check", "dev", "--format", "github").out
    assert "::error file=patches/mine/v1/patch.yaml.j2,line=5,title=PAT008 dev deployment-ray-head::" in out


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github"])
def test_a_report_has_at_most_100_findings_of_a_code_and_file(project: Project, run: Run, form: str) -> None:
    jobs = "".join(f"  - {{name: j{number}, type: training, resource: none}}\n" for number in range(300))
    project.add(f"modelyard:jobs:\n{jobs}")
    result = run("check", "dev", *(() if form == "text" else ("--format", form)))
    assert result.code == 1
    assert "300 findings" in result.words
    assert "job j99 uses" in result.words
    assert "job j100 uses" not in result.words
