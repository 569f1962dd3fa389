"""A result from the cache equals that of a new run, whatever has changed."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from modelyard.cli.cache import trim
from modelyard.policy import judging
from modelyard.timelimit import TimeUp
from tests.support.cli_project import ROOT, Project
from tests.support.policy_project import RULE
from tests.support.project_copies import FAR

pytestmark = pytest.mark.slow

Process = Callable[..., "CompletedProcess[str]"]
L20 = """gpus:
  - {name: L20, labels: [NVIDIA-L20], tflops: 130, memoryGb: 48, compute: "8.9", nvlink: false, source: "sheet %s"}
"""
PRICES = "cards: [{model: A10, usdPerGpuHour: %s, date: 2026-10-01, source: contract}]\n"
PYTHON = "  modelyard:environments: [{name: data, python: '3.11', requirements: list.txt, image: 'python:3.11'}]\n"
WORKER = "deployment.ml-platform.deployment-ray-model-training-worker.json"
RECORDED = "stacks/recorded/dev"


def text(name: str) -> str:
    return (ROOT / name).read_text()


def rule(message: str) -> str:
    return RULE.format(code="POL901", more="", body=f"yield subject.finding({message})")


DEV = text("stacks/Pulumi.dev.yaml")
CHOICES: Mapping[str, tuple[str | None, ...]] = {
    "stacks/Pulumi.dev.yaml": (
        DEV,
        DEV.replace("memory: 32Gi", "memory: 40Gi"),
        DEV + "  modelyard:prices: prices.yaml\n",
        DEV + PYTHON,
        DEV + PYTHON + "  modelyard:prices: ../prices.yaml\n",
        DEV + FAR,
        DEV.replace("model: A10", "model: L20"),
        DEV + "  modelyard:waivers: [{code: OWN001, reason: known, by: me, expires: 2099-01-01}]\n",
        "config: [",
        None,
    ),
    "prices.yaml": (None, PRICES % "1.25", PRICES % "2.5", "cards: 1\n"),
    "list.txt": (None, "frames>=2\n", "frames>=3\n", "-r other.txt\n"),
    "environments/data.lock": (None, "no lock\n"),
    "hardware.yaml": (None, L20 % 1, L20 % 2, "gpus: 1\n"),
    "Pulumi.yaml": (text("Pulumi.yaml"), text("Pulumi.yaml").replace("name: ", "name: other-"), "name: [\n"),
    "patches/patches.lock": (text("patches/patches.lock"), text("patches/patches.lock").replace("v1    7", "v1    8")),
    "patches/ray-worker/v1/patch.yaml.j2": (text("patches/ray-worker/v1/patch.yaml.j2"), "a: [\n", None),
    "patches/mine/v1/patch.yaml.j2": (None, "# target: v1/ConfigMap mine\ndata: {a: b}\n"),
    "patches/mine/v1/meta.yaml": (None, "description: mine\n", "description: mine\nwhen: listed\n"),
    "patches/mine/v1/schema.json": (None, "{}"),
    "policies/policy.yaml": (None, "rules: {POL114: {level: error}}\n", "rules: {POL901: {level: advice}}\n", "a: 1\n"),
    "policies/rules/mine.py": (None, rule("'one', 'do it'"), rule("'two', 'do it'"), "from ._words import *\nx = 1 /"),
    "policies/rules/_words.py": (None, "said = 1\n"),
    "policies/assertions/no-surge.yaml": (None, text("policies/assertions/no-surge.yaml"), "code: POL114\n"),
    "policies/rules.py": (None, ""),
    f"{RECORDED}/cluster.json": (text(f"{RECORDED}/cluster.json"), "{}", None),
    f"{RECORDED}/{WORKER}": (
        text(f"{RECORDED}/{WORKER}"),
        text(f"{RECORDED}/{WORKER}").replace('"replicas": 1', '"replicas": 3'),
        "{",
        None,
    ),
    f"{RECORDED}@far/cluster.json": (None, text(f"{RECORDED}/cluster.json"), "{}"),
}
"""The files that the walk edits, each with the contents that it may have; None: it is not there."""
RUNS: tuple[tuple[str, ...], ...] = (
    ("plan", "dev"),
    ("plan", "dev", "--json"),
    ("plan", "dev", "--notes", "--colour", "always"),
    ("plan", "dev", "--no-cost", "--no-policies"),
    ("plan", "dev", "--target", "rayWorker"),
    ("plan", "dev", "prod"),
    ("plan", "--all", "--json", "--detailed-exitcode"),
    ("check", "dev"),
    ("check", "dev", "--notes"),
    ("check", "--all", "--format", "sarif"),
    ("check", "dev", "--no-policies", "--json"),
    ("plan", "dev", "--base", "first"),
    ("check", "dev", "--base", "second"),
    ("preview", "--base", "first"),
    ("preview", "--base", "second", "--policies", "head", "--format", "markdown"),
    ("preview", "--base", "first", "--head", "second", "--json"),
)


@pytest.fixture
def folder(tmp_path: Path, project: Project) -> Path:
    """The folder of the cache."""
    for part in ("Pulumi.staging.yaml", "recorded/staging"):
        path = project.root / "stacks" / part
        path.unlink() if path.is_file() else shutil.rmtree(path)
    return tmp_path / "cache"


def commit(root: Path, name: str) -> None:
    """Commits the project, and lets a branch have this name."""
    author = ("-c", "user.name=dev", "-c", "user.email=dev@example.com")
    made = (*author, "commit", "-q", "--allow-empty", "-m", name)
    for words in (("init", "-q"), ("add", "-A"), made, ("branch", name)):
        subprocess.run(["git", "-C", str(root), *words], check=True)


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resets what earlier tests set in this process, which forks copy."""
    monkeypatch.setattr(TimeUp, "raised", False)
    monkeypatch.setattr(judging, "_printed", False)


@pytest.fixture
def cached(process: Process, folder: Path) -> Process:
    """Runs the command line with the cache."""
    variables = {name: value for name, value in os.environ.items() if name != "MODELYARD_NO_CACHE"}

    def call(*words: str, **more: str) -> "CompletedProcess[str]":
        return process(*words, environment={**variables, "MODELYARD_CACHE_DIR": str(folder), **more})

    return call


def entries(folder: Path) -> list[Path]:
    """The files with results of stacks, without the one about Pulumi.yaml."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if not path.read_bytes().partition(b"\n")[2].startswith(b'{"folder"')]


def said(result: "CompletedProcess[str]") -> tuple[int, str, str]:
    return result.returncode, result.stdout, result.stderr


@pytest.mark.parametrize("seed", range(3))
def test_a_walk_through_edits(project: Project, process: Process, cached: Process, folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    held = {name: choices[0] for name, choices in CHOICES.items()}
    earlier, used = [(RUNS[0], held)], 0
    commit(project.root, "first")
    other = {name: chance.choice(CHOICES[name]) for name in chance.sample(sorted(CHOICES), 3)}
    for name, content in (held | other).items():
        write(project.root / name, content)
    commit(project.root, "second")
    for _ in range(25):
        words, held = chance.choice(earlier)
        if chance.random() < 0.5:
            # Most files are as they should be, so that most runs have a plan.
            edited = chance.sample(sorted(CHOICES), chance.choice((0, 1, 1, 2)))
            held = held | {name: chance.choice((CHOICES[name][0], *CHOICES[name])) for name in edited}
            words = chance.choice(RUNS)
        earlier.append((words, held))
        for name, content in held.items():
            write(project.root / name, content)
        before = entries(folder)
        result = cached(*words)
        assert said(result) == said(process(*words)), (words, held)
        used += result.returncode < 2 and entries(folder) == before
    assert used >= 2


def write(path: Path, content: str | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    elif not path.is_file() or path.read_text() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def test_a_stored_result_is_printed(cached: Process, folder: Path) -> None:
    first = cached("plan", "dev")
    assert said(cached("plan", "dev")) == said(first)
    (entry,) = entries(folder)
    assert entry.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    change(entry, lambda value: value | {"text": "another text\n"})
    assert cached("plan", "dev").stdout == "another text\n"
    assert cached("plan", "dev", "--no-cache").stdout == first.stdout
    assert cached("plan", "dev", MODELYARD_NO_CACHE="1").stdout == first.stdout
    assert cached("plan", "dev", "--policies", "base", "--base", "HEAD").stdout != "another text\n"
    assert cached("plan", "dev", "--colour", "always").stdout != "another text\n"
    assert entries(folder) != [entry]


def change(entry: Path, how: Callable[[Any], Any]) -> None:
    """Changes the value of an entry."""
    content = json.loads(entry.read_bytes().partition(b"\n")[2])
    text = json.dumps(content | {"value": how(content["value"])}).encode()
    entry.write_bytes(sha256(text).hexdigest().encode() + b"\n" + text)


@pytest.mark.parametrize("damage", [b"", b"\xff", b"x\n{}", None])
def test_a_damaged_entry_is_replaced(cached: Process, folder: Path, damage: bytes | None) -> None:
    first = cached("plan", "dev")
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-1] if damage is None else damage)
    assert said(cached("plan", "dev")) == said(first)
    assert entry.read_bytes() == whole


def test_a_folder_that_others_can_write_is_not_used(cached: Process, folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert cached("plan", "dev").returncode == 0
    assert not entries(folder)


def test_a_folder_that_cannot_be_made_is_no_error(cached: Process, folder: Path) -> None:
    folder.write_text("")
    assert cached("plan", "dev").returncode == 0


def test_the_users_folder(process: Process, folder: Path) -> None:
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_CACHE_HOME": "relative"}
    assert process("plan", "dev", environment=variables).returncode == 0
    assert len(entries(folder / ".cache/modelyard")) == 1
    variables["XDG_CACHE_HOME"] = str(folder / "own")
    assert process("plan", "dev", environment=variables).returncode == 0
    assert len(entries(folder / "own/modelyard")) == 1


def test_stacks_without_a_plan_are_planned_again(project: Project, cached: Process, folder: Path) -> None:
    project.stack_file().write_text("config: [")
    assert cached("plan", "dev", "prod").returncode == 2
    assert len(entries(folder)) == 1


def test_the_output_of_rules_is_printed_each_time(project: Project, cached: Process, folder: Path) -> None:
    write(project.root / "policies/rules/mine.py", RULE.format(code="POL901", more="", body="print('seen'); return ()"))
    for verb in ("plan", "check"):
        for _ in range(2):
            assert "seen" in cached(verb, "dev").stderr
    assert not entries(folder)


def test_the_longest_unused_entries_are_removed(tmp_path: Path) -> None:
    for age, name in enumerate("abcd"):
        (tmp_path / name).write_bytes(bytes(10))
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    trim(tmp_path, 25)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize(
    "words",
    [("plan", "dev"), ("plan", "dev", "--json", "--notes"), ("check", "dev"), ("preview", "--base", "first")],
    ids=" ".join,
)
def test_all_inputs_of_a_run_are_in_the_key(project: Project, words: tuple[str, ...]) -> None:
    """If this fails, a plan reads something new: let ``cli.inputs`` cover it."""
    root = project.root
    commit(root, "first")
    project.edit(("model: A10", "model: L20"))
    project.stack_file().write_text(f"{project.stack_file().read_text()}{PYTHON}  modelyard:prices: prices.yaml\n{FAR}")
    shutil.copytree(ROOT / "policies", root / "policies", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(root / RECORDED, root / f"{RECORDED}@far")
    shutil.copytree(root / RECORDED, root / f"{RECORDED}@gone")
    for name, content in {"hardware.yaml": L20 % 1, "prices.yaml": PRICES % 1, "list.txt": "frames>=2\n"}.items():
        write(root / name, content)
    command = [sys.executable, "-m", "tests.support.traced_reads", str(root), "-C", str(root), *words]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    found = json.loads(result.stderr.rpartition("\n")[2])
    assert found["code"] < 2, result.stderr
    key, run = ({kind: below(names, root) for kind, names in found[one].items()} for one in ("key", "run"))
    named = {str(root / name) for name in ("prices.yaml", "list.txt", "environments/data.lock")}
    folders = {str(folder) for name in (*key["opened"], *key["listed"], *named) for folder in Path(name).parents}
    known = key["opened"] | key["listed"] | key["sought"] | named | folders
    assert [name for name in run["opened"] - known if Path(name).exists() or not missed(name, key["listed"])] == []
    assert [name for name in run["listed"] - key["listed"] if not missed(name, key["listed"])] == []
    assert [name for name in run["sought"] - known if not missed(name, key["listed"])] == []
    # The style and the stacks are in the key; the others only say how an internal error is shown.
    shown = {"COLUMNS", "NO_COLOR", "TERM"}
    # Where the files of another commit are does not change them.
    other = {"PATH", "TMPDIR", "TMP", "TEMP", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"}
    assert set(found["run"]["variables"]) <= (shown | other if words[0] == "preview" else shown)
    # Everything else belongs to Python, its packages, and modelyard.
    outside = {Path(name) for name in found["run"]["opened"]} - {Path(name) for name in run["opened"]}
    places = {sys.prefix, sys.base_prefix, *filter(None, sys.path), tempfile.gettempdir()}
    own = (ROOT, Path("/dev"), *map(Path, places))
    assert [path for path in outside if not any(path.is_relative_to(one) for one in own)] == []


def missed(name: str, listed: set[str]) -> bool:
    """Whether a listed folder shows that it does not exist."""
    return str(next(path for path in Path(name).parents if path.is_dir())) in listed


def below(names: list[str], root: Path) -> set[str]:
    return {name for name in names if Path(name).is_relative_to(root)}


def test_options_of_check_are_in_the_key(cached: Process) -> None:
    words = ("check", "--all", "--notes", "--format", "sarif")
    assert said(cached(*words)) == said(cached(*words))
    assert "https://docs.example/rules" in cached(*words, MODELYARD_DOCS_URL="https://docs.example").stdout
    assert "https://docs.example/rules" not in cached(*words).stdout
    assert len(cached("check", "--all", "--notes").stdout) > len(cached("check", "--all").stdout)


def test_a_named_file_that_changes_during_the_run_is_read_again(
    project: Project, cached: Process, folder: Path
) -> None:
    project.add("modelyard:prices: prices.yaml")
    write(project.root / "prices.yaml", PRICES % 1)
    os.utime(project.root / "prices.yaml", (4e9, 4e9))
    assert cached("plan", "dev").returncode == 0
    assert not entries(folder)
    os.utime(project.root / "prices.yaml", (1e9, 1e9))
    assert cached("plan", "dev").returncode == 0
    assert len(entries(folder)) == 1


def test_a_preview_is_one_entry(project: Project, cached: Process, folder: Path, tmp_path: Path) -> None:
    commit(project.root, "first")
    project.edit(("memory: 32Gi", "memory: 40Gi"))
    words = ("preview", "--base", "first")
    first = cached(*words)
    (entry,) = entries(folder)
    change(entry, lambda value: [["another text\n"], *value[1:]])
    assert cached(*words).stdout == "another text\n"
    assert cached(*words, "--no-cache").stdout == first.stdout
    assert cached(*words, "--head", "HEAD").stdout not in (first.stdout, "another text\n")
    pages = [tmp_path / "first.md", tmp_path / "second.md"]
    for page in pages:
        cached(*words, "--out", str(page))
    assert pages[0].read_text() == pages[1].read_text() != "another text\n"
    assert len(entries(folder)) == 3
    project.edit(("memory: 40Gi", "memory: 48Gi"))
    assert "48Gi" in cached(*words).stdout


def test_the_commit_of_a_base_is_in_the_key(project: Project, cached: Process, folder: Path) -> None:
    commit(project.root, "first")
    words = ("plan", "dev", "--base", "HEAD")
    cached(*words)
    (entry,) = entries(folder)
    change(entry, lambda value: value | {"text": "another text\n"})
    assert cached(*words).stdout == "another text\n"
    commit(project.root, "second")
    assert cached(*words).stdout != "another text\n"
