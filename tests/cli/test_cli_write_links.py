"""No verb that writes into the project does so through a link: what it leads to stays as it is."""

import hashlib
import shutil
import subprocess
from argparse import SUPPRESS
from pathlib import Path
from typing import Any

import pytest

from modelyard.cli.parser import VERBS, verb_parser
from modelyard.cluster.live import Snapshot
from modelyard.cluster.recorded import forget_recorded, write_recorded
from modelyard.hiding import Confidential

pytestmark = pytest.mark.slow


def linked(path: Path, leads: Path) -> None:
    """Puts a link in the place of a file or folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(leads)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder outside of the project, with somebody's files."""
    folder = tmp_path / "outside"
    (folder / "dev").mkdir(parents=True)
    for name in ("file.yaml", "dev/cluster.json", "dev/configmap.a.b.json"):
        (folder / name).write_text("{}")
    return folder


OURS = "of the project; "
"""What every refusal to write there has."""
IDENTITY = ("-c", "user.name=dev", "-c", "user.email=dev@example.com")
REMOTE = """
modelyard:buckets: [{name: lake, url: s3://acme-lake, reachedBy: [platform, far]}]
modelyard:resources:
  - name: far
    type: training
    gpus: 1
    remote:
      cluster:
        controller: https://10.8.0.5:6443
        context: far
        quota: {cpu: 8, memory: 32Gi, gpus: 1}
        readSecret: a
        writeSecret: b
      data: {shared: {bucket: lake, prefix: datasets}}
      model: {bucket: lake, prefix: models}
      image: trainer:1
modelyard:jobs: [{name: far-job, type: training, resource: far, command: [python, x.py], model: {parameters: 1M}}]
"""
WORDS = {
    "fmt": ("fmt",),
    "plan": ("plan", "dev", "--out", "file.out"),
    "check": ("check", "dev", "--format", "json", "--output", "file.out"),
    "preview": ("preview", "--base", "HEAD", "--format", "text", "--output", "file.out"),
    "preview in a folder": ("preview", "--base", "HEAD", "--format", "text", "--output", "folder/deep/file.out"),
    "render": ("render", "dev", "--out", "folder"),
    "render further": ("render", "dev", "--out", "folder/deep"),
    "render here": ("render", "dev"),
    "remote": ("remote", "dev", "--write", "folder"),
    "promote": ("promote", "staging", "dev", "--write"),
    "release": ("patches", "--release"),
    "lock": ("environment", "lock", "dev", "training"),
}


@pytest.mark.parametrize("leads", ["file.yaml", "nowhere", "dev"])
@pytest.mark.parametrize(
    ("verb", "file"),
    [
        ("fmt", "stacks/Pulumi.dev.yaml"),
        ("fmt", "stacks/.Pulumi.dev.yaml.fmt"),
        ("promote", "stacks/Pulumi.dev.yaml"),
        ("release", "patches/patches.lock"),
        ("lock", "environments/training.lock"),
        ("lock", "environments"),
        ("plan", "file.out"),
        ("check", "file.out"),
        ("preview", "file.out"),
        ("preview in a folder", "folder"),
        ("preview in a folder", "folder/deep"),
        ("render", "folder"),
        ("render further", "folder"),
        ("render further", "folder/deep"),
        ("render here", "out"),
        ("render here", "out/vendor"),
        ("remote", "folder"),
    ],
)
@pytest.mark.parametrize("inside", [False, True], ids=["out of the project", "in the project"])
def test_no_verb_writes_through_a_link_of_the_project(
    project: Any, run: Any, cli: Any, outside: Path, monkeypatch: Any, verb: str, file: str, leads: str, inside: bool
) -> None:
    if inside:
        outside = outside.rename(project.root / "theirs")
    monkeypatch.setattr("modelyard.workloads.environments.locking.resolved", lambda *_: "locked\n")
    project.add('modelyard:environments: [{name: training, python: "3.11", pip: [numpy]}]')
    if verb == "release":
        project.patch("fresh", "deployment/x:\n{}")
    if verb.startswith("preview"):
        for words in (("init", "--quiet"), (*IDENTITY, "commit", "--quiet", "--allow-empty", "--message", "one")):
            subprocess.run(["git", "-C", str(project.root), *words], check=True)
    if verb == "remote":
        project.add(REMOTE)
    linked(project.root / file, outside / leads)
    before = cli.tree(outside)
    done = run(*WORDS[verb])
    assert cli.tree(outside) == before
    assert (project.root / file).is_symlink()
    # An unreadable lock is a finding.
    assert done.code == (1 if verb == "release" else 2) or verb == "fmt", done.text


@pytest.mark.parametrize("words", [WORDS["plan"], WORDS["check"], WORDS["render further"], WORDS["remote"]])
def test_links_of_the_user_are_followed(project: Any, run: Any, tmp_path: Path, words: tuple[str, ...]) -> None:
    """They may lead to the project's folder, and to outputs outside of it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    project.add(REMOTE)
    done = run(*words[:-1], str(tmp_path / "link" / words[-1]))
    assert done.code == 0, done.text
    assert (tmp_path / "real" / words[-1]).exists()


def test_links_of_the_repository_around_the_project_are_not_followed(
    project: Any, run: Any, outside: Path, tmp_path: Path
) -> None:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    root = project.root.rename(tmp_path / "repository" / "platform")
    for folder, code in ((tmp_path / "repository", 2), (tmp_path, 0)):
        linked(folder / "a.json", outside / "file.yaml")
        result = run("-C", str(root), "check", "dev", "--output", str(folder / "a.json"))
        assert (result.code, (outside / "file.yaml").read_text() == "{}") == (code, code == 2), result.text


OWN = (
    "stacks/Pulumi.prod.yaml", "stacks/new.json", "stacks/recorded/dev/cluster.json", "stacks/../stacks/__main__.py",
    "patches/patches.lock", "patches/new/v1/meta.yaml", "policies/policy.yaml", "components/a.py", "Pulumi.yaml",
    "Pulumi.yml", ".git/config", ".git/hooks/pre-commit", "sub/.git/config", ".GIT/config", ".git",
    "environments/training.lock", ".pulumi/stacks/modelyard/dev.json", "conf/Pulumi.dev.yaml", "conf/new.json",
)  # fmt: skip
WRITES = {
    "plan": ("plan", "dev", "--out"),
    "check": ("check", "dev", "--format", "json", "--out"),
    "preview": ("preview", "--base", "HEAD", "--format", "json", "--out"),
    "render": ("render", "dev", "--out-dir"),
    "remote": ("remote", "dev", "--out-dir"),
    "waves": ("waves", "--format", "json", "--out"),
}
"""Every verb that writes where the user says; a new one belongs here, which the test below sees to."""


@pytest.mark.parametrize("verb", WRITES)
@pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
def test_no_output_replaces_a_file_of_the_project(project: Any, run: Any, cli: Any, verb: str, absolute: bool) -> None:
    project.add(REMOTE)
    text = (project.root / "Pulumi.yaml").read_text().replace("stackConfigDir: stacks", "stackConfigDir: conf")
    (project.root / "Pulumi.yaml").write_text(text)
    (project.root / "conf").mkdir()
    for file in (project.root / "stacks").glob("Pulumi.*.yaml"):
        shutil.copy(file, project.root / "conf" / file.name)
    for words in (("init", "--quiet"), (*IDENTITY, "commit", "--quiet", "--allow-empty", "--message", "one")):
        subprocess.run(["git", "-C", str(project.root), *words], check=True)
    before = cli.tree(project.root)
    for file in OWN:
        if verb in ("render", "remote") and file.startswith("Pulumi."):
            continue  # a folder of that name is in nobody's way
        done = run(*WRITES[verb], str(project.root / file) if absolute else file)
        assert (done.code, OURS in done.words) == (2, True), (file, done.text)
    assert cli.tree(project.root) == before


def test_stack_files_in_the_projects_folder_are_not_replaced_by_outputs(project: Any, run: Any, refused: Any) -> None:
    text = (project.root / "Pulumi.yaml").read_text().replace("stackConfigDir: stacks", "stackConfigDir: .")
    (project.root / "Pulumi.yaml").write_text(text)
    project.stack_file().rename(project.root / "Pulumi.dev.yaml")
    for name in ("Pulumi.dev.yaml", "Pulumi.other.yaml", "./Pulumi.dev.yaml"):
        assert OURS in refused("plan", "dev", "--out", name, code=2).words
    assert run("plan", "dev", "--out", "plan.json").code == 0


@pytest.mark.parametrize("words", [("check", "dev"), ("preview", "--base", "HEAD")], ids=lambda words: words[0])
def test_no_output_is_written_if_one_is_refused(project: Any, refused: Any, words: tuple[str, ...]) -> None:
    result = refused(*words, "--output", "fine.json", "--output", "stacks/new.json", code=2)
    assert OURS in result.words
    assert not (project.root / "fine.json").exists()


@pytest.mark.parametrize("verb", ["plan", "check", "preview"])
def test_an_earlier_output_is_replaced(project: Any, run: Any, verb: str) -> None:
    for words in (("init", "--quiet"), (*IDENTITY, "commit", "--quiet", "--allow-empty", "--message", "one")):
        subprocess.run(["git", "-C", str(project.root), *words], check=True)
    for _ in range(2):
        assert run(*WRITES[verb], "out.json").code == 0
    (project.root / "out.json").write_text("{}")
    assert run(*WRITES[verb], "out.json").code == 0
    assert (project.root / "out.json").read_text() != "{}"


def test_every_option_that_names_an_output_is_tested() -> None:
    named = {
        (verb, option)
        for verb in VERBS
        for action in verb_parser(verb)._actions
        for option in action.option_strings
        # Earlier names are not in the help.
        if option in ("--out", "--out-dir") and action.help != SUPPRESS
    }
    assert named == {(words[0], words[-1]) for words in WRITES.values()}


@pytest.mark.parametrize("out", ["stacks", "patches/mine/v1", "policies", "policies/../components", ".git/hooks"])
def test_generated_files_are_not_written_among_those_of_the_project(project: Any, refused: Any, out: str) -> None:
    """Even with a manifest whose digests are right: anybody can put one there."""
    assert OURS in refused("render", "dev", "--out", out, code=2).words


def test_generated_files_may_be_next_to_stack_files_in_the_projects_folder(project: Any, run: Any) -> None:
    text = (project.root / "Pulumi.yaml").read_text().replace("stackConfigDir: stacks", "stackConfigDir: .")
    (project.root / "Pulumi.yaml").write_text(text)
    project.stack_file().rename(project.root / "Pulumi.dev.yaml")
    assert run("render", "dev").code == 0
    assert OURS in run("render", "dev", "--out", ".").words


def test_a_stack_named_like_a_folder_of_the_project_is_not_rendered_into_it(project: Any, refused: Any) -> None:
    project.stack_file("stacks").write_bytes(project.stack_file().read_bytes())
    shutil.copytree(project.root / "stacks/recorded/dev", project.root / "stacks/recorded/stacks")
    digest = hashlib.sha256(project.stack_file("prod").read_bytes()).hexdigest()
    (project.root / "stacks/.modelyard").write_text(f"{digest}  Pulumi.prod.yaml\n")
    assert OURS in refused("render", "stacks", "--out", ".", code=2).words


def test_a_file_that_is_not_a_lock_is_not_replaced(project: Any, refused: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("modelyard.workloads.environments.locking.resolved", lambda *_: "locked\n")
    project.add('modelyard:environments: [{name: training, python: "3.11", pip: [numpy]}]')
    (project.root / "environments").mkdir()
    (project.root / "environments/training.lock").write_text("numpy==2.0\n")
    assert "environments/training.lock: it is not a lock" in refused(*WORDS["lock"], code=2).words


@pytest.mark.parametrize("link", ["stacks", "stacks/recorded", "stacks/recorded/dev"])
@pytest.mark.parametrize("act", ["write", "forget"])
def test_a_recording_is_neither_written_nor_removed_through_a_link(
    tmp_path: Path, cli: Any, outside: Path, link: str, act: str
) -> None:
    (outside / "recorded").symlink_to(outside)
    leads = {"stacks": outside, "stacks/recorded": outside, "stacks/recorded/dev": outside / "dev"}
    linked(tmp_path / "project" / link, leads[link])
    before = cli.tree(outside)
    with pytest.raises(OSError, match="symbolic link"):
        if act == "forget":
            forget_recorded(tmp_path / "project", "dev")
        else:
            nothing = Confidential(())
            taken = Snapshot("", "", nothing, nothing, nothing, nothing)
            write_recorded(tmp_path / "project", "dev", taken, "")
    assert cli.tree(outside) == before
