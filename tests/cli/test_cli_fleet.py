"""Stacks planned by another executor, on a copy of the files in another place, have the same output.

Refusals are in ``tests/golden/test_cli_fleet.txt``.
"""

import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from functools import partial
from importlib.metadata import EntryPoint
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from modelyard import __version__
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.fleet import on_ray, worker
from modelyard.cli.fleet.snapshot import dump, load, pack, remove, unpack
from modelyard.cluster.recorded import recorded_remote_names
from tests.support.cli_project import Project, Run

pytestmark = pytest.mark.slow

GPU = """gpus:
  - name: L20
    labels: [NVIDIA-L20]
    tflops: 119.5
    memoryGb: 48
    compute: "8.9"
    nvlink: false
    source: made-up data sheet, page 3
"""
PART = 2


def remotely(
    items: Sequence[Any], work: Callable[[Any], Any], folders: tuple[Path, ...], /
) -> Generator[Any, None, None]:
    """Like executors on other machines: exchanges bytes only, and has no terminal."""
    snapshot, packed = pack(folders), dump(work, folders)
    parts = [items[start : start + PART] for start in range(0, len(items), PART)]
    here, streams = Path.cwd(), (sys.stdout, sys.stderr)
    for part in parts:
        files = snapshot.files_of(part)
        os.chdir("/")
        sys.stdout, sys.stderr = StringIO(), StringIO()
        try:
            found = worker.run(
                snapshot.digest,
                lambda: snapshot.content,
                len(folders),
                work=packed,
                items=dump(part, folders),
                files=files,
            )
            assert (sys.stdout.getvalue(), sys.stderr.getvalue()) == ("", "")
        finally:
            sys.stdout, sys.stderr = streams
            os.chdir(here)
        for succeeded, value in pickle.loads(found):
            if not succeeded:
                raise value
            yield value


@pytest.fixture
def other(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs with the executor ``remotely`` of another package."""
    point = EntryPoint("remotely", f"{__name__}:remotely", "modelyard.executors")
    monkeypatch.setattr(EntryPoint, "load", lambda _self: remotely)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point] if group == point.group else [])
    return lambda *words: run(*words, "--on", "remotely")


@pytest.fixture
def fleet(project: Project) -> Project:
    """Stacks of every kind: valid, broken, misnamed, and with a link as file and as recorded platform."""
    (project.root / "hardware.yaml").write_text(GPU)
    (project.root / "policies/rules").mkdir(parents=True)
    (project.root / "policies/rules/_shared.py").write_text("WORDS = 'never'\n")
    for name in ("one", "two", "three"):
        project.stack_file(name).write_bytes(project.stack_file().read_bytes())
        (project.root / "stacks/recorded" / name).symlink_to("dev")
    project.edit(("replicas: 2", "replicas: -2"), stack="one")
    project.edit(("memory: 32Gi", "memory: 48Gi"), stack="two")
    project.add("modelyard:prices: finance/prices.yaml", stack="three")
    (project.root / "shared").mkdir()
    (project.root / "shared/four.yaml").write_bytes(project.stack_file().read_bytes())
    project.stack_file("four").symlink_to("../shared/four.yaml")
    project.stack_file("five").symlink_to(project.root / "shared/four.yaml")
    project.stack_file("six").symlink_to("/nowhere/six.yaml")
    project.stack_file("seven").mkdir()
    (project.root / "stacks/Pulumi.Eight.yaml").write_text("config: {}\n")
    (project.root / "stacks/recorded/prod/cluster.json").write_text("{")
    return project


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--all"),
        ("plan", "--all", "--json"),
        ("plan", "--all", "--cost", "--notes", "--colour", "always"),
        ("plan", "--all", "--target", "rayWorker"),
        ("plan", "--all", "--target", "nope"),
        ("plan", "--all", "--matrix"),
        ("plan", "dev"),
        ("check", "--all"),
        ("check", "--all", "--json"),
        ("check", "--all", "--format", "sarif", "--notes"),
    ],
)
def test_another_executor_gives_the_same_output(fleet: Project, run: Run, other: Run, words: tuple[str, ...]) -> None:
    here, there = run(*words), other(*words)
    assert (there.code, there.out, there.err) == (here.code, here.out, here.err)
    assert here.out or here.err


def test_previews_and_base_policies_of_another_executor(fleet: Project, run: Run, other: Run) -> None:
    def git(*words: str) -> None:
        setting = ("-c", "user.name=dev", "-c", "user.email=dev@example.com")
        subprocess.run(["git", "-C", str(fleet.root), *setting, *words], check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch", "main")
    git("add", "--all")
    git("commit", "--quiet", "--message", "one")
    fleet.edit(("memory: 32Gi", "memory: 64Gi"))
    fleet.stack_file("two").unlink()
    for words in (
        ("preview", "--base", "main", "--json"),
        ("preview", "--base", "main", "--head", "HEAD"),
        ("check", "--all", "--base", "main"),
    ):
        here, there = run(*words), other(*words)
        assert (there.code, there.out, there.err) == (here.code, here.out, here.err)
    assert '"stack": "dev"' in run("preview", "--base", "main", "--json").out


def test_options_that_an_executor_cannot_use_are_refused(
    project: Project, run: Run, other: Run, monkeypatch: pytest.MonkeyPatch, golden: Callable[..., None]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    results = (
        other("plan", "dev", "--out", "plan.json"),
        other("check", "dev", "--prometheus", "http://x"),
        run("plan", "dev", "--on", "mars"),
        run("plan", "dev", "--ray-address", "127.0.0.1:1"),
        # Ray is not installed.
        run("plan", "--all", "--on", "ray"),
    )
    assert {result.code for result in results} == {2}
    golden(*results)


def test_workers_report_another_or_missing_modelyard(monkeypatch: pytest.MonkeyPatch) -> None:
    part = on_ray._task()
    rest = {"number": 1, "work": b"", "items": b"", "files": b""}
    assert part("9.9.9", "digest", [], **rest) == ("version", __version__)
    monkeypatch.setitem(sys.modules, "modelyard", None)
    answer, words = part(__version__, "digest", [], **rest)
    assert (answer, "modelyard" in str(words)) == ("missing", True)


@pytest.mark.parametrize(
    ("stacks", "cpus", "sizes"),
    [(3, 0, [1, 1, 1]), (60, 2, [7] * 8 + [4]), (1000, 2, [25] * 40), (1000, 64, [3] * 333 + [1])],
)
def test_tasks_have_several_stacks_and_each_cpu_has_several_tasks(stacks: int, cpus: int, sizes: list[int]) -> None:
    parts = list(on_ray._parts(range(stacks), cpus))
    assert [len(part) for part in parts] == sizes
    assert [item for part in parts for item in part] == list(range(stacks))


def test_a_file_that_cannot_be_read_is_named(project: Project, other: Run) -> None:
    os.mkfifo(project.root / "patches/pipe")
    found = other("check", "--all")
    assert found.code == 2
    assert found.words.startswith("error: patches/pipe ")


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() or path.is_symlink()}


def test_only_files_of_plans_are_sent(fleet: Project, tmp_path: Path) -> None:
    for name in (".git/config", ".venv/pyvenv.cfg", ".pulumi/credentials.json", "kubeconfig", "policies/__pycache__/a"):
        (fleet.root / name).parent.mkdir(exist_ok=True)
        (fleet.root / name).write_text("secret")
    snapshot, copy = pack((fleet.root,)), tmp_path / "copy"
    copy.mkdir()
    unpack(snapshot.content, copy)
    shared = files_in(copy / "0")
    assert {"Pulumi.yaml", "hardware.yaml", "patches/patches.lock", "policies/rules/_shared.py"} <= shared
    assert not [path for path in shared if path.startswith(("stacks", "shared"))]
    made = unpack(snapshot.files_of([fleet.stack_file("two"), fleet.stack_file("five")]), copy)
    found = files_in(copy / "0")
    assert not [
        path for path in found if (copy / "0" / path).is_file() and (copy / "0" / path).read_bytes() == b"secret"
    ]
    recorded = {f"stacks/recorded/dev/{path.name}" for path in (fleet.root / "stacks/recorded/dev").iterdir()}
    stacks = {"stacks/Pulumi.two.yaml", "stacks/recorded/two", "stacks/Pulumi.five.yaml", "shared/four.yaml"}
    assert found - shared == stacks | recorded
    assert (copy / "0/stacks/Pulumi.five.yaml").read_bytes() == (fleet.root / "shared/four.yaml").read_bytes()
    assert (copy / "0/stacks/recorded/two").readlink() == Path("dev")
    remove(made)
    assert files_in(copy / "0") == shared
    assert not (copy / "0/stacks").exists()


def test_files_that_a_stack_names_are_sent_with_it(project: Project) -> None:
    (project.root / "prices.yaml").write_text("machines: []\n")
    project.add("modelyard:prices: prices.yaml", stack="prod")
    snapshot = pack((project.root,))
    assert b"prices.yaml" in snapshot.files_of([project.stack_file("prod")])
    assert b"prices.yaml" not in snapshot.files_of([project.stack_file("dev")])


@pytest.mark.parametrize("linked", ["stacks", "stacks/recorded"])
def test_folders_of_stacks_may_be_links(project: Project, run: Run, other: Run, linked: str) -> None:
    (project.root / linked).rename(project.root / "conf")
    (project.root / linked).symlink_to(project.root / "conf")
    here, there = run("plan", "--all", "--no-cache"), other("plan", "--all", "--no-cache")
    assert (there.code, there.out, there.err) == (here.code, here.out, here.err)
    files = pack((project.root,)).files_of([project.stack_file("dev")])
    assert b"conf/recorded/dev" in files or b"conf/dev" in files
    assert b"Pulumi.prod.yaml" not in files


def test_a_process_sees_the_remote_clusters_of_later_stacks(tmp_path: Path) -> None:
    root = tmp_path / "project"
    for name in ("one", "one@far", "two", "two@far"):
        (root / "stacks/recorded" / name).mkdir(parents=True)
        (root / "stacks/recorded" / name / "cluster.json").write_text("{}")
    stacks = [root / "stacks/Pulumi.one.yaml", root / "stacks/Pulumi.two.yaml"]
    for stack in stacks:
        stack.write_text("config: {}\n")
    found = [pair for stack in stacks for pair in remotely([stack], partial(remotes_seen, root), (root,))]
    assert found == [({"far"}, set()), (set(), {"far"})]


def remotes_seen(root: Path, _stack: Path) -> tuple[set[str], set[str]]:
    return recorded_remote_names(root, "one"), recorded_remote_names(root, "two")


def test_the_digest_depends_on_the_content_of_shared_files(project: Project) -> None:
    first = pack((project.root,)).digest
    os.utime(project.root / "Pulumi.yaml", (1, 1))
    project.edit(("memory: 32Gi", "memory: 48Gi"))
    assert pack((project.root,)).digest == first
    (project.root / "hardware.yaml").write_text(GPU)
    assert pack((project.root,)).digest != first


def test_only_paths_below_the_folders_are_changed(tmp_path: Path) -> None:
    here, there = (tmp_path / "a", tmp_path / "b"), (Path("/x/0"), Path("/x/1"))
    values = (here[0], here[1] / "stacks/Pulumi.dev.yaml", tmp_path / "ab", Path("relative"), None, "a")
    assert load(dump(values, here), there) == (
        there[0],
        there[1] / "stacks/Pulumi.dev.yaml",
        tmp_path / "ab",
        Path("relative"),
        None,
        "a",
    )


def test_an_address_where_nothing_listens_is_refused_at_once() -> None:
    """Ray would try for a quarter of an hour."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Stop) as stopped:
            on_ray.check_address(address)
    assert (stopped.value.code, address in stopped.value.summary) == (Exit.UNREACHABLE, True)
    for other in ("", "auto", "ray://head:10001", "head"):
        on_ray.check_address(other)
