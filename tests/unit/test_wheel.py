"""The content of the wheel, and the packages that its users install."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

import modelyard

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def names(built: Path) -> list[str]:
    return ZipFile(built).namelist()


@pytest.fixture(scope="module")
def environment(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the programs of a virtual environment with the wheel and the dependencies of the current one."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps")
    subprocess.run([*pip, str(built)], check=True, env=clean())
    (place,) = folder.glob("lib/*/site-packages")
    # The editable installation of this repository is not used there.
    (place / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


def clean() -> dict[str, str]:
    """Returns the variables of this process, without those that refer to this repository or to a cluster."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "KUBECONFIG")}


def test_the_wheel_has_the_built_in_patches_and_no_project(names: list[str]) -> None:
    versions = {path.relative_to(ROOT).as_posix() for path in (ROOT / "patches").rglob("*") if path.is_file()}
    assert {name.removeprefix("modelyard/") for name in names if name.startswith("modelyard/patches/")} == versions
    assert {name.partition("/")[0] for name in names} == {"modelyard", f"modelyard-{modelyard.__version__}.dist-info"}
    assert [name for name in names if "Pulumi." in name] == ["modelyard/cli/templates/Pulumi.yaml"]


def test_the_wheel_makes_a_plan_in_an_empty_folder(environment: Path, tmp_path: Path) -> None:
    """A new project needs only the wheel."""

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(words, cwd=tmp_path, env=clean(), capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    program = str(environment / "modelyard")
    where = run(str(environment / "python"), "-c", "import modelyard, modelyard.components; print(modelyard.__file__)")
    assert Path(where.strip()).is_relative_to(environment.parent)
    run(program, "init", "--name", "modelyard")
    assert (tmp_path / "stacks" / "Pulumi.dev.yaml").is_file()
    assert "1 stack checked" in run(program, "check", "dev")
    assert "modelyard/patches/ray-worker/v1/patch.yaml.j2" in run(program, "patches", "ray-worker")
    shutil.copytree(ROOT / "stacks" / "recorded" / "dev", tmp_path / "stacks" / "recorded" / "dev")
    shutil.copy(ROOT / "stacks" / "Pulumi.dev.yaml", tmp_path / "stacks")
    plan = json.loads(run(program, "plan", "dev", "--json"))
    assert [target["patches"] for target in plan["targets"] if target["name"] == "deployment-ray-head"] == [
        ["ray-head@v1"]
    ]
    run(str(environment / "python"), "-m", "compileall", "-q", "__main__.py", "policies")
    head = run(str(environment / "python"), "-c", PORT, str(environment / "python"), "policies")
    assert int(head) > 0


PORT = """
import subprocess, sys
with subprocess.Popen([*sys.argv[1:], "127.0.0.1:1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as pack:
    print(pack.stdout.readline().decode())
    pack.kill()
"""
"""Starts a policy pack, as the engine does, and prints the port on which it serves."""


def test_the_wheel_has_no_scripts_that_generate_tables(names: list[str]) -> None:
    """Folders with data have no code."""
    assert [name for name in names if re.search(r"/data/.*\.py$|(^|/)generate[^/]*\.py$", name)] == []
    assert {Path(name).suffix for name in names if "/data/" in name} == {".csv", ".md", ".tsv"}


def test_the_wheel_has_the_licenses_of_its_tables(names: list[str]) -> None:
    licences = {name.partition("/licenses/")[2] for name in names if "/licenses/" in name}
    assert licences == {"LICENSE", "NOTICE", "modelyard/report/html/vendor/diff/LICENSE"}
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for name in names:
        if "/merge/data/" in name:
            assert name in notice


def ports(notice: str) -> list[str]:
    """Returns the paths of modules that the notice lists as ports of other code."""
    part = notice.partition("These modules are Python ports")[2].partition("It contains")[0]
    found: list[str] = []
    for line in re.findall(r"^modelyard/\S.*\.py$", part, re.MULTILINE):
        first, *more = line.split(", ")
        found += [first, *(f"{Path(first).parent}/{name}" for name in more)]
    return found


def docstrings(text: str) -> str:
    """Returns all docstrings of a module."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    found = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return "\n".join(found)


def test_each_module_based_on_kubernetes_code_is_in_the_notice(names: list[str]) -> None:
    """Such a module names the original code in a docstring: a Go module, a Go package, or a port."""
    follows = re.compile(
        r"(?<![.\w])k8s\.io/\w|apimachinery|apiserver's|client-go|structured-merge-diff|strategicpatch"
        r"|\b[Aa] port of [`A-Z]|\b[Uu]pstream\b"
    )
    modules = [name for name in names if re.match(r"modelyard/.*\.py$", name)]
    found = [name for name in modules if follows.search(docstrings((ROOT / name).read_text(encoding="utf-8")))]
    assert sorted(found) == sorted(ports((ROOT / "NOTICE").read_text(encoding="utf-8")))


def test_each_table_is_in_the_notice(names: list[str]) -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for name in (name for name in names if name.startswith("modelyard/")):
        path = Path(name)
        if path.suffix in (".csv", ".tsv") or ("/vendor/" in name and path.suffix == ".js"):
            assert name in notice or f"{path.parent}/*{path.suffix}" in notice, name


def test_the_notice_names_the_versions_of_the_table_sources() -> None:
    folder = ROOT / "modelyard" / "kube" / "merge" / "data"
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    scripts = [*folder.glob("generate*.py")]
    assert scripts
    for script in scripts:
        # The version of a kind, such as v1beta2, has no dots.
        versions = re.findall(r'"(v\d+\.\d+\.\d+)"', script.read_text(encoding="utf-8"))
        assert [version for version in versions if version not in notice] == []


def packages(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\S)", text.strip())
    assert all("--hash=sha256:" in entry for entry in entries), name
    assert "://" not in text
    return {entry.split("==")[0]: re.split(r"[\s;\\]", entry.split("==")[1])[0] for entry in entries}


def test_runtime_packages_are_a_subset_of_development_packages() -> None:
    runtime, aws, dev = packages("runtime"), packages("aws"), packages("dev")
    assert runtime.items() < aws.items() < dev.items()
    assert set(aws) - set(runtime) == {"pulumi-aws"}
    assert {"pytest", "mypy", "ruff", "playwright", "mkdocs-material"} & set(runtime) == set()


def test_imported_packages_are_declared() -> None:
    """No import relies on an indirect dependency, and each declared package is imported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[<>=]", name)[0] for name in project["dependencies"]}
    extras = [name for names in project["optional-dependencies"].values() for name in names]
    optional = {re.split(r"[<>=]", name)[0] for name in extras}
    imported = {
        name
        for folder in ("modelyard", "components", "policies", "stacks")
        for path in (ROOT / folder).rglob("*.py")
        for name in third_party(path)
    }
    # Only conda lists need their solver, and a message asks for it. IPython loads its extension itself.
    assert imported - {"py-rattler", "IPython"} == declared | optional


def third_party(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    own = {"modelyard", "components", "policies", "stacks", *sys.stdlib_module_names}
    return {_DISTRIBUTIONS.get(name, name.replace("_", "-")) for name in found - own}


_DISTRIBUTIONS = {"yaml": "pyyaml", "rattler": "py-rattler"}
