"""The builder of the lab's tools, with a fake Go compiler that writes its arguments into the binary."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab import build as builder
from lab import golang
from lab.errors import LabError
from lab.tools import TOOLS, VALE, Copy, Tool

ROOT = Path(__file__).resolve().parents[3]
FAKE_GO = """#!/bin/sh
case "$1 $2" in
"env GOVERSION") cat "$FAKE/version" ;;
"mod download") ;;
"list -mod=readonly") printf '{"Dir": "%s"}' "$FAKE/module" ;;
build*)
    echo "$@" >> "$FAKE/calls"
    test -e "$FAKE/broken" && { echo "main.go:1: no" >&2; exit 1; }
    while [ "$1" != -o ]; do shift; done
    mkdir -p "$(dirname "$2")" && echo "$CGO_ENABLED" > "$2" && chmod +x "$2" ;;
esac
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sets up a fake Go, an empty cache, and a lab with two tools."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "go").write_text(FAKE_GO)
    (tmp_path / "bin" / "go").chmod(0o755)
    (tmp_path / "version").write_text("go1.26.8\n")
    (tmp_path / "module" / "scripts").mkdir(parents=True)
    (tmp_path / "module" / "scripts" / "helper").write_text("#!/bin/sh\n")
    (tmp_path / "module" / "schema.json").write_text('{"name": "kubernetes"}')
    sources = tmp_path / "sources"
    for name in ("one", "two"):
        (sources / name).mkdir(parents=True)
        (sources / name / "go.mod").write_text(f"module {name}\n")
    tools = (
        Tool("one", "1.0", 60, ".", aliases=("uno",), copies=(Copy("m", ("scripts/*",), "bin"),)),
        Tool("two", "2.0", 60, ".", to="plugins", stamps=(("main.version", "2.0"),)),
    )
    monkeypatch.setattr(builder, "TOOLS", tools)
    monkeypatch.setattr(builder, "HERE", sources)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FAKE", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def calls(fake: Path) -> list[str]:
    return (fake / "calls").read_text().splitlines() if (fake / "calls").exists() else []


def test_all_tools_are_built_into_one_folder(fake: Path) -> None:
    told: list[str] = []
    tools = builder.build(told.append)
    assert sorted(path.name for path in tools.bin.iterdir()) == ["helper", "one", "uno"]
    assert os.access(tools.bin / "helper", os.X_OK)
    assert (tools.folder / "plugins" / "two").exists()
    assert (tools.bin / "uno").resolve() == tools.bin / "one"
    assert (tools.bin / "one").read_text() == "0\n", "cgo must be off: binaries must not depend on the machine"
    assert "-X main.version=2.0" in calls(fake)[1]
    assert told[0].startswith("building 2 of 2 tools with go1.26.8")
    assert told[0].endswith("about 2 minutes on two cores")
    assert "one 1.0: about 60 s" in told[1]


def test_a_second_build_does_and_prints_nothing(fake: Path) -> None:
    first = builder.build(lambda _: None)
    told: list[str] = []
    assert builder.build(told.append) == first
    assert told == []
    assert len(calls(fake)) == 2


def test_only_changed_tools_are_built_again(fake: Path) -> None:
    before = builder.build(lambda _: None)
    (fake / "sources" / "two" / "go.mod").write_text("module two // changed\n")
    after = builder.build(lambda _: None)
    assert after != before
    assert before.folder.exists()
    assert len(calls(fake)) == 3


def test_another_go_version_builds_all_tools_again(fake: Path) -> None:
    builder.build(lambda _: None)
    (fake / "version").write_text("go1.26.9\n")
    builder.build(lambda _: None)
    assert len(calls(fake)) == 4


def test_a_failed_build_has_a_reason_and_leaves_no_files(fake: Path) -> None:
    (fake / "broken").touch()
    with pytest.raises(LabError, match=r"building one failed \(go build\):\nmain.go:1: no"):
        builder.build(lambda _: None)
    assert [path.name for path in builder.cache_folder().iterdir()] == ["lock"]
    (fake / "broken").unlink()
    assert builder.build(lambda _: None).bin.exists()


def test_a_missing_file_of_a_module_is_an_error(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "TOOLS", (Tool("one", "1", 1, copies=(Copy("m", ("crd/*.yaml",), "crds/one"),)),))
    with pytest.raises(LabError, match=r"one: m has no crd/\*\.yaml"):
        builder.build(lambda _: None)


def test_a_schema_gets_its_version_without_changing_the_checkout(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Tool("one", "4.25.0", 1, ".", copies=(Copy("m", ("schema.json",), "source"),))
    monkeypatch.setattr(builder, "TOOLS", (tool,))
    (fake / "bin" / "go").write_text(FAKE_GO.replace('echo "$CGO_ENABLED" > "$2"', 'cp schema.json "$2"'))
    tools = builder.build(lambda _: None)
    assert (tools.bin / "one").read_text() == '{"name": "kubernetes", "version": "4.25.0"}'
    assert [path.name for path in (fake / "sources" / "one").iterdir()] == ["go.mod"]


def test_concurrent_builds_build_each_tool_once(fake: Path) -> None:
    # In separate processes, like builds in two clones.
    program = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from lab import build
from lab.tools import Tool
build.HERE = Path({str(fake / "sources")!r})
build.TOOLS = (Tool("one", "1.0", 60, "."), Tool("two", "2.0", 60, "."))
print(build.build().folder)
"""
    both = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    folders = {each.communicate(timeout=60)[0] for each in both}
    assert len(folders) == 1
    assert len(calls(fake)) == 2


def test_a_single_tool_does_not_wait_for_the_lab(fake: Path) -> None:
    def say(line: str) -> None:
        assert not line.startswith("waiting")

    builder.cache_folder().mkdir(parents=True)
    with (builder.cache_folder() / "lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert builder.build_alone(Tool("one", "1.0", 60, "."), say).is_file()


def test_a_cache_that_cannot_be_made_is_an_error(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(fake / "file"))
    with pytest.raises(LabError, match="cannot make the cache folder"):
        builder.build(lambda _: None)


def test_a_relative_cache_home_counts_as_unset(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", str(fake))
    assert builder.cache_folder() == fake / ".cache" / "modelyard" / "lab"


@pytest.mark.parametrize(("version", "wanted"), [("go1.26.8", True), ("go1.27rc1", True), ("go1.9.7", False)])
def test_go_is_accepted_by_its_version(fake: Path, version: str, wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake / "version").write_text(version)
    fetched: list[str] = []
    monkeypatch.setattr(golang, "_fetch", lambda root: (_ for _ in ()).throw(LabError("fetched")))
    if wanted:
        assert golang.find_go(fake / "cache", fetched.append).version == version
    else:
        with pytest.raises(LabError, match="fetched"):
            golang.find_go(fake / "cache", fetched.append)
        assert "is go1.9.7, older than go1.26" in fetched[0]


def test_each_tool_has_a_pinned_module() -> None:
    for tool in TOOLS:
        module = (ROOT / "lab" / tool.name / "go.mod").read_text()
        assert (
            tool.package is None
            or tool.package == "."
            or any(
                line.split()[0] in tool.package for line in module.replace("require ", "").splitlines() if "/" in line
            )
        )
        assert all(copy.module in module for copy in tool.copies)
    folders = {path.parent.name for path in (ROOT / "lab").glob("*/go.mod")}
    assert folders == {tool.name for tool in (*TOOLS, VALE)}
